#!/bin/sh
# SPDX-License-Identifier: MIT
# The README's commands on bare machines: run.sh FOLDER
#
# For each release debootstrap makes a Debian with git and ca-certificates alone, in
# FOLDER/<release>. The tree is copied there as a source archive, without .git, and
# ./dev does the rest: set-up, build, tests. Packages stay in FOLDER/cache-<release>
# for the next run; sources of packages, certificates and settings of pip are those of
# this machine.
#
# All this happens in a mount and a process namespace of its own. Both end with their
# first process, however it ends: no mount outlives it, no process, and this machine
# never sees a mount below FOLDER.
#
# The last lines count. Exit status 77, and a line that begins with "not shown": this
# machine cannot make such a namespace or such a Debian.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
root=${here%/tests/bare}
folder=$1

# What a first ./dev demo may cost in seconds of one processor: packages, which one
# installs, 17, the build, which both do, 37. That is half a minute on a machine with
# two processors and nothing else to do.
demo_cost=90

# The share of each release. The whole of ./dev test would take twice as long.
commands_of()
{
    case $1 in
    trixie) echo './dev test core python lint docs cli' ;;
    bookworm) echo "./dev demo && times >/times && ./dev build" ;;
    esac
}

not_shown()
{
    echo "not shown: $*"
    exit 77
}

# target_uris RELEASE: of this machine's own sources of packages.
target_uris()
{
    # shellcheck disable=SC2016  # apt's variables
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 2>/dev/null | awk -v name="$1" '
            $2 == name && $3 == "main" { print $1; exit }'
}

# settings_of_apt DIR: where packages come from, for a release.
settings_of_apt()
{
    own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    for suite in updates security; do
        uri=$(target_uris "$own-$suite")
        if [ -n "$uri" ]; then
            echo "deb $uri $release-$suite main"
        fi
    done >>"$1/sources.list"
    apt-config dump | grep -E '^Acquire::(https?|Check-|Retries)' \
        >"$1/apt.conf.d/99host"
    if [ -d /etc/apt/auth.conf.d ]; then
        cp -R /etc/apt/auth.conf.d "$1"
    fi
}

# copy_settings ROOT: what a client of the registries needs on this machine.
copy_settings()
{
    settings_of_apt "$1/etc/apt"
    cp -L /etc/resolv.conf /etc/hosts "$1/etc"
    find /usr/local/share/ca-certificates -name '*.crt' \
        -exec cp {} "$1/usr/local/share/ca-certificates" \; 2>/dev/null
    for file in /etc/pip.conf "$HOME/.pip/pip.conf" \
        "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf"; do
        [ -f "$file" ] && cat "$file"
    done >"$1/etc/pip.conf"
    # It is thrown away, so that nothing has to reach the disk.
    echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/unsafe-io"
}

# make_root RELEASE ROOT: the base system; on failure a line in ROOT.why.
make_root()
{
    own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    rm -rf "$2"
    mkdir -p "$2" "$folder/cache-$1/pip"
    # shellcheck disable=SC2046  # none, or one
    if ! debootstrap --variant=minbase --include=git,ca-certificates \
        --cache-dir="$folder/cache-$1" "$1" "$2" $(target_uris "$own"); then
        echo "debootstrap could not make a base system of $1" >"$2.why"
        return 1
    fi
    copy_settings "$2"
    mkdir -p "$2/root/interlock"
    python3 "$root/tools/list_files.py" | tar -C "$root" -T - -cf - |
        tar -C "$2/root/interlock" -xf -
}

# mounts_of RELEASE ROOT: what a machine has, and the cache.
mounts_of()
{
    mount -t proc proc "$2/proc" &&
        mount -t tmpfs -o mode=755 devices "$2/dev" &&
        mkdir "$2/dev/pts" "$2/dev/shm" &&
        mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 \
            devpts "$2/dev/pts" &&
        mount -t tmpfs shm "$2/dev/shm" &&
        mount -t tmpfs run "$2/run" &&
        mount --bind "$folder/cache-$1" "$2/var/cache/apt/archives" || return 1
    for device in null zero full random urandom tty; do
        : >"$2/dev/$device"
        mount --bind "/dev/$device" "$2/dev/$device" || return 1
    done
    ln -s pts/ptmx "$2/dev/ptmx"
    ln -s /proc/self/fd "$2/dev/fd"
    for number in 0:stdin 1:stdout 2:stderr; do
        ln -s "/proc/self/fd/${number%:*}" "$2/dev/${number#*:}"
    done
}

