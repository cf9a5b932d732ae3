# SPDX-License-Identifier: MIT
"""Settings of all tests: signals work, however the tests were started."""

import signal

# A shell starts what runs in its background with some signals ignored, nohup
# does so too, and programs hand that on to those that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
