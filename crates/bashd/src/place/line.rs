//! What a carrier is asked to run at the other end: one line for a login shell, whichever that is.
//!
//! Whatever the login shell, its rc files and the machine print first is passed over: what counts
//! begins behind a mark that nobody else can know. The user's own configuration of ssh, agent and
//! known hosts apply; nothing is asked, so what would need an answer fails.

use super::settings::{PlaceKind, PlaceSettings};
use std::time::Duration;

/// Bytes of the number in a mark.
const NUMBER: usize = 16;

/// What the far side prints when it begins to speak.
#[derive(Debug, Clone)]
pub(crate) struct LineMark(String);

impl LineMark {
    /// A mark of its own for each carrier.
    pub(crate) fn new() -> Self {
        let mut bytes = [0; NUMBER];
        // Without a random source, a banner could still hardly have these words.
        let _ = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Self(digits.collect())
    }

    /// The bytes that it is.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        format!("\0bashd {}\n", self.0).into_bytes()
    }
}

/// Finds the program of this content, or asks for it, in the first directory of ours that allows
/// execution; then becomes it. It has no single quote, no `!`, no newline and no doubled backslash,
/// so that tcsh and fish pass it on as it is. A program says its hash itself: a shell takes a file
/// that is none for a script, and an empty one succeeds. `docs/outpost.md` documents what it says.
const FIND_OR_ASK: &str = concat!(
    r#"printf "\000bashd %s\n" @MARK@; umask 077; h=@HASH@; u=$(id -u); t=""; "#,
    r#"has() { [ -h "$d" ] && return 1; [ -O "$d" ] && [ -f "$d/$h" ] && [ -O "$d/$h" ] && "#,
    r#"[ "$("$d/$h" outpost --check $h </dev/null 2>/dev/null)" = $h ]; }; "#,
    r#"run() { printf "ready\n"; exec "$d/$h" outpost --build $h --idle @IDLE@@MORE@; }; "#,
    r#"no() { t="$t; $d $1"; }; "#,
    r#"set -- @TO@"${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/bashd/bin" "#,
    r"/var/tmp/bashd-$u /tmp/bashd-$u /dev/shm/bashd-$u; ",
    r#"for d; do has && run; done; "#,
    r#"for d; do f="$d/.$h.$$"; mkdir -p "$d" 2>/dev/null; "#,
    r#"if [ -h "$d" ]; then no "is a link"; continue; fi; "#,
    r#"if [ -d "$d" ] && [ -O "$d" ]; then :; else no "is no directory of ours"; continue; fi; "#,
    r#"if (printf "\043\041/bin/sh\nexit 0\n" >"$f") 2>/dev/null; then :; "#,
    r#"else no "can not be written"; continue; fi; "#,
    r#"chmod 700 "$f"; if "$f" 2>/dev/null; then rm -f "$f"; "#,
    r#"else rm -f "$f"; no "does not allow execution"; continue; fi; "#,
    r#"z=raw; command -v gzip >/dev/null 2>&1 && z=gzip; "#,
    r#"printf "want %s %s %s\n" "$(uname -s)" "$(uname -m)" $z; "#,
    r#"read -r n z || exit 1; [ "$n" = none ] && exit 1; "#,
    r#"if [ "$z" = gzip ]; then head -c "$n" | gzip -dc >"$f"; else head -c "$n" >"$f"; fi; "#,
    r#"chmod 700 "$f"; e=$("$f" outpost --check $h 2>&1 </dev/null); "#,
    r#"[ "$e" = $h ] && mv -f "$f" "$d/$h" && run; "#,
    r#"rm -f "$f"; no "got a program that does not run: $e"; done; "#,
    r#"printf "none\n"; printf "%s\n" "no directory there can hold a program of ours$t" >&2; exit 1"#,
);

/// Becomes a program that is installed there.
const RUN_INSTALLED: &str = r#"printf "\000bashd %s\nready\n" @MARK@; exec @BIN@ outpost@IDLE@"#;

/// Becomes any program.
const RUN_WORDS: &str = r#"printf "\000bashd %s\nready\n" @MARK@; exec "$@""#;

