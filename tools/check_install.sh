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

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    const char *url = argc > 1 ? argv[1] : "nonsense://";
    ilk_status st = ilk_client_open(&client, url, NULL, &err);

    printf("%s %s\n", ilk_version(), ilk_status_name(st));
    ilk_client_free(client);
    return st != (argc > 1 ? ILK_OK : ILK_EINVAL);
}
EOF
cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(interlock 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE interlock::interlock)
add_executable(alone user.c)
target_link_libraries(alone PRIVATE interlock::interlock_static)
add_library(plugin MODULE plugin.c)
target_link_libraries(plugin PRIVATE interlock::interlock_static)
EOF
cat >"$work/plugin.c" <<'EOF'
#include <interlock.h>

const char *plugin_version(void);

const char *plugin_version(void)
{
    return ilk_version();
}
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
LD_LIBRARY_PATH='' ./b/alone
exported=$(nm -D --defined-only b/libplugin.so | awk '{ print $3 }')
[ "$exported" = plugin_version ] ||
    { echo "a plugin exports: $exported"; exit 1; }

# Inside of another project: nothing is set or installed for it.
mkdir "$work/parent"
cp user.c "$work/parent"
cat >"$work/parent/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(parent C)
add_subdirectory($root interlock)
add_executable(user user.c own.c)
target_link_libraries(user PRIVATE interlock::interlock_static)
install(TARGETS user)
EOF
# A parent may have a hiredis of its own, here one that the library must not call.
for name in redisReaderCreateWithFunctions redisReaderFeed redisReaderGetReply; do
    printf 'void abort(void);\nvoid %s(void);\nvoid %s(void)\n{\n    abort();\n}\n' \
        $name $name
done >"$work/parent/own.c"
cmake -S parent -B p -G Ninja -DILK_HIREDIS=bundled >parent.log
cmake --build p >>parent.log
LD_LIBRARY_PATH='' ./p/user
LD_LIBRARY_PATH='' ./p/user "embedded://$work/server"
grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=$' p/CMakeCache.txt ||
    { echo "the parent's build type was set"; exit 1; }
cmake --install p --prefix "$work/parents" >>parent.log
[ "$(cd "$work/parents" && find . -type f)" = ./bin/user ] ||
    { find "$work/parents"; echo "more than the parent's is installed"; exit 1; }

# Flags that the static library must be made with, or without.
configure()
{
    rm -rf "$work/f"
    cmake -S "$root" -B "$work/f" -G Ninja -DILK_TESTS=OFF -DILK_LUA=OFF \
        -DILK_CLI=OFF "$@" >flags.log 2>&1
}

flags()
{
    if ! configure "$@" ||
        ! cmake --build "$work/f" --target interlock_archive >>flags.log 2>&1
    then
        tail -n 20 flags.log
        echo "no static library with $*"
        exit 1
    fi
}
flags -DCMAKE_C_FLAGS=-flto
for clang in clang clang-19 clang-16 clang-14; do
    command -v $clang >clang.log || continue
    flags -DCMAKE_C_COMPILER=$clang -DCMAKE_C_FLAGS=-flto
    break
done
if echo 'int main(void) { return 0; }' | cc -m32 -x c -o thirty-two - 2>clang.log
then
    flags -DCMAKE_C_FLAGS=-m32 -DILK_TLS=OFF -DILK_HIREDIS=bundled
fi
if configure -DILK_BACKENDS=oracle ||
    ! grep -q "ILK_BACKENDS must be AUTO" flags.log
then
    cat flags.log
    echo "an unknown backend is not refused"
    exit 1
fi
configure -DILK_BACKENDS=OFF
grep -q 'backends: OFF' flags.log || { cat flags.log; exit 1; }
configure -DILK_ARCHIVE=OFF
if grep -q 'libinterlock\.a' "$work/f/cmake_install.cmake"; then
    echo "the static library is installed"
    exit 1
fi
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

# A page for each function, which man-db can index and groff and mandoc read.
man3=$prefix/share/man/man3
[ "$(find "$man3" -name 'ilk_*.3' | wc -l)" = \
    "$(grep -c '^| `ilk_' "$root/docs/symbols.md")" ] ||
    { echo "not all functions have manual pages"; exit 1; }
cmake --install "$build" --prefix "$work/man" --component man3 >man.log
if ! [ -f "$work/man/share/man/man3/ilk_lock_acquire.3" ] ||
    [ -e "$work/man/include" ]
then
    find "$work/man"
    exit 1
fi
cp "$prefix/share/man/man1/interlock.1" "$man3"
if command -v lexgrog >man.log; then
    lexgrog "$man3"/*.[13] >man.log || { cat man.log; exit 1; }
fi
if command -v mandoc >man.log; then
    mandoc -T lint -W error "$man3"/*.[13]
fi
if command -v groff >man.log; then
    for page in "$man3"/*.[13]; do
        groff -man -Tutf8 -ww -z "$page"
    done >man.log 2>&1
    [ ! -s man.log ] || { cat man.log; exit 1; }
fi

# Each backend that was built is beside the library, which finds it there; without an
# object the text says what to do. The directory of a Lua module leads there.
cat >"$work/schemes.c" <<'EOF'
#include <interlock.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        ilk_client *client = NULL;
        ilk_client_opts opts;
        ilk_error err = {0};

        ilk_client_opts_init(&opts, sizeof opts);
        opts.flags = ILK_CLIENT_LAZY;
        ilk_client_open(&client, argv[i], &opts, &err);
        printf("%s %s\n", ilk_status_name(err.code), err.msg);
        ilk_client_free(client);
    }
    return 0;
}
EOF
# shellcheck disable=SC2046  # several words
cc -std=c99 -Werror schemes.c -o schemes $(pkg-config --cflags --libs interlock)
for scheme in etcd zookeeper mysql; do
    object=$libdir/interlock/libinterlock-$scheme.so
    said=$(./schemes "$scheme://127.0.0.1:1")
    if [ -e "$build/lib/interlock/libinterlock-$scheme.so" ]; then
        [ -e "$object" ] || { echo "not installed: $object"; exit 1; }
        "$root/tools/check_backends.sh" "$object"
        case $said in
        *ILK_EUNSUPPORTED*) echo "$scheme:// is installed: $said"; exit 1 ;;
        esac
    else
        [ ! -e "$object" ] || { echo "installed by whom? $object"; exit 1; }
        case $said in
        "ILK_EUNSUPPORTED built without $scheme: install lib"*) ;;
        *) echo "$scheme:// is not built: $said"; exit 1 ;;
        esac
    fi
done
if [ -d "$libdir/interlock" ]; then
    for link in "$libdir"/lua/*/interlock/interlock; do
        [ ! -L "$link" ] || [ "$(readlink -f "$link")" = \
            "$(readlink -f "$libdir/interlock")" ] ||
            { echo "$link leads elsewhere"; exit 1; }
    done
fi

soname=$(objdump -p "$libdir/libinterlock.so" | awk '/SONAME/ { print $2 }')
[ "$soname" = "libinterlock.so.${version%%.*}" ] ||
    { echo "SONAME is '$soname'"; exit 1; }
cmp -s "$root/libcore/include/interlock.h" "$prefix/include/interlock.h"
echo "installation: C by pkg-config, statically and by find_package"
