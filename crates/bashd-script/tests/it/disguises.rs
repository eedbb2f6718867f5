//! What can stand around a command in a script that still runs it: a table for tests that hide
//! commands.
//!
//! No row may leave the `PATH` of stubs: nothing here clears the environment, logs in, or names a
//! program by its place. No row may run itself again, however rows are put into each other:
//! `BASH_ENV` does unless it is unset.

use crate::spellings::base64;
use std::fmt::Write as _;

/// What stands around a command.
pub(crate) struct Disguise {
    pub(crate) name: &'static str,
    /// `%` is the text, `%q` the text in single quotes, `%b` as base64, `%x` as escapes of bytes.
    /// For a text that is plain words: `%l` is the text, `%c` its words with commas, `%h` all
    /// words but the last, `%t` the last, `%r` the text backwards. `%s` and `%%` are printf's.
    template: &'static str,
    pub(crate) takes: DisguiseTakes,
}

/// What a command may be where something stands around it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum DisguiseTakes {
    /// Any script.
    Text,
    /// The words of one command; the result is a script.
    Words,
    /// The words of one command; the result is one, too.
    Prefix,
}

const fn text(name: &'static str, template: &'static str) -> Disguise {
    Disguise {
        name,
        template,
        takes: DisguiseTakes::Text,
    }
}

const fn words(name: &'static str, template: &'static str) -> Disguise {
    Disguise {
        name,
        template,
        takes: DisguiseTakes::Words,
    }
}

const fn prefix(name: &'static str, template: &'static str) -> Disguise {
    Disguise {
        name,
        template,
        takes: DisguiseTakes::Prefix,
    }
}

/// Characters of texts that are plain words in every language.
fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b" ./-_=+:".contains(&byte))
}

/// The escapes of a text's bytes, as `printf` and `$'…'` read them.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escapes, byte| {
        let _ = write!(escapes, "\\x{byte:02x}");
        escapes
    })
}

impl Disguise {
    /// Whether the same shell reads the text, with what was set before.
    pub(crate) fn is_read_here(&self) -> bool {
        let handed = [
            "%q",
            "%b",
            "%x",
            "%l",
            "%c",
            "%h",
            "%t",
            "%r",
            "<<'E'",
            "export -f",
        ];
        !handed.iter().any(|it| self.template.contains(it))
    }

    /// Whether it takes a text apart into lines, of which each is run alone.
    pub(crate) fn takes_lines(&self) -> bool {
        let by_lines = ["while read", "read", "mapfile"];
        let parts = ["xargs -d '\\n'", "while read -r l"];
        by_lines.contains(&self.name) || parts.iter().any(|part| self.template.contains(part))
    }

    /// The template with a script in it, or nothing where the script can't stand there.
    pub(crate) fn filled(&self, script: &str) -> Option<String> {
        // The end of a here-document in it would end the one around it.
        if self.template.contains("\nE") && script.contains("\nE") {
            return None;
        }
        let mut filled = String::new();
        let mut rest = self.template.chars().peekable();
        while let Some(character) = rest.next() {
            if character != '%' {
                filled.push(character);
                continue;
            }
            let kind = rest.peek().copied().unwrap_or(' ');
            if "sqbxlchtr%".contains(kind) {
                rest.next();
            }
            if "lchtr".contains(kind) && !is_plain(script) {
                return None;
            }
            match kind {
                's' => filled.push_str("%s"),
                '%' => filled.push('%'),
                'q' => {
                    let _ = write!(filled, "'{}'", script.replace('\'', "'\\''"));
                }
                'b' => filled.push_str(&base64(script)),
                'x' => filled.push_str(&escaped(script)),
                'c' => filled.push_str(&script.replace(' ', ",")),
                'h' => filled.push_str(script.rsplit_once(' ')?.0),
                't' => filled.push_str(script.rsplit_once(' ')?.1),
                'r' => filled.extend(script.chars().rev()),
                _ => filled.push_str(script),
            }
        }
        Some(filled)
    }
}

