# In the session of calls, before a call that comes after a person's command. What the session had was
# handed on to that command: what is not in the state any more is gone.
if [[ -v __bashd_options ]]; then
    builtin eval "$__bashd_options"
    while IFS= builtin read -r __bashd_name; do
        __bashd_skips "$__bashd_name" && continue
        __bashd_read "$__bashd_name"
        if [[ ! -v __bashd_fresh[$__bashd_name] ]]; then
            builtin unset -v "$__bashd_name"
        elif [[ $__bashd_text != "${__bashd_fresh[$__bashd_name]}" ]]; then
            builtin eval "${__bashd_fresh[$__bashd_name]}"
        fi
    done 2>/dev/null <<<"$(builtin compgen -v)"
    while IFS= builtin read -r __bashd_name; do
        [[ $__bashd_name == __bashd_* ]] || builtin unset -f "$__bashd_name"
    done 2>/dev/null <<<"$(builtin compgen -A function)"
    builtin unalias -a
else
    __bashd_begin
fi
[[ -r $__bashd_state ]] && builtin . "$__bashd_state" 2>/dev/null
builtin cd -- "$__bashd_directory"
