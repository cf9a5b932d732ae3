#!/bin/sh
# SPDX-License-Identifier: MIT
# One lock from a shell: the command runs while the lock is held.

# The quotes are for the inner shell, which is told the fence.
# shellcheck disable=SC2016
interlock lock orders --ttl 10s --wait 5s -- \
    sh -c 'echo "fence $INTERLOCK_FENCE"'
