#!/bin/sh
# SPDX-License-Identifier: MIT
# check_hardening.sh FILE...: each program or library was linked as
# cmake/Hardening.cmake asks for, and its code was compiled with checks.
set -u

faults=0

fault()
{
    printf 'check_hardening: %s: %s\n' "$1" "$2" >&2
    faults=$((faults + 1))
}

for file; do
    dynamic=$(readelf -dW "$file") || exit 1
    segments=$(readelf -lW "$file")
    symbols=$(readelf -sW "$file")
    case $dynamic in *BIND_NOW*) ;; *) fault "$file" "no BIND_NOW" ;; esac
    case $segments in *GNU_RELRO*) ;; *) fault "$file" "no RELRO" ;; esac
    printf '%s\n' "$segments" | grep GNU_STACK | grep -q ' RW ' ||
        fault "$file" "the stack is executable"
    case $symbols in
    *__stack_chk_fail*) ;;
    *) fault "$file" "no stack protector" ;;
    esac
    case $symbols in
    *_chk@GLIBC*) ;;
    *) fault "$file" "no _FORTIFY_SOURCE" ;;
    esac
done
[ "$faults" -eq 0 ]
