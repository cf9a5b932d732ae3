-- SPDX-License-Identifier: MIT
-- Checks of arguments: a wrong one raises an error in the caller's own line.
--
-- Each function is called by a public function or method, so level 3 of
-- error() is the line of the program that passed the value.

local args = {}

-- From here on Lua 5.1 and LuaJIT cannot represent every whole number.
local MAX = 2 ^ 53

local function refuse(what, wanted, value)
  local shown = type(value)
  if shown == "string" then
    shown = ("%q"):format(value)
  elseif shown == "number" then
    shown = tostring(value)
  end
  error(("%s must be %s, got %s"):format(what, wanted, shown), 4)
end

-- Whole milliseconds, or nil for a value that is no usable number. A fraction is
-- rounded up, so that half a millisecond does not become 0.
local function whole(value)
  local usable = type(value) == "number" and value > -MAX and value < MAX
  return usable and math.ceil(value) or nil
end

--- A string, any bytes.
---@param what string how the argument is called
---@param value any
---@return string
function args.bytes(what, value)
  if type(value) ~= "string" then
    refuse(what, "a string", value)
  end
  return value
end

--- A string or nil.
---@param what string
---@param value any
---@return string?
function args.optional_bytes(what, value)
  if value ~= nil and type(value) ~= "string" then
    refuse(what, "a string or nil", value)
  end
  return value
end

--- Text for C, or nil. An empty string is most likely an unset variable: an error.
---@param what string
---@param value any
---@return string?
function args.text(what, value)
  local usable = type(value) == "string" and value ~= ""
    and not value:find("\0", 1, true)
  if value ~= nil and not usable then
    refuse(what, "text without NUL, or nil", value)
  end
  return value
end

--- One of several names; returns the value that belongs to it.
---@param what string
---@param value any
---@param choices table<string, any>
---@return any
function args.one_of(what, value, choices)
  local found = choices[value]
  if found == nil then
    local names = {}
    for name in pairs(choices) do
      names[#names + 1] = name
    end
    table.sort(names)
    refuse(what, "one of " .. table.concat(names, ", "), value)
  end
  return found
end

--- A function or a table that can be called.
---@param what string
---@param value any
function args.callable(what, value)
  local meta = getmetatable(value)
  local callable = type(meta) == "table" and meta.__call ~= nil
  if type(value) ~= "function" and not callable then
    refuse(what, "a function", value)
  end
end

--- A timeout: milliseconds, 0 to try once, nil or math.huge for ever.
---@param what string
---@param value any
---@return integer # -1 for ever
function args.timeout(what, value)
  if value == nil or value == math.huge then
    return -1
  end
  local ms = whole(value)
  if not ms or ms < 0 then
    refuse(what, "milliseconds, 0 or more, or nil", value)
  end
  return ms
end

--- A duration: more than 0 milliseconds, or nil.
---@param what string
---@param value any
---@return integer # 0 for nil: the default
function args.duration(what, value)
  if value == nil then
    return 0
  end
  local ms = whole(value)
  if not ms or ms <= 0 or ms ~= value then
    refuse(what, "whole milliseconds, more than 0", value)
  end
  return ms
end

--- A fence: a whole number from lock.fence, 0 for none.
---@param what string
---@param value any
---@return integer
function args.fence(what, value)
  if whole(value) ~= value or value == nil or value < 0 then
    refuse(what, "a whole number, 0 or more", value)
  end
  return value
end

--- The load of a node: a whole number, 0 or more.
args.load = args.fence

--- Any number.
---@param what string
---@param value any
---@return number
function args.number(what, value)
  if type(value) ~= "number" then
    refuse(what, "a number", value)
  end
  return value
end

--- A table.
---@param what string
---@param value any
---@return table
function args.table(what, value)
  if type(value) ~= "table" then
    refuse(what, "a table", value)
  end
  return value
end

--- A number of things: whole, at least 1.
---@param what string
---@param value any
---@param most integer? the upper limit, where C does not check it
---@return integer
function args.count(what, value, most)
  local usable = value ~= nil and whole(value) == value and value >= 1
  if not usable or value > (most or MAX) then
    local reach = most and (", 1 to %d"):format(most) or ", 1 or more"
    refuse(what, "a whole number" .. reach, value)
  end
  return value
end

--- A list of strings.
---@param what string
---@param value any
---@return string[]
function args.names(what, value)
  if type(value) ~= "table" then
    refuse(what, "a table of strings", value)
  end
  for i = 1, #value do
    if type(value[i]) ~= "string" then
      refuse(("%s[%d]"):format(what, i), "a string", value[i])
    end
  end
  return value
end

--- Copy a list, because the caller may change it later.
---@param list string[]
---@return string[]
function args.copy(list)
  local copy = {}
  for i = 1, #list do
    copy[i] = list[i]
  end
  return copy
end

return args
