# What the shells of the console share: those of a person's commands, and that of the session of calls.
# Each takes over what the one before left (variables, functions, aliases, options), and leaves what
# the next one takes over, and its directory. Only what differs from a fresh shell is written, for its
# user alone.
builtin shopt -s expand_aliases
__bashd_skip='^(__bashd_|BASH|COMP_|EPOCH|HIST|OPT|DIRSTACK$|FUNCNAME$|GROUPS$|IFS$|LINENO$|PIPESTATUS$|PPID$|E?UID$|S?RANDOM$|SECONDS$|SHLVL$|SHELLOPTS$|COLUMNS$|LINES$|PWD$|TERM$|_$)'
# What is no user's: besides these, the variables with which a session's shell runs a call.
__bashd_skips() {
    [[ $1 =~ $__bashd_skip ]] ||
        [[ $1 =~ ^[BEPO]([0-9a-f]{1,8})$ && -v B${BASH_REMATCH[1]} && -v E${BASH_REMATCH[1]} ]]
}
__bashd_read() {
    __bashd_text=${!1@A}
    case ${!1@a} in *[aA]*) __bashd_text=$(builtin declare -p "$1") ;; esac
}
__bashd_begin() {
    builtin local IFS=$'\n' __bashd_name
    builtin unset -v __bashd_fresh
    builtin declare -gA __bashd_fresh
    for __bashd_name in $(builtin compgen -v); do
        __bashd_skips "$__bashd_name" && continue
        __bashd_read "$__bashd_name" 2>/dev/null
        __bashd_fresh[$__bashd_name]=$__bashd_text
    done
    __bashd_options=$(builtin set +o; builtin shopt -p)
}
__bashd_keep() {
    builtin set +eufnvx
    # Names of ours alone: those of the user's variables are looked at.
    builtin local IFS=$'\n' __bashd_name __bashd_line __bashd_mask
    __bashd_mask=$(builtin umask)
    builtin umask 077
    {
        for __bashd_name in $(builtin compgen -v); do
            __bashd_skips "$__bashd_name" && continue
            __bashd_read "$__bashd_name"
            [[ $__bashd_text == "${__bashd_fresh[$__bashd_name]-}" && -v __bashd_fresh[$__bashd_name] ]] ||
                builtin printf '%s\n' "$__bashd_text"
        done
        for __bashd_name in "${!__bashd_fresh[@]}"; do
            builtin declare -p "$__bashd_name" >/dev/null || builtin printf 'unset -v %s\n' "$__bashd_name"
        done
        for __bashd_name in $(builtin compgen -A function); do
            [[ $__bashd_name == __bashd_* ]] || builtin declare -f -- "$__bashd_name"
        done
        builtin alias -p
        for __bashd_line in $1; do
            [[ $__bashd_options == *"$__bashd_line"* ]] || builtin printf '%s\n' "$__bashd_line"
        done
    } 2>/dev/null >|"$__bashd_state.new" && command -p mv -f -- "$__bashd_state.new" "$__bashd_state"
    builtin printf %s "$PWD" 2>/dev/null >|"$__bashd_state.directory"
    builtin umask "$__bashd_mask"
}
