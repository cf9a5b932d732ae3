# SPDX-License-Identifier: MIT
"""Print the two caches that have each key.

python3 ring.py user:7 user:8         the same in every language, at any time
"""

import sys

import interlock

ring = interlock.Ring(["cache1", "cache2", "cache3"])
for key in sys.argv[1:]:
    print(key, *ring.get_n(key, 2))
