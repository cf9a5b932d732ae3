# SPDX-License-Identifier: MIT
"""What holds for all tests: Ctrl-C works, however they were started."""

import signal

# A shell starts what runs in its background with SIGINT ignored, and programs
# that are started hand that on to those that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