/// Lists, loops, functions and words within one shell.
pub(crate) const STRUCTURES: &[Disguise] = &[
    text("list", "true && %"),
    text("list", "false || { %\n}"),
    text("list", "[[ -n x ]] && %"),
    text("subshell", "(%\n)"),
    text("condition", "if true; then %\nfi"),
    text("condition", "if ! true; then :; elif true; then %\nfi"),
    text("condition", "if %\nthen :; fi"),
    text("case", "case x in x) %\n;; esac"),
    text("case", "case x in x) : ;& y) %\n;; esac"),
    text("loop", "for i in 1; do %\ndone"),
    text("loop", "for ((i=0; i<1; i++)); do %\ndone"),
    text("while", "while true; do %\nbreak; done"),
    text("while", "until false; do %\nbreak; done"),
    text("function", "f() { %\n}; f"),
    text("function", "function f { %\n}; f"),
    text("function", "f() ( %\n); f"),
    text("function", "g() { f; }; f() { %\n}; g"),
    text("substitution", "x=$(%\n)"),
    text("substitution", ": \"$(%\n)\""),
    text("substitution", ": ${x:-$(%\n)}"),
    text("substitution", ": $((0$(%\n)))"),
    text("substitution", "[[ x$(%\n) ]]"),
    text("substitution", "a[0$(%\n)]=1"),
    text("substitution", "cat <<E\n$(%\n)\nE"),
    text("substitution", "cat <(%\n)"),
    text("negation", "! { %\n}"),
    text("time", "time { %\n}"),
    text("coproc", "coproc { %\n}; wait"),
    text("background", "{ %\n} & wait"),
    text("pipe", "true | { %\n}"),
    text("pipe", "{ %\n} | cat"),
    text("redirected", "{ %\n} > out.txt 2>&1"),
    words("function with words", "f() { \"$@\"; }; f %"),
    words(
        "function with words",
        "f() { local c=$1; shift; $c \"$@\"; }; f %",
    ),
    words("function with words", "f() { shift; \"$@\"; }; f x %"),
    words("function with words", "f() { \"${@:2}\"; }; f x %"),
    words(
        "function with words",
        "f() { local a=(\"$@\"); \"${a[@]}\"; }; f %",
    ),
    words(
        "function with words",
        "g() { \"$@\"; }; f() { g \"$@\"; }; f %",
    ),
    words("function with words", "f() { $*; }; f %"),
    words("set --", "set -- %; \"$@\""),
    words("set --", "set -- %; $1 \"${@:2}\""),
    words("set and shift", "set -- x %; shift; \"$@\""),
    words("array", "a=(%); \"${a[@]}\""),
    words("array", "declare -a a=(%); \"${a[@]}\""),
    words("array", "a=(%); b=(\"${a[@]}\"); \"${b[@]}\""),
    words("array", "a=(%); ${a[*]}"),
    words("array", "a=(%); ${a[0]} \"${a[@]:1}\""),
    words("array append", "a=(); a+=(%); \"${a[@]}\""),
    words("array append", "a=(command); a+=(%); \"${a[@]}\""),
    words("array slice", "a=(x %); \"${a[@]:1}\""),
    words("array slice", "a=(%); unset 'a[99]'; \"${a[@]}\""),
    words("array eval", "a=(%); eval \"${a[*]}\""),
    words("printf -v", "printf -v c '%s ' %; $c"),
    words("for", "for w in \"$(echo %)\"; do $w; done"),
    words("variable", "c=\"%\"; $c"),
    text("IFS", "c=%c; IFS=,; $c"),
    text("IFS", "c=%c; IFS=,; set -- $c; \"$@\""),
    text("IFS", "IFS=, read -ra a <<< %c; \"${a[@]}\""),
    text("for", "for c in true %q; do eval \"$c\"; done"),
    text("for", "for c in true '%l'; do $c; done"),
    text("for", "for w in %t; do %h $w; done"),
    text("for", "set -- %q; for c; do eval \"$c\"; done"),
    text(
        "while",
        "set -- %q; while [ $# -gt 0 ]; do eval \"$1\"; shift; done",
    ),
    text("while read", "while read -r l; do eval \"$l\"; done <<< %q"),
    text("while read", "while read -r w; do %h \"$w\"; done <<< %t"),
    text(
        "while read",
        "echo %t | while read -r w; do %h \"$w\"; done",
    ),
    text(
        "while read",
        "while IFS= read -r l; do $l; done < <(echo '%l')",
    ),
    text("read", "read -r c <<< %q; eval \"$c\""),
    text("read", "IFS= read -rd '' c <<< %q; eval \"$c\""),
    text("mapfile", "mapfile -t a <<< %q; eval \"${a[0]}\""),
    text("mapfile -C", "mapfile -c 1 -C %q a <<< x"),
    text("alias", "shopt -s expand_aliases\nalias zz=%q\nzz"),
    text("eval", "eval %q"),
    text("eval", "eval -- %q"),
    text("eval", "command eval %q"),
    text("eval", "builtin eval %q"),
    text("eval", "eval \"$(echo %q)\""),
    text("eval", "eval \"$(printf '%s' %q)\""),
    text("eval", "eval \"$(cat <<'E'\n%\nE\n)\""),
    text("eval", "eval $'%x'"),
    text("variable", "c=%q; eval \"$c\""),
    text("variable", "c=$(cat <<'E'\n%\nE\n); eval \"$c\""),
    text("variable", "declare -A m=([x]=%q); eval \"${m[x]}\""),
    text("variable", "declare -n r=c; c=%q; eval \"$r\""),
    text("function eval", "f() { eval \"$1\"; }; f %q"),
    text(
        "function eval",
        "f() { for i in \"$@\"; do eval \"$i\"; done; }; f %q",
    ),
    text("function eval", "f() { c=$1; }; f %q; eval \"$c\""),
    text(
        "two functions",
        "g() { eval \"$*\"; }; f() { g \"$@\"; }; f %q",
    ),
    text("set eval", "set -- %q; eval \"$1\""),
    text("array eval", "a=(%q); eval \"${a[0]}\""),
    text("trap", "(trap %q EXIT)"),
    text("trap", "(trap -- %q 0)"),
    text("trap", "trap %q DEBUG; :; trap - DEBUG"),
    text("trap", "trap %q ERR; false; trap - ERR"),
];

