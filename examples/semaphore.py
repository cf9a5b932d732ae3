# SPDX-License-Identifier: MIT
"""Two at a time; the third waits until one leaves.

python3 semaphore.py          in three terminals; Enter leaves
"""

import interlock

with interlock.connect() as client, client.semaphore("printers", 2) as permit:
    print("fence", permit.fence, flush=True)
    input()
