# SPDX-License-Identifier: MIT
"""One lock from Python."""

import interlock

with interlock.connect() as client:
    lock = client.lock("orders", ttl=10, wait=5)
    with lock:
        print("fence", lock.fence)
