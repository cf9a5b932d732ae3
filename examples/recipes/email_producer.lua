-- SPDX-License-Identifier: MIT
-- Have an e-mail sent by one of the workers.
--
--   lua email_worker.lua                    in a terminal
--   lua email_producer.lua 17 4 97 23       in another: seller item price buyer
--
-- It is put on a list as JSON, for a worker of any kind.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local function send_sold_email_via_queue(client, seller, item, price, buyer)
  -- A JSON library does this for values that are not all numbers.
  local data = ('{"seller_id": %d, "item_id": %d, "price": %d, '
    .. '"buyer_id": %d, "time": %d}'):format(
    seller, item, price, buyer, os.time())
  assert(recipes.fifo_queue_push(client, "queue:email", data))
end

local client = assert(interlock.connect())
send_sold_email_via_queue(client, arg[1], arg[2], arg[3], arg[4])
client:close()