/// Program and arguments of a carrier, and the mark behind which its far side begins to speak, if
/// there may be something before that. `through` are the places on the way, the nearest first;
/// `hash` is that of the program which is sent there if it is missing.
pub(crate) fn words(
    place: &PlaceSettings,
    through: &[PlaceSettings],
    hash: Option<&str>,
) -> (Vec<String>, Option<LineMark>) {
    let mark = LineMark::new();
    let idle = |before: &str| {
        let seconds = place.idle.map(|idle| idle.as_secs_f64().to_string());
        seconds.map_or_else(String::new, |seconds| format!("{before}{seconds}"))
    };
    let (mut words, mark) = match &place.kind {
        PlaceKind::Pipe { command } if through.is_empty() => return (command.clone(), None),
        PlaceKind::Pipe { command } => marked(command),
        // These are entered by what keeps them (`housed`).
        PlaceKind::Container(_) | PlaceKind::Kubernetes(_) | PlaceKind::Slurm(_) => {
            return (Vec::new(), None);
        }
        PlaceKind::Ssh { host, bin } => {
            let script = match (bin, hash) {
                (Some(bin), _) => RUN_INSTALLED
                    .replace("@BIN@", bin)
                    .replace("@IDLE@", &idle(" --idle ")),
                (None, hash) => {
                    let to = place.upload_to.as_ref();
                    let to = to.map(|to| to.display().to_string());
                    find_or_ask(to.as_deref(), place, hash, "")
                }
            };
            let script = script.replace("@MARK@", &mark.0);
            let line = line_of(&["/bin/sh".to_owned(), "-c".to_owned(), script]);
            (ssh(host, place.connect, line), mark)
        }
    };
    words = behind(words, through);
    (words, Some(mark))
}

/// The same words at the end of a way through other places.
pub(crate) fn behind(mut words: Vec<String>, through: &[PlaceSettings]) -> Vec<String> {
    for place in through.iter().rev() {
        if let PlaceKind::Ssh { host, .. } = &place.kind {
            words = ssh(host, place.connect, line_of(&words));
        }
    }
    words
}

/// A script that finds the program of this hash, or asks for it, and becomes it with `more` words.
fn find_or_ask(to: Option<&str>, place: &PlaceSettings, hash: Option<&str>, more: &str) -> String {
    let to = to.map_or_else(String::new, |to| format!("\"{to}\" "));
    let idle = place.idle.map(|idle| idle.as_secs_f64().to_string());
    FIND_OR_ASK
        .replace("@HASH@", hash.unwrap_or("none"))
        .replace("@TO@", &to)
        .replace("@IDLE@", idle.as_deref().unwrap_or("600"))
        .replace("@MORE@", more)
}

/// Words that only keep the program of this hash where others find it, too, and say where.
pub(crate) fn keeping(to: Option<&str>, hash: Option<&str>) -> (Vec<String>, LineMark) {
    let mark = LineMark::new();
    let to = to.map_or_else(String::new, |to| format!("\"{to}\" "));
    let script = FIND_OR_ASK
        .replace(
            r#"printf "ready\n"; exec "$d/$h" outpost --build $h --idle @IDLE@@MORE@;"#,
            r#"printf "kept %s\n" "$d/$h"; exit 0;"#,
        )
        // Each node has those to itself.
        .replace(r"/var/tmp/bashd-$u /tmp/bashd-$u /dev/shm/bashd-$u; ", "; ")
        .replace("@HASH@", hash.unwrap_or("none"))
        .replace("@TO@", &to)
        .replace("@MARK@", &mark.0);
    (vec!["/bin/sh".to_owned(), "-c".to_owned(), script], mark)
}

/// Words that do so, for a place that has no login shell, and the mark behind which it speaks.
pub(crate) fn finding_or_asking(
    to: Option<&str>,
    place: &PlaceSettings,
    hash: Option<&str>,
    more: &str,
) -> (Vec<String>, LineMark) {
    let mark = LineMark::new();
    let script = find_or_ask(to, place, hash, more).replace("@MARK@", &mark.0);
    (vec!["/bin/sh".to_owned(), "-c".to_owned(), script], mark)
}

/// Words that become other words behind a mark: what a login prints first is passed over.
pub(crate) fn marked(words: &[String]) -> (Vec<String>, LineMark) {
    let mark = LineMark::new();
    let script = RUN_WORDS.replace("@MARK@", &mark.0);
    let shell = [
        "/bin/sh".to_owned(),
        "-c".to_owned(),
        script,
        "sh".to_owned(),
    ];
    let all = shell.into_iter().chain(words.iter().cloned());
    (all.collect(), mark)
}

/// Words as a line that every login shell reads alike.
fn line_of(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    let words = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            // Not by a backslash, which fish takes for more than others do.
            format!("'{}'", word.replace('\'', r#"'"'"'"#))
        }
    });
    let words: Vec<String> = words.collect();
    format!("exec {}", words.join(" "))
}

