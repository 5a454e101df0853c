"""Scripts that let a shell ask `catena` what fits at the cursor."""

from __future__ import annotations

_BASH = r"""# Completion of catena for bash; printed by `catena completion bash`.
_catena() {
    local -a answer
    mapfile -t answer < <("${COMP_WORDS[0]/#\~/$HOME}" __complete bash \
        "${COMP_LINE:0:COMP_POINT}" "$COMP_TYPE" "$COMP_WORDBREAKS" 2>/dev/null)
    COMPREPLY=("${answer[@]:1}")
    case "${answer[0]%% *}" in
        files) compopt -o default ;;
        directories) compopt -o dirnames ;;
    esac
    compopt -o nosort 2>/dev/null
}
complete -F _catena catena
"""

_ZSH = r"""#compdef catena
# Completion of catena for zsh; printed by `catena completion zsh`.
_catena() {
    local -a answer values shown
    local line about
    answer=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete zsh \
        "${(@Q)words[2,CURRENT-1]}" "${(Q)words[CURRENT][1,$#PREFIX]}" 2>/dev/null)}")
    [[ -n ${answer[1]#* } ]] && compset -P '--*='
    for line in "${(@)answer[2,-1]}"; do
        [[ -n $line ]] || continue
        values+=("${line%%$'\t'*}")
        about="${line#*$'\t'}"
        shown+=("${line%%$'\t'*}${about:+  -- $about}")
    done
    (( $#values )) && compadd -l -V catena -d shown -a values
    case ${answer[1]%% *} in
        files) _files ;;
        directories) _files -/ ;;
    esac
}
if [[ $funcstack[1] == _catena ]]; then
    _catena "$@"
else
    compdef _catena catena
fi
"""

_FISH = r"""# Completion of catena for fish; printed by `catena completion fish`.
function __catena_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($words[1] __complete fish $words[2..-1] "$current" 2>/dev/null)
    set -l head (string split ' ' -- $answer[1])
    for line in $answer[2..-1]
        echo -- $head[2]$line
    end
    switch "$head[1]"
        case files
            __fish_complete_path "$current"
        case directories
            __fish_complete_directories "$current" ''
    end
end
complete -c catena -k -f -a '(__catena_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def script(shell: str) -> str:
    """The script for bash, zsh or fish."""
    return _SCRIPTS[shell]