/// Other shells and programs that get the text or the words.
pub(crate) const HANDED: &[Disguise] = &[
    prefix("env", "env A=b %"),
    prefix("env", "env -- %"),
    prefix("nice", "nice -n 5 timeout 9 %"),
    prefix("command", "command %"),
    prefix("command", "builtin command %"),
    prefix("wrapper", "stdbuf -o0 %"),
    prefix("wrapper", "setsid -w %"),
    prefix("wrapper", "flock -s x.lock %"),
    prefix("wrapper", "nohup %"),
    prefix("wrapper", "doas %"),
    prefix("wrapper", "prlimit --nofile=90 %"),
    prefix("wrapper", "setpriv --no-new-privs %"),
    prefix("wrapper", "nsenter --target=1 --mount -- %"),
    prefix("wrapper", "uv run %"),
    prefix("wrapper", "poetry run %"),
    prefix("wrapper", "pipenv run %"),
    prefix("wrapper", "bundle exec %"),
    words("exec", "(exec %)"),
    words("exec", "(exec -a x %)"),
    words("coproc", "coproc %; wait"),
    words("bash -c with words", "bash -c '\"$@\"' _ %"),
    words("bash -c with words", "bash -c '$0 \"$@\"' %"),
    words("bash -c with words", "sh -c 'exec \"$@\"' sh %"),
    words("xargs", "xargs % < /dev/null"),
    words("xargs -I", "echo x | xargs -I{} %"),
    words("find -exec", "find . -maxdepth 0 -exec % \\;"),
    words(
        "find -exec",
        "find . -maxdepth 0 -exec sh -c '\"$@\"' _ % \\;",
    ),
    words("git bisect", "git bisect run %"),
    text("env -S", "env -S '%l'"),
    text("env -S", "env -S %h %t"),
    text("xargs", "echo %t | xargs %h"),
    text("xargs", "echo %t | xargs -I@ %h @"),
    text("xargs", "echo '%l' | xargs env"),
    text("xargs", "printf '%s' %q | xargs -0 bash -c"),
    text("xargs", "printf '%s\\n' %q | xargs -d '\\n' -n1 bash -c"),
    text("xargs", "echo '%l' > l.txt; xargs -a l.txt env"),
    text("parallel", "parallel ::: %q"),
    text("parallel", "echo '%l' | parallel"),
    text("parallel", "parallel %h ::: %t"),
    text("find -exec", "find . -maxdepth 0 -exec bash -c %q \\;"),
    text("find -exec", "find %t -maxdepth 0 -exec %h {} \\;"),
    text("bash -c", "bash -c %q"),
    text("bash -c", "bash -ec %q"),
    text("bash -c", "bash -O extglob -c %q"),
    text("bash -c", "bash --norc -c -- %q"),
    text("bash -c", "nohup bash -c %q"),
    text("bash -c", "bash -c \"$(echo %q)\""),
    text("bash -c", "bash -c $'%x'"),
    text("bash -c", "set -- %q; bash -c \"$1\""),
    text("bash -c with words", "bash -c 'eval \"$1\"' _ %q"),
    text("bash <<<", "bash <<< %q"),
    text("bash <<<", "bash -s <<< %q"),
    text("bash <<<", "bash <<'E'\n%\nE"),
    text("bash <<<", "bash /dev/fd/3 3<<< %q"),
    text("bash <<<", "exec 3<<< %q; bash <&3"),
    text("bash <<<", "bash < <(echo %q)"),
    text("echo | bash", "echo %q | bash"),
    text("echo | bash", "printf '%s\\n' %q | bash"),
    text("echo | bash", "printf '%x' | bash"),
    text("echo | bash", "echo -e '%x' | bash"),
    text("echo | bash", "cat <<< %q | bash"),
    text("echo | bash", "cat <<'E' | bash\n%\nE"),
    text("echo | bash", "{ echo %q; } | bash"),
    text("echo | bash", "echo %q | cat | bash"),
    text("echo | bash", "echo %q | tee x.log | bash"),
    text("echo | bash", "echo %q | (bash)"),
    text("echo | bash", "echo %q | { cat | bash; }"),
    text("rev", "echo '%r' | rev | bash"),
    text("base64 | bash", "echo %b | base64 -d | bash"),
    text("base64 | bash", "base64 -d <<< %b | bash"),
    text("eval base64", "eval \"$(echo %b | base64 -d)\""),
    text("bash <(…)", "bash <(echo %q)"),
    text("bash <(…)", ". <(printf '%s\\n' %q)"),
    text("bash <(…)", "source <(echo %q)"),
    text(">(bash)", "echo %q > >(bash); wait"),
    text(">(bash)", "tee >(bash) <<< %q > /dev/null; wait"),
    text("source", "source /dev/stdin <<< %q"),
    text("source", ". /dev/fd/0 <<< %q"),
    text("file", "echo %q > x.sh; bash x.sh"),
    text("file", "echo %q > x.sh; . ./x.sh"),
    text("file", "echo %q > x.sh; bash < x.sh"),
    text("file", "echo %q > x.sh; cat x.sh | bash"),
    text("file", "echo %q > x.sh; eval \"$(< x.sh)\""),
    text("file", "echo %q > x.sh; c=$(cat x.sh); eval \"$c\""),
    text("file", "echo %q > x.sh; cp x.sh y.sh; bash y.sh"),
    text("file", "echo %q > x.sh; mv x.sh y.sh; bash ./y.sh"),
    text("file", "echo true > x.sh; echo %q >> x.sh; bash x.sh"),
    text("file", "cat > x.sh <<'E'\n%\nE\nbash x.sh"),
    text("file", "cat <<'E' > x.sh\n%\nE\n. ./x.sh"),
    text("file", "{ echo %q; } > x.sh; bash x.sh"),
    text("file", "printf '%s\\n' true %q > x.sh; bash x.sh"),
    text(
        "file",
        "echo %q > x.sh; while read -r l; do eval \"$l\"; done < x.sh",
    ),
    text("tee", "tee x.sh <<< %q > /dev/null; bash x.sh"),
    text("tee", "tee x.sh > /dev/null <<'E'\n%\nE\nbash x.sh"),
    text("tee", "cat <<'E' | tee x.sh > /dev/null\n%\nE\nbash x.sh"),
    text("tee", "echo %q | tee x.sh > /dev/null; bash x.sh"),
    text(
        "BASH_ENV",
        "printf '%s\\n' 'unset BASH_ENV' %q > x.sh; BASH_ENV=x.sh bash -c :",
    ),
    text(
        "PROMPT_COMMAND",
        "PROMPT_COMMAND=%q setsid -w bash --norc -i <<< :",
    ),
    text("exec", "(exec bash -c %q)"),
    text("export", "export C=%q; bash -c 'eval \"$C\"'"),
    text("export", "f() { %\n}; export -f f; bash -c f"),
    text("export", "C=%q bash -c 'eval \"$C\"'"),
    text("export", "env C=%q bash -c 'eval \"$C\"'"),
    text("awk", "awk 'BEGIN{system(\"%l\")}'"),
    text("awk", "echo '%l' | awk '{system($0)}'"),
    text("perl", "perl -e 'system(\"%l\")'"),
    text("perl", "perl -e 'exec \"%l\"'"),
    text("perl", "perl -e '`%l`'"),
    text("sed", "echo x | sed '1e %l'"),
    text("sed", "echo '%l' | sed 's/.*/&/e'"),
    text("python", "python3 -c 'import os; os.system(\"%l\")'"),
    text("su", "su root -c %q"),
    text("su", "runuser x -c %q"),
    text("su", "script -qc %q /dev/null"),
    text("su", "npx -c %q"),
    text("su", "npm exec -c %q"),
    text("ssh", "ssh host %q"),
    text("watch", "watch -n1 %q"),
    text("git alias", "git -c alias.zz=!%q zz"),
    text(
        "git alias",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.zz GIT_CONFIG_VALUE_0=!%q git zz",
    ),
    text("git alias", "git config alias.zz !%q; git zz"),
    text("git rebase", "git rebase -x %q main"),
    text("git submodule", "git submodule foreach %q"),
];