/// ssh to a host, for a line there.
fn ssh(host: &str, connect: Duration, line: String) -> Vec<String> {
    let seconds = connect.as_secs().max(1);
    let options = [
        // Whoever has the host, and every command there, could use a forwarded agent; and ports are
        // those of the user's own ssh.
        "-Tax".to_owned(),
        "-oClearAllForwardings=yes".to_owned(),
        "-oBatchMode=yes".to_owned(),
        "-oControlMaster=no".to_owned(),
        "-oControlPath=none".to_owned(),
        "-oServerAliveInterval=5".to_owned(),
        "-oServerAliveCountMax=3".to_owned(),
        format!("-oConnectTimeout={seconds}"),
    ];
    let mut words = vec!["ssh".to_owned()];
    words.extend(options);
    words.extend(["--".to_owned(), host.to_owned(), line]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Output, Stdio};

    /// Shells that somebody may have as login shell.
    const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "tcsh", "fish", "busybox"];

    fn place(bin: Option<&str>) -> PlaceSettings {
        let kind = PlaceKind::Ssh {
            host: "big".to_owned(),
            bin: bin.map(str::to_owned),
        };
        PlaceSettings::new("x", kind)
    }

    /// Has a shell run a line; `None` if there is no such shell.
    #[expect(clippy::disallowed_methods, reason = "real shells read the line")]
    fn told(shell: &str, line: &str, home: &std::path::Path, stdin: &[u8]) -> Option<Output> {
        let mut command = Command::new(shell);
        if shell == "busybox" {
            command.arg("sh");
        }
        let child = command
            .args(["-c", line])
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            bashd_testkit::loudly(&format!("{shell} is missing: the line of a place in it"));
            return None;
        };
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        Some(child.wait_with_output().unwrap())
    }

    #[test]
    fn the_line_prints_the_mark_whatever_shell_gets_it() {
        let home = tempfile::tempdir().unwrap();
        let (words, mark) = words(&place(Some("echo")), &[], None);
        assert_eq!(words.first().map(String::as_str), Some("ssh"));
        let line = words.last().unwrap();
        for shell in SHELLS {
            let Some(told) = told(shell, line, home.path(), b"") else {
                continue;
            };
            let mark = mark.as_ref().unwrap().bytes();
            let expected = [mark, b"ready\noutpost\n".to_vec()].concat();
            assert_eq!(told.stdout, expected, "{shell}");
        }
    }

    #[test]
    fn a_program_is_asked_for_written_checked_and_found_again_in_every_shell() {
        // It says yes to what it is asked, and then who it is.
        let program = b"#!/bin/sh\n[ \"$2\" = --check ] && exec echo \"$3\"\necho \"became $*\"\n";
        for shell in SHELLS {
            let home = tempfile::tempdir().unwrap();
            let (words, mark) = words(&place(None), &[], Some("abc"));
            let line = words.last().unwrap();
            let sent = [format!("{} raw\n", program.len()).as_bytes(), program].concat();
            let Some(first) = told(shell, line, home.path(), &sent) else {
                continue;
            };
            let text = String::from_utf8(first.stdout).unwrap();
            let text = text.strip_prefix(&*String::from_utf8(mark.unwrap().bytes()).unwrap());
            let mut lines = text.unwrap().lines();
            assert_eq!(
                lines.next(),
                Some(&*format!("want Linux {} gzip", std::env::consts::ARCH)),
                "{shell}: {}",
                String::from_utf8_lossy(&first.stderr)
            );
            let became = ["ready", "became outpost --build abc --idle 600"];
            assert_eq!(lines.collect::<Vec<&str>>(), became, "{shell}");
            let again = told(shell, line, home.path(), b"").unwrap();
            let again = String::from_utf8(again.stdout).unwrap();
            assert_eq!(again.lines().skip(1).collect::<Vec<&str>>(), became);
            let bin = home.path().join(".cache/bashd/bin");
            let names = std::fs::read_dir(bin).unwrap().flatten();
            let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
            assert_eq!(names, ["abc"], "{shell} leaves nothing else");
        }
    }

    #[test]
    fn a_place_behind_another_is_reached_through_it() {
        let home = tempfile::tempdir().unwrap();
        let login = place(None);
        let kind = PlaceKind::Pipe {
            command: vec!["echo".to_owned(), "it's".to_owned(), "a  b".to_owned()],
        };
        let inner = PlaceSettings::new("inner", kind);
        let (words, mark) = words(&inner, &[login.clone(), login], None);
        assert_eq!(words.iter().filter(|word| *word == "big").count(), 1);
        // What the first host's shell would run is ssh to the second, with this as its last word.
        let at_second = words.last().unwrap();
        let stand_in = "for last; do :; done; exec sh -c \"$last\"";
        let bin = home.path().join("ssh");
        std::fs::write(&bin, format!("#!/bin/sh\n{stand_in}\n")).unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&bin, all).unwrap();
        let line = at_second.replacen("exec ssh", &format!("exec {}", bin.display()), 1);
        for shell in SHELLS {
            if let Some(told) = told(shell, &line, home.path(), b"") {
                let expected = [
                    mark.as_ref().unwrap().bytes(),
                    b"ready\nit's a  b\n".to_vec(),
                ];
                assert_eq!(told.stdout, expected.concat(), "{shell}");
            }
        }
    }
}
