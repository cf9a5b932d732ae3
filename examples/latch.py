# SPDX-License-Identifier: MIT
"""Wait until two parts are done, whoever does them.

python3 latch.py wait         in some terminals
python3 latch.py done         in another, twice: how many are left
"""

import sys

import interlock

with interlock.connect() as client:
    parts = client.latch("parts", 2)
    if sys.argv[1] == "done":
        print(parts.count_down())
    elif parts.wait():
        print("all done")