# The first process of the namespaces: inside RELEASE. Its status is that of the
# commands, or 77.
inside()
{
    release=$1
    at=$folder/$release
    make_root "$release" "$at" || exit 77
    if ! mounts_of "$release" "$at"; then
        echo "a file system could not be mounted" >"$at.why"
        exit 77
    fi
    for name in $(env | sed -nE \
        's/^([A-Za-z]+_(proxy|PROXY)|PIP_([A-Z]*_?INDEX_URL|CERT|TRUSTED_HOST))=.*/\1/p')
    do
        eval "set -- \"\$@\" \"$name=\$$name\""
    done
    shift
    # This shell stays, to wait for processes that others leave behind.
    chroot "$at" env -i HOME=/root LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" \
        PIP_CACHE_DIR=/var/cache/apt/archives/pip \
        sh -c "update-ca-certificates && cd /root/interlock || exit 1
            $(commands_of "$release")
            status=\$?
            sh tests/bare/versions.sh >/versions
            exit \$status"
    exit $?
}

# can_be_made: whether this machine has what it takes; if not, why.
can_be_made()
{
    [ "$(id -u)" = 0 ] || not_shown "a chroot needs root"
    command -v debootstrap >/dev/null 2>&1 ||
        not_shown "there is no debootstrap (package debootstrap)"
    command -v apt-get >/dev/null 2>&1 ||
        not_shown "there is no apt-get, whose sources would be used"
    unshare --mount --pid --fork --kill-child true 2>/dev/null ||
        not_shown "this machine gives no mount and process namespaces"
}

# one RELEASE: in namespaces of its own, which end with this process.
one()
{
    began=$(date +%s)
    rm -f "$folder/$1.why" "$folder/$1.versions" "$folder/$1.times"
    setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork \
        --kill-child "$here/run.sh" "$folder" "$1" >"$folder/$1.log" 2>&1 &
    child=$!
    trap 'kill -KILL $child; exit 143' TERM
    wait $child
    echo "$? $(($(date +%s) - began))" >"$folder/$1.end"
    times >"$folder/$1.cpu"
    trap - TERM
    for file in versions times; do
        if [ -e "$folder/$1/$file" ]; then
            mv "$folder/$1/$file" "$folder/$1.$file"
        fi
    done
    # No mount is seen here, and rm stays in one file system all the same.
    rm -rf --one-file-system "${folder:?}/$1"
}

# processor_seconds FILE: of child processes, from what `times` wrote there.
processor_seconds()
{
    sed -n '2s/[ms]/ /gp' "$1" | awk '{ printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }'
}

# report RELEASE: its output, and the line that counts.
report()
{
    read -r status took <"$folder/$1.end" || status=1 took=0
    echo "---- $1"
    cat "$folder/$1.log"
    line=$(grep -E '^==.* tiers passed|^The lock held|^libraries in' "$folder/$1.log" |
        tail -n 1)
    case $status in
    0)
        echo "bare: $1: $took s, $(processor_seconds "$folder/$1.cpu") s of one" \
            "processor: ${line:-nothing}"
        ;;
    77) echo "not shown: $1: $(cat "$folder/$1.why" 2>/dev/null)" ;;
    *) echo "bare: $1: FAILED after $took s: ${line:-see above}" ;;
    esac
    if [ -e "$folder/$1.times" ]; then
        cost=$(processor_seconds "$folder/$1.times")
        echo "bare: $1: ./dev demo: $cost s of one processor, $demo_cost at most"
        [ "$cost" -le "$demo_cost" ] || status=1
    fi
    return "$status"
}

main()
{
    mkdir -p "$folder"
    can_be_made
    running=
    # shellcheck disable=SC2064  # those of now
    for release in trixie bookworm; do
        one "$release" &
        running="$running $!"
        trap "kill $running 2>/dev/null; exit 130" INT TERM HUP
    done
    # shellcheck disable=SC2086  # several numbers
    wait $running
    trap - INT TERM HUP
    worst=0
    for release in trixie bookworm; do
        report "$release"
        status=$?
        [ $status -ne 0 ] && [ $worst -ne 1 ] && worst=$status
        [ $status -ne 0 ] && [ $status -ne 77 ] && worst=1
    done
    echo "bare: versions"
    awk -F '\t' '
        FNR == 1 { file++ }
        file == 1 { names[++count] = $1; first[$1] = $2 }
        file == 2 { second[$1] = $2 }
        END {
            for (i = 1; i <= count; i++)
                printf "bare: %-12s %-24s %s\n", names[i], first[names[i]],
                    second[names[i]]
        }' "$folder/trixie.versions" "$folder/bookworm.versions" 2>/dev/null
    case $worst in
    0) echo "bare: passed" ;;
    77) ;;
    *) echo "bare: FAILED" ;;
    esac
    exit $worst
}

if [ $# -eq 2 ]; then
    inside "$2"
fi
main
