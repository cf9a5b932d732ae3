# SPDX-License-Identifier: MIT
"""Send the e-mails that others queued, until Ctrl-C.

    python3 email_worker.py                    in some terminals
    python3 email_producer.py 17 4 97 23       in another

When a worker is killed, another one sends its e-mail. One that
cannot be sent (try seller 0) goes to `ilk:recipes:dead:{queue:email}`.
"""

import contextlib
import json

import interlock
from interlock.recipes import Consumer


class EmailSendError(Exception):
    pass


def fetch_data_and_send_sold_email(to_send):
    """Where a real program talks to a mail server."""
    if to_send["seller_id"] == 0:
        raise EmailSendError("there is no seller 0")


def process_sold_email_queue(conn):
    with Consumer(conn, ["queue:email"]) as consumer:
        while True:
            _, packed = consumer.pop()
            to_send = json.loads(packed)
            item = to_send["item_id"]
            try:
                fetch_data_and_send_sold_email(to_send)
            except EmailSendError as error:
                print(f"failed item {item}: {error}", flush=True)
                consumer.bury()
            else:
                print(f"sent item {item}", flush=True)
                consumer.done()


with interlock.connect() as client, contextlib.suppress(KeyboardInterrupt):
    process_sold_email_queue(client)
