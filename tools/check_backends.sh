#!/bin/sh
# SPDX-License-Identifier: MIT
# check_backends.sh FILE...: each shared object of a backend exports its entry and
# nothing else, and has copies of what it uses and not of the whole core, nor of another
# store.
set -u

faults=0

fault()
{
    printf 'check_backends: %s: %s\n' "$1" "$2" >&2
    faults=$((faults + 1))
}

for file; do
    exported=$(nm -D --defined-only "$file" | awk '{ print $3 }' | tr '\n' ' ')
    [ "$exported" = "interlock_backend " ] ||
        fault "$file" "it exports: $exported"
    case $(readelf -dW "$file") in
    *NODELETE*) ;;
    *) fault "$file" "it can be unloaded while its thread runs" ;;
    esac
    stores=$(nm --defined-only "$file" | grep -c ' ilk__[a-z]*_backend$')
    [ "$stores" -le 1 ] || fault "$file" "it contains $stores stores"
    # A client or a gateway of its own would be a second core.
    for name in ilk_client_open ilk_lock_open ilk__gateway_open \
        ilk__backend_load; do
        if nm --defined-only "$file" | grep -q " $name\$"; then
            fault "$file" "it contains $name"
        fi
    done
done
[ "$faults" -eq 0 ]
