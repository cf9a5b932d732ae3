#!/bin/sh
# SPDX-License-Identifier: MIT
# What a machine has, a line for each: name, tab, version.

# first NAME COMMAND...: the first number with a dot in what the command prints.
first()
{
    name=$1
    shift
    version=$("$@" 2>/dev/null | grep -oE '[0-9]+\.[0-9][0-9a-z.]*' | head -n 1)
    printf '%s\t%s\n' "$name" "${version:--}"
}

printf 'Debian\t%s\n' "$(cat /etc/debian_version)"
first glibc ldd --version
first compiler cc --version
first CMake cmake --version
first Python python3 --version
first Redis redis-server --version
first hiredis pkg-config --modversion hiredis
first OpenSSL openssl version
first nghttp2 pkg-config --modversion libnghttp2
first libmariadb pkg-config --modversion libmariadb
first Lua lua5.4 -v
first SWIG swig -version
first cmocka pkg-config --modversion cmocka
first shellcheck shellcheck --version
first clang-tidy .venv/bin/clang-tidy --version
