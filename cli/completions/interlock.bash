# SPDX-License-Identifier: MIT
# interlock.bash -- bash completion of the interlock command.

_interlock_options() {
    case $1 in
    lock)
        echo --ttl --wait --no-renew --max-hold --barge --shared \
            --conflict-exit-code --kill-after --hex --url --help
        ;;
    inspect) echo --json --hex --url --help ;;
    ls) echo --quiet --json --url --help ;;
    break) echo --token --json --hex --url --help ;;
    demo)
        echo --processes --items --no-lock --lease --think --json --url \
            --help
        ;;
    server) echo --timeout --json --url --help ;;
    version) echo --json --url --help ;;
    *) echo --url --version --help ;;
    esac
}

# Whether an option is followed by a value.
_interlock_takes_value() {
    case $1 in
    --ttl | --wait | --max-hold | --conflict-exit-code | --kill-after | \
        --url | --token | --processes | --items | --lease | --think | \
        --timeout)
        return 0
        ;;
    esac
    return 1
}

# Set `command`, and `words` to the number of its words before the cursor.
_interlock_parse() {
    local i
    command=
    words=0
    for ((i = 1; i < COMP_CWORD; i++)); do
        if _interlock_takes_value "${COMP_WORDS[i]}"; then
            ((i++))
        elif [[ ${COMP_WORDS[i]} == -- && $command == lock ]]; then
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
    local all="lock inspect ls break demo server version help"

    COMPREPLY=()
    _interlock_parse
    if _interlock_takes_value "$previous"; then
        [[ $previous == --wait ]] &&
            mapfile -t COMPREPLY < <(compgen -W "forever 0" -- "$current")
        return
    fi
    if [[ $command == lock && $words -ge 2 ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < \
            <(compgen -W "$(_interlock_options "$command")" -- "$current")
    elif [[ -z $command || $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$all" -- "$current")
    elif [[ $command == server && $words -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "status stop" -- "$current")
    elif [[ $command == lock && $words -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    fi
}

complete -F _interlock interlock
