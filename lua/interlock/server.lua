-- SPDX-License-Identifier: MIT
-- The embedded server: its status, and how to stop it.

local core = require "interlock.core"
local args = require "interlock.args"
local record = require "interlock.record"

---@class interlock.ServerInfo
---@field running boolean
---@field pid integer 0 when it does not run
---@field dir string
---@field socket string
---@field program string the program that is or would be started

local server = {}

--- Return the status of the embedded server of a directory.
---@param url string? embedded:// or embedded:///dir; nil for embedded://
---@return interlock.ServerInfo? info
---@return string? msg
---@return integer? code
function server.status(url)
  args.text("url", url)
  local found, msg, code = core.ilk_server_status(url)
  if not found then
    return nil, msg, code
  end
  local info = record.totable(found)
  info.running = info.running == 1
  return info
end

--- Save and stop the embedded server of a directory.
---@param url string? as for status
---@param timeout_ms number? to wait for its end; default 5000
---@return true? ok
---@return string? msg
---@return integer? code
function server.stop(url, timeout_ms)
  args.text("url", url)
  local ms = args.timeout("timeout_ms", timeout_ms or 5000)
  return core.ilk_server_stop(url, ms)
end

return server
