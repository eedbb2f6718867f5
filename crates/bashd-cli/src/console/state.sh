# Evaluated in the shell of a person's command before the command: it takes over what earlier
# commands left (variables, functions, aliases, options), and leaves at its end what the next one
# takes over, and its directory. Only what differs from a fresh shell is written, for its user alone.
builtin shopt -s expand_aliases
__bashd_skip='^(__bashd_|BASH|COMP_|EPOCH|HIST|OPT|DIRSTACK$|FUNCNAME$|GROUPS$|IFS$|LINENO$|PIPESTATUS$|PPID$|E?UID$|S?RANDOM$|SECONDS$|SHLVL$|SHELLOPTS$|COLUMNS$|LINES$|PWD$|TERM$|_$)'
declare -A __bashd_fresh=()
__bashd_read() {
    __bashd_text=${!1@A}
    case ${!1@a} in *[aA]*) __bashd_text=$(builtin declare -p "$1") ;; esac
}
for __bashd_name in $(builtin compgen -v); do
    [[ $__bashd_name =~ $__bashd_skip ]] && continue
    __bashd_read "$__bashd_name" 2>/dev/null
    __bashd_fresh[$__bashd_name]=$__bashd_text
done
__bashd_keep() {
    builtin set +eufnvx
    builtin local IFS=$'\n' name line
    builtin umask 077
    {
        for name in $(builtin compgen -v); do
            [[ $name =~ $__bashd_skip ]] && continue
            __bashd_read "$name"
            [[ $__bashd_text == "${__bashd_fresh[$name]-}" && -v __bashd_fresh[$name] ]] ||
                builtin printf '%s\n' "$__bashd_text"
        done
        for name in "${!__bashd_fresh[@]}"; do
            builtin declare -p "$name" >/dev/null || builtin printf 'unset -v %s\n' "$name"
        done
        for name in $(builtin compgen -A function); do
            [[ $name == __bashd_* ]] || builtin declare -f -- "$name"
        done
        builtin alias -p
        for line in $1; do
            [[ $__bashd_options == *"$line"* ]] || builtin printf '%s\n' "$line"
        done
    } 2>/dev/null >|"$__bashd_state.new" && command -p mv -f -- "$__bashd_state.new" "$__bashd_state"
    builtin printf %s "$PWD" >|"$__bashd_state.directory"
}
__bashd_options=$(builtin set +o; builtin shopt -p)
[[ -r $__bashd_state ]] && builtin . "$__bashd_state" 2>/dev/null
builtin trap '__bashd_keep "$(builtin set +o; builtin shopt -p)"' EXIT
