# SPDX-License-Identifier: MIT
"""Have an e-mail sent by one of the workers.

    python3 email_worker.py                    in a terminal
    python3 email_producer.py 17 4 97 23       in another: seller item price buyer

It is put on a list as JSON, for a worker of any kind.
"""

import json
import sys
import time

import interlock
from interlock.recipes import fifo_queue_push


def send_sold_email_via_queue(conn, seller, item, price, buyer):
    data = {
        "seller_id": seller,
        "item_id": item,
        "price": price,
        "buyer_id": buyer,
        "time": time.time(),
    }
    fifo_queue_push(conn, "queue:email", json.dumps(data))


with interlock.connect() as client:
    send_sold_email_via_queue(client, *(int(word) for word in sys.argv[1:5]))
