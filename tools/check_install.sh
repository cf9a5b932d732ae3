#!/bin/sh
# SPDX-License-Identifier: MIT
# Install a build tree into a scratch prefix and build C against it, by
# pkg-config (shared and static) and by find_package: check_install.sh BUILD
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$(CDPATH='' cd -- "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >"$work/install.log"

# The plainest way: the default generator, and nothing but `--install`.
cmake -S "$root" -B "$work/plain" -G 'Unix Makefiles' -DILK_TESTS=OFF \
    -DILK_LUA=OFF -DCMAKE_INSTALL_PREFIX="$work/plainly" >"$work/plain.log"
CMAKE_BUILD_PARALLEL_LEVEL=2 cmake --install "$work/plain" >>"$work/plain.log"
"$work/plainly/bin/interlock" version
libdir=$(dirname "$(find "$prefix" -name interlock.pc)")/..
export PKG_CONFIG_PATH="$libdir/pkgconfig"
export LD_LIBRARY_PATH="$libdir"

cat >"$work/user.c" <<'EOF'
#include <interlock.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st = ilk_client_open(&client, "nonsense://", NULL, &err);

    printf("%s %s\n", ilk_version(), ilk_status_name(st));
    ilk_client_free(client);
    return st != ILK_EINVAL;
}
EOF
cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(interlock 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE interlock::interlock)
EOF

cd "$work"
# shellcheck disable=SC2046  # several words
cc -std=c99 -Werror user.c -o shared $(pkg-config --cflags --libs interlock)
./shared
# shellcheck disable=SC2046  # several words
cc -std=c99 -Werror user.c -o static $(pkg-config --cflags interlock) \
    "$libdir/libinterlock.a" \
    $(pkg-config --static --libs interlock | sed 's/-linterlock//')
LD_LIBRARY_PATH='' ./static
cmake -S . -B b -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >cmake.log
cmake --build b >>cmake.log
./b/user
"$prefix/bin/interlock" version

if nm -g --defined-only "$libdir/libinterlock.a" |
    awk 'NF == 3 && $3 !~ /^ilk_[a-z]/ { print; bad = 1 } END { exit !bad }'
then
    echo "the static library shows more than ilk_*"
    exit 1
fi

version=$(./shared | cut -d ' ' -f 1)
for file in include/interlock.h include/interlock/lock.h \
    share/man/man1/interlock.1; do
    [ -f "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
soname=$(objdump -p "$libdir/libinterlock.so" | awk '/SONAME/ { print $2 }')
[ "$soname" = "libinterlock.so.${version%%.*}" ] ||
    { echo "SONAME is '$soname'"; exit 1; }
cmp -s "$root/libcore/include/interlock.h" "$prefix/include/interlock.h"
echo "installation: C by pkg-config, statically and by find_package"
