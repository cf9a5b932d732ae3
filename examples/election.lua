-- SPDX-License-Identifier: MIT
-- One leads and publishes its address; observers get each change.
--
--   lua election.lua              in a terminal: who leads, and each change
--   lua election.lua here:80      in another: leads until Enter
--   lua election.lua there:80     in a third: leads when the first resigns

local interlock = require "interlock"

io.stdout:setvbuf("line")
local client = assert(interlock.connect())

if not arg[1] then
  for value in client:election("cron"):observe() do
    print(value .. " leads")
  end
else
  local candidate = client:election("cron", { value = arg[1] })
  assert(candidate:campaign())
  print(("term %d"):format(candidate.term))
  io.read()
  assert(candidate:resign())
end
client:close()
