# SPDX-License-Identifier: MIT
"""Drop-in replacements for the locks of other libraries."""
