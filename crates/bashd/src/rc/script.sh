# Run by an interactive bash whose rc is still unread: many an rc returns at once elsewhere. Writes the
# snapshot to descriptor 3, and nothing else. The functions are read before rc can define an alias; what is in
# `$( )` is read again when it runs.
exec 3>&1 >/dev/null 2>&1 </dev/null
unset -v HISTFILE
bashd_is_left_out() {
    case $1 in
    _* | bashd_* | ls | dir | vdir | cat | head | tail | less | more | grep | egrep | fgrep | rg | find | fd | locate | \
        sed | awk | perl | cp | mv | rm | mkdir | rmdir | touch | chmod | chown | ln | pwd | readlink | stat | cut | \
        sort | uniq | xargs | tee | tr | basename | dirname) builtin return 0 ;;
    esac
    builtin return 1
}
bashd_snapshot() {
    builtin local set shopt word name on off count=0
    set=$(\builtin set +o) shopt=$(\builtin shopt -p)
    builtin trap - DEBUG ERR RETURN EXIT
    builtin set +eufx
    builtin set +o noclobber
    IFS=$' \t\n'
    builtin echo '# What bashd took over from the shell'\''s rc file.'
    builtin echo 'unalias -a'
    while IFS= builtin read -r word; do
        case $word in
        *' login_shell' | *' restricted_shell') ;;
        'shopt -s '*) on+=" ${word#shopt -s }" ;;
        'shopt -u '*) off+=" ${word#shopt -u }" ;;
        esac
    done <<<"$shopt"
    # Every new shell reads this: two commands, not sixty.
    builtin echo "shopt -s$on"
    builtin echo "shopt -u$off"
    # With extended patterns, what is read next is read as it was.
    for name in $(\builtin compgen -A function); do
        bashd_is_left_out "$name" || builtin declare -f -- "$name"
    done
    while IFS= builtin read -r word; do
        case $word in
        *' onecmd' | *' monitor' | *' restricted' | *' noexec' | *' history' | *' histexpand' | *' emacs' | *' vi') ;;
        'set -o '*) builtin echo "$word" ;;
        esac
    done <<<"$set"
    for name in $(\builtin compgen -A alias); do
        bashd_is_left_out "$name" && builtin continue
        ((count++ < 1000)) || builtin break
        word=$(\builtin alias -- "$name") && builtin echo "alias -- ${word#alias }"
    done
    builtin echo 'shopt -s expand_aliases'
    builtin printf 'export PATH=%q\n' "$PATH"
    builtin echo '# end'
}
[ ! -f "$HOME/.bashrc" ] || . "$HOME/.bashrc"
\bashd_snapshot >&3
\builtin exit 0
