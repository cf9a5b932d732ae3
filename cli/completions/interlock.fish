# SPDX-License-Identifier: MIT
# interlock.fish -- fish completion of the interlock command.

set -l commands lock inspect ls break demo server version help
set -l first "not __fish_seen_subcommand_from $commands"

complete -c interlock -f
complete -c interlock -l url -x -d 'The server'
complete -c interlock -s h -l help -d 'Show help'
complete -c interlock -n $first -s V -l version -d 'Show the version'

complete -c interlock -n $first -a lock -d 'Run a command under a lock'
complete -c interlock -n $first -a inspect -d 'Show who holds and who waits'
complete -c interlock -n $first -a ls -d 'List the locks in use'
complete -c interlock -n $first -a break -d 'Take a lock away'
complete -c interlock -n $first -a demo -d 'Sell a stock under one lock'
complete -c interlock -n $first -a server -d 'The embedded server'
complete -c interlock -n $first -a version -d 'Tell the versions'
complete -c interlock -n $first -a help -d 'Show help'

function __interlock_for
    __fish_seen_subcommand_from $argv
end

complete -c interlock -n '__interlock_for lock' -F
complete -c interlock -n '__interlock_for lock' -l ttl -x -d 'The lease'
complete -c interlock -n '__interlock_for lock' -l wait -x -a 'forever 0' -d 'How long to wait'
complete -c interlock -n '__interlock_for lock' -l no-renew -d 'Do not renew the lease'
complete -c interlock -n '__interlock_for lock' -l max-hold -x -d 'Renew no longer than this'
complete -c interlock -n '__interlock_for lock' -l barge -d 'Past those who wait'
complete -c interlock -n '__interlock_for lock' -l shared -d 'Share with other readers'
complete -c interlock -n '__interlock_for lock' -l conflict-exit-code -x -d 'Instead of 75'
complete -c interlock -n '__interlock_for lock' -l kill-after -x -d 'From TERM to KILL when lost'
complete -c interlock -n '__interlock_for lock inspect break' -l hex -d 'NAME is in hexadecimal'
complete -c interlock -n '__interlock_for inspect ls break demo server version' -l json -d 'Print JSON'
complete -c interlock -n '__interlock_for ls' -s q -l quiet -d 'Names only'
complete -c interlock -n '__interlock_for break' -l token -x -d 'Only under this token'
complete -c interlock -n '__interlock_for demo' -l processes -x -d 'How many sellers'
complete -c interlock -n '__interlock_for demo' -l items -x -d 'How many items'
complete -c interlock -n '__interlock_for demo' -l no-lock -d 'Without lock and fence'
complete -c interlock -n '__interlock_for demo' -l lease -x -d 'The lease'
complete -c interlock -n '__interlock_for demo' -l think -x -d 'From reading to writing'
complete -c interlock -n '__interlock_for server' -l timeout -x -d 'How long stop waits'
complete -c interlock -n '__interlock_for server' -a 'status stop'
complete -c interlock -n '__interlock_for help' -a 'lock inspect ls break demo server version'
