# SPDX-License-Identifier: MIT
"""Stand-ins for other libraries' locks."""
