# In the shell of a person's command, before the command.
__bashd_begin
[[ -r $__bashd_state ]] && builtin . "$__bashd_state" 2>/dev/null
builtin trap '__bashd_keep "$(builtin set +o; builtin shopt -p)"' EXIT
