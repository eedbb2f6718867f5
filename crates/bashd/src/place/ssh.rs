//! A carrier that is ssh: one line for the login shell there, whichever that is.
//!
//! Whatever the login shell, its rc files and the machine print first is passed over: what counts
//! begins behind a mark that nobody else can know. The user's own configuration, agent and known
//! hosts apply; nothing is asked, so what would need an answer fails.

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

/// Program and arguments. The script has no `!` and no backslash that a shell would take, so that
/// tcsh and fish pass it on as it is.
pub(crate) fn words(host: &str, bin: &str, connect: Duration, mark: &LineMark) -> Vec<String> {
    let seconds = connect.as_secs().max(1);
    let number = &mark.0;
    let script = format!(r#"printf "\000bashd %s\n" {number}; exec {bin} outpost"#);
    let options = [
        "-T".to_owned(),
        "-oBatchMode=yes".to_owned(),
        "-oControlMaster=no".to_owned(),
        "-oControlPath=none".to_owned(),
        "-oServerAliveInterval=5".to_owned(),
        "-oServerAliveCountMax=3".to_owned(),
        format!("-oConnectTimeout={seconds}"),
    ];
    let mut words = vec!["ssh".to_owned()];
    words.extend(options);
    words.extend(["--".to_owned(), host.to_owned()]);
    words.push(format!("exec /bin/sh -c '{script}'"));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "real shells read the line")]
    fn the_line_prints_the_mark_whatever_shell_gets_it() {
        let mark = LineMark::new();
        let words = words("big", "echo", Duration::from_secs(20), &mark);
        assert_eq!(words.first().map(String::as_str), Some("ssh"));
        let line = words.last().unwrap();
        for shell in ["sh", "bash", "zsh", "tcsh", "fish"] {
            let Ok(told) = Command::new(shell).arg("-c").arg(line).output() else {
                bashd_testkit::loudly(&format!("{shell} is missing: the line of ssh in it"));
                continue;
            };
            let expected = [mark.bytes(), b"outpost\n".to_vec()].concat();
            assert_eq!(told.stdout, expected, "{shell}");
        }
    }
}
