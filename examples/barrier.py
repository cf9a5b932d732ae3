# SPDX-License-Identifier: MIT
"""Nobody goes on before all three are here.

python3 barrier.py            in three terminals
"""

import interlock

with interlock.connect() as client:
    phase = client.barrier("phase", 3)
    print("arrived as number", phase.wait())
