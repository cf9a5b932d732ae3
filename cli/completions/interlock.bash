# SPDX-License-Identifier: MIT
# interlock.bash -- bash completion of the interlock command.

_interlock_options() {
    case $1 in
    lock)
        echo --ttl --wait --no-renew --max-hold --barge --shared \
            --conflict-exit-code --kill-after --no-descendants --json --hex \
            --quiet --url --url-file --help
        ;;
    semaphore)
        echo --limit --permits --ttl --wait --no-renew --max-hold --barge \
            --conflict-exit-code --kill-after --no-descendants --json --hex \
            --quiet --url --url-file --help
        ;;
    elect)
        echo --ttl --value --identity --once --observe --wait \
            --conflict-exit-code --kill-after --no-descendants --json --hex \
            --quiet --url --url-file --help
        ;;
    wait)
        echo --timeout --all --pattern --json --quiet --url --url-file --help
        ;;
    signal) echo --one --json --hex --quiet --url --url-file --help ;;
    event) echo --timeout --ttl --json --hex --quiet --url --url-file --help ;;
    group)
        echo --id --data --ttl --timeout --wait --conflict-exit-code \
            --kill-after --no-descendants --json --hex --quiet --url \
            --url-file --help
        ;;
    register) echo --timeout --json --hex --quiet --url --url-file --help ;;
    kv) echo --fast --rate --resume --json --hex --quiet --url --url-file --help ;;
    queue)
        echo --timeout --lease --delay --id --filo --count --reason --lines \
            --jobs --attempts --backoff --kill-after --no-descendants --json \
            --hex --quiet --url --url-file --help
        ;;
    inspect) echo --kind --json --hex --quiet --url --url-file --help ;;
    ls) echo --kind --held --quiet --json --url --url-file --help ;;
    break)
        echo --kind --token --foreign --json --hex --quiet --url --url-file \
            --help
        ;;
    demo)
        echo --processes --items --no-lock --lease --think --json --quiet \
            --url --url-file --help
        ;;
    server) echo --timeout --json --quiet --url --url-file --help ;;
    quorum) echo --timeout --json --quiet --url --url-file --help ;;
    ring)
        echo --layout --weights --shares --copies --json --quiet --url \
            --url-file --help
        ;;
    version) echo --json --quiet --url --url-file --help ;;
    *) echo --url --url-file --version --help ;;
    esac
}

# Whether an option is followed by a value.
_interlock_takes_value() {
    case $1 in
    --ttl | --wait | --max-hold | --conflict-exit-code | --kill-after | \
        --url | --url-file | --token | --processes | --items | --lease | --think | \
        --timeout | --limit | --permits | --value | --identity | --delay | \
        --id | --data | --count | --reason | --kind | --jobs | --attempts | \
        --backoff | --layout | --weights | --copies | --rate | --resume)
        return 0
        ;;
    esac
    return 1
}

# Whether a command runs another one behind its NAME.
_interlock_runs() {
    [[ $1 == lock || $1 == semaphore || $1 == elect ]]
}

# Set `command`, and `words` to the number of its words before the cursor.
_interlock_parse() {
    local i
    command=
    words=0
    for ((i = 1; i < COMP_CWORD; i++)); do
        if _interlock_takes_value "${COMP_WORDS[i]}"; then
            ((i++))
        elif [[ ${COMP_WORDS[i]} == -- ]] && _interlock_runs "$command"; then
            words=$((words < 1 ? 1 : words))
        elif [[ ${COMP_WORDS[i]} != -* && -z $command ]]; then
            command=${COMP_WORDS[i]}
        elif [[ ${COMP_WORDS[i]} != -* ]]; then
            ((words++))
        fi
    done
}

_interlock() {
    local command words
    local current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]}
    local all="lock semaphore elect wait signal event group register kv queue
        inspect ls break demo server quorum ring version help"
    local kinds="lock semaphore election signal event barrier latch queue group register store kv"

    COMPREPLY=()
    _interlock_parse
    if _interlock_takes_value "$previous"; then
        [[ $previous == --wait || $previous == --timeout ]] &&
            mapfile -t COMPREPLY < <(compgen -W "forever 0" -- "$current")
        [[ $previous == --url-file ]] &&
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
        [[ $previous == --kind ]] &&
            mapfile -t COMPREPLY < <(compgen -W "$kinds" -- "$current")
        [[ $previous == --layout ]] &&
            mapfile -t COMPREPLY < <(compgen -W "ketama tooz" -- "$current")
        return
    fi
    if _interlock_runs "$command" && [[ $words -ge 2 ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < \
            <(compgen -W "$(_interlock_options "$command")" -- "$current")
    elif [[ -z $command || $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$all" -- "$current")
    elif [[ $command == server && $words -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "status stop" -- "$current")
    elif [[ $command == quorum && $words -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "status adopt" -- "$current")
    elif [[ $command == event && $words -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "set clear wait show" -- "$current")
    elif [[ $command == group && $words -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "join ls watch" -- "$current")
    elif [[ $command == group && $words -eq 2 ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    elif [[ $command == register && $words -eq 0 ]]; then
        mapfile -t COMPREPLY < \
            <(compgen -W "get set cas delete wait" -- "$current")
    elif [[ $command == kv && $words -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "put get delete move" -- "$current")
    elif [[ $command == queue && $words -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "push pop reserve ack nack bury len \
            peek dead requeue purge show work" -- "$current")
    elif _interlock_runs "$command" && [[ $words -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    fi
}

complete -F _interlock interlock
