# SPDX-License-Identifier: MIT
# interlock.fish -- fish completion of the interlock command.

set -l commands lock semaphore elect wait signal event queue inspect ls break demo server version help
set -l first "not __fish_seen_subcommand_from $commands"

complete -c interlock -f
complete -c interlock -l url -x -d 'The server'
complete -c interlock -s h -l help -d 'Show help'
complete -c interlock -n $first -s V -l version -d 'Show the version'

complete -c interlock -n $first -a lock -d 'Run a command under a lock'
complete -c interlock -n $first -a semaphore -d 'Run a command under a permit'
complete -c interlock -n $first -a elect -d 'Run a command while leading'
complete -c interlock -n $first -a wait -d 'Wait for a signal'
complete -c interlock -n $first -a signal -d 'Send to those who wait'
complete -c interlock -n $first -a event -d 'An event that stays'
complete -c interlock -n $first -a queue -d 'Put in, take out, look'
complete -c interlock -n $first -a inspect -d 'Show who holds and who waits'
complete -c interlock -n $first -a ls -d 'List the names in use'
complete -c interlock -n $first -a break -d 'Take a lock away'
complete -c interlock -n $first -a demo -d 'Sell a stock under one lock'
complete -c interlock -n $first -a server -d 'The embedded server'
complete -c interlock -n $first -a version -d 'Tell the versions'
complete -c interlock -n $first -a help -d 'Show help'

function __interlock_for
    __fish_seen_subcommand_from $argv
end

complete -c interlock -n '__interlock_for lock semaphore elect' -F
complete -c interlock -n '__interlock_for lock semaphore elect event' -l ttl -x -d 'The lease'
complete -c interlock -n '__interlock_for lock semaphore elect' -l wait -x -a 'forever 0' -d 'How long to wait'
complete -c interlock -n '__interlock_for lock semaphore' -l no-renew -d 'Do not renew the lease'
complete -c interlock -n '__interlock_for lock semaphore' -l max-hold -x -d 'Renew no longer than this'
complete -c interlock -n '__interlock_for lock semaphore' -l barge -d 'Past those who wait'
complete -c interlock -n '__interlock_for lock' -l shared -d 'Share with other readers'
complete -c interlock -n '__interlock_for lock semaphore elect' -l conflict-exit-code -x -d 'Instead of 75'
complete -c interlock -n '__interlock_for lock semaphore elect' -l kill-after -x -d 'From TERM to KILL when lost'
complete -c interlock -n '__interlock_for lock semaphore elect signal event queue inspect break' -l hex -d 'NAME is in hexadecimal'
complete -c interlock -n '__interlock_for wait signal event queue inspect ls break demo server version' -l json -d 'Print JSON'
complete -c interlock -n '__interlock_for ls' -s q -l quiet -d 'Names only'
complete -c interlock -n '__interlock_for break' -l token -x -d 'Only under this token'
complete -c interlock -n '__interlock_for demo' -l processes -x -d 'How many sellers'
complete -c interlock -n '__interlock_for demo' -l items -x -d 'How many items'
complete -c interlock -n '__interlock_for demo' -l no-lock -d 'Without lock and fence'
complete -c interlock -n '__interlock_for demo' -l lease -x -d 'The lease'
complete -c interlock -n '__interlock_for demo' -l think -x -d 'From reading to writing'
complete -c interlock -n '__interlock_for semaphore' -l limit -x -d 'How many permits there are'
complete -c interlock -n '__interlock_for semaphore' -l permits -x -d 'How many are needed'
complete -c interlock -n '__interlock_for elect' -l value -x -d 'What to publish'
complete -c interlock -n '__interlock_for elect' -l identity -x -d 'To lead on after a restart'
complete -c interlock -n '__interlock_for elect' -l once -d 'Exit when leadership is lost'
complete -c interlock -n '__interlock_for wait event queue server' -l timeout -x -d 'How long to wait'
complete -c interlock -n '__interlock_for wait' -l all -d 'Until each has got one'
complete -c interlock -n '__interlock_for wait' -l pattern -d 'NAME is a glob'
complete -c interlock -n '__interlock_for signal' -l one -d 'To one who waits'
complete -c interlock -n '__interlock_for event' -a 'set clear wait show'
complete -c interlock -n '__interlock_for queue' -l lease -x -d 'How long it is ours'
complete -c interlock -n '__interlock_for queue' -l delay -x -d 'Deliver it no earlier'
complete -c interlock -n '__interlock_for queue' -l id -x -d 'The same again changes nothing'
complete -c interlock -n '__interlock_for queue' -l filo -d 'The newest first'
complete -c interlock -n '__interlock_for queue' -l count -x -d 'How many'
complete -c interlock -n '__interlock_for queue' -l reason -x -d 'Why'
complete -c interlock -n '__interlock_for queue' -a 'push pop reserve ack nack bury len peek dead requeue purge show'
complete -c interlock -n '__interlock_for inspect ls' -l kind -x -a 'lock semaphore election signal event barrier latch queue' -d 'What the name is'
complete -c interlock -n '__interlock_for server' -a 'status stop'
complete -c interlock -n '__interlock_for help' -a 'lock semaphore elect wait signal event queue inspect ls break demo server version'
