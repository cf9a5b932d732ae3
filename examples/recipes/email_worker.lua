-- SPDX-License-Identifier: MIT
-- Send the e-mails that others queued, until Ctrl-C.
--
--   lua email_worker.lua                    in some terminals
--   lua email_producer.lua 17 4 97 23       in another
--
-- When a worker is killed, another one sends its e-mail. One that
-- cannot be sent (try seller 0) goes to `ilk:recipes:dead:{queue:email}`.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

-- Where a real program talks to a mail server.
local function fetch_data_and_send_sold_email(to_send)
  if to_send.seller_id == 0 then
    return false, "there is no seller 0"
  end
  return true
end

-- A JSON library does this for values that are not all numbers.
local function decode(packed)
  local fields = {}
  for name, number in packed:gmatch('"([%w_]+)": *([%d.]+)') do
    fields[name] = tonumber(number)
  end
  return fields
end

local function process_sold_email_queue(consumer)
  while true do
    local queue, packed = consumer:pop()
    assert(queue, packed)
    local to_send = decode(packed)
    local sent, why = fetch_data_and_send_sold_email(to_send)
    if sent then
      print(("sent item %d"):format(to_send.item_id))
      consumer:done()
    else
      print(("failed item %d: %s"):format(to_send.item_id, why))
      consumer:bury()
    end
  end
end

io.stdout:setvbuf("line")
local client = assert(interlock.connect())
local consumer = assert(recipes.consumer(client, { "queue:email" }))
local _, why = pcall(process_sold_email_queue, consumer)
assert(consumer:leave())
client:close()
if not tostring(why):find("interrupted!", 1, true) then
  error(why, 0)
end
