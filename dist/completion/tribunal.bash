# bash completion for tribunal, tribunald and tribunal-worker.
#
# Words come from the programs themselves: the commands from the list of `tribunal --help`, the
# options from the --help of what was typed so far. So it knows what is installed and cannot drift.

_tribunal_commands() { # the first words of the indented list behind "Commands:"
    "$@" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'
}

_tribunal_options() {
    "$@" --help 2>/dev/null | grep -oE '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u
}

_tribunal() {
    local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[0]}") word i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        [[ $word == -* ]] && break
        # A command has commands or options of its own; anything else is an argument.
        _tribunal_commands "${words[@]}" | grep -qFx -- "$word" || break
        words+=("$word")
    done
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_tribunal_options "${words[@]}")" -- "$cur")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$(_tribunal_commands "${words[@]}")" -- "$cur")
    [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

complete -o filenames -F _tribunal tribunal tribunald tribunal-worker
