-- SPDX-License-Identifier: MIT
-- A queue of tasks, and workers: the task of one that died goes to another.
--
--   lua worker.lua              in some terminals; Ctrl-C ends it
--   lua worker.lua Anna Ben     in another: two tasks
--
-- A task is JSON, `["greet", ["Anna"]]`, which a JSON library writes and reads
-- in a real program. One that cannot be read lies among the dead, to be looked
-- at; one whose work fails comes again later.

local interlock = require "interlock"

local client = assert(interlock.connect())
io.stdout:setvbuf("line")

local function work(worker)
  while true do
    local task = assert(worker:next())
    local who = task.data:match('^%["greet", %["(.*)"%]%]$')
    if who then
      print("hello " .. who)
      worker:succeed()
    else
      worker:bury("no greeting")
    end
  end
end

if arg[1] then
  local queue = assert(client:queue("greetings"))
  for i = 1, #arg do
    assert(queue:push(('["greet", ["%s"]]'):format(arg[i])))
  end
else
  local worker = assert(client:worker({ "greetings" }))
  local _, why = pcall(work, worker)
  assert(worker:finish())
  if not tostring(why):find("interrupted!", 1, true) then
    error(why, 0)
  end
end
client:close()
