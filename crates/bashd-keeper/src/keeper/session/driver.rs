//! The line with which a session's shell runs one call, and the frame with which it reports. Pure.
//!
//! bash reads a private pipe as its script, so that its own reader loop is the driver: `break`,
//! `return`, syntax errors and unterminated quotes end a call and nothing else. The line is a
//! *flat* list: inside `if … fi` an unterminated quote would end the reader as well. Nothing is
//! inherited: text, input, output and report are opened by path, in this line only. The loader
//! fails closed: text that cannot be read ends the shell, and since each call has its own variable,
//! which must be set, an old text is never evaluated again. An empty `eval` comes first, so a shell
//! without `eval` ends before it has read anything. Once everything is open, the shell empties the
//! text's file (`>|`, which `noclobber` lets through) and evaluates what it has read: a text that
//! is still there was never begun. A shell that runs out of descriptors may empty the file and go
//! no further; a variable that is set together with the evaluation (and shows in no trace) tells
//! these apart: without it, a report has no status. The variables' names cannot be guessed, so they
//! never clash with a script's own. Backslashes keep aliases out, `builtin` functions.
//!
//! bash reads a pipe byte by byte: each character of the line costs a system call.

use std::fmt::Write;

/// Exit status of a shell that cannot read what it should run.
pub(super) const UNREADABLE: i32 = 125;

/// The descriptors of one call, by number in this keeper.
#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptors {
    pub(super) text: i32,
    pub(super) stdin: Option<i32>,
    pub(super) out: i32,
    /// stderr, if it is separate.
    pub(super) err: Option<i32>,
    pub(super) report: i32,
}

/// Distinguishes the reports of two calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) number: u64,
    pub(super) nonce: u64,
}

/// Whether the shell stays in the directory in which a call leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectoryAfter {
    /// It stays, as in any shell.
    Stays,
    /// It goes back to where it was before the call.
    Returns,
}

/// This process, as the shell finds its descriptors.
pub(super) fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// A descriptor of the keeper, as the shell opens it.
fn path(keeper: i32, fd: i32) -> String {
    format!("/proc/{keeper}/fd/{fd}")
}

/// The suffix of the names of a call's variables.
fn suffix(mark: Mark) -> String {
    format!("{:x}", mark.nonce & 0xffff_ffff)
}

/// What reads a call's text.
fn load(keeper: i32, text: i32, mark: Mark) -> String {
    let (text, own) = (path(keeper, text), suffix(mark));
    format!(
        "\\builtin command eval&&IFS= \\builtin read -r -d '' B{own} <{text}||\\builtin exit {UNREADABLE};"
    )
}

/// The line for one call; `keeper` is the process whose descriptors these are.
pub(super) fn line(keeper: i32, fds: Descriptors, mark: Mark, directory: DirectoryAfter) -> String {
    let load = load(keeper, fds.text, mark);
    line_behind(&load, keeper, fds, mark, directory)
}

/// The line for a shell's first call, and the script that it begins with: the shell's setup, and
/// the code that loads the call. bash reads a file in one go.
pub(super) fn first_line(
    opening: &[u8],
    keeper: i32,
    fds: Descriptors,
    mark: Mark,
    directory: DirectoryAfter,
) -> (Vec<u8>, impl FnOnce(i32) -> String) {
    let load = load(keeper, fds.text, mark);
    let script = [opening, load.as_bytes(), b"\n"].concat();
    let line = move |script: i32| {
        let source = format!(". {};", path(keeper, script));
        line_behind(&source, keeper, fds, mark, directory)
    };
    (script, line)
}

/// The line for one call, after the part that loads its text.
fn line_behind(
    load: &str,
    keeper: i32,
    fds: Descriptors,
    mark: Mark,
    directory: DirectoryAfter,
) -> String {
    let Mark { number, nonce } = mark;
    let own = suffix(mark);
    let path = |fd: i32| path(keeper, fd);
    let stdin = fds.stdin.map_or_else(|| "/dev/null".to_owned(), path);
    let err = fds.err.map_or_else(|| "&1".to_owned(), path);
    let mut line = String::with_capacity(256);
    line.push_str(load);
    // Writing to a string can't fail.
    if directory == DirectoryAfter::Returns {
        let _ = write!(line, "P{own}=${{PWD-}} O{own}=${{OLDPWD-}};");
    }
    let _ = write!(
        line,
        "{{ >|{}&&\\builtin eval \"${{B{own}?}}${{E{own}=}}\";}} <{stdin} >{} 2>{err};\
         \\builtin echo \"$? {number} {nonce:x}${{E{own}+.}}\" >{};\\builtin unset -v B{own} E{own}",
        path(fds.text),
        path(fds.out),
        path(fds.report),
    );
    if directory == DirectoryAfter::Returns {
        let _ = write!(
            line,
            ";\\builtin cd -- \"$P{own}\";OLDPWD=$O{own};\\builtin unset -v P{own} O{own}",
        );
    }
    line.push('\n');
    line
}

/// What was read as a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellReport {
    /// Not all of it yet.
    Unfinished,
    /// The call ended with this status.
    Status(i32),
    /// The shell did not evaluate the text, as far as it knows.
    NotBegun,
    /// Not what this call's shell would say: none of it can be trusted.
    Broken,
}

/// Reads a report: exactly one frame with this call's mark.
pub(super) fn read_report(bytes: &[u8], mark: Mark) -> ShellReport {
    /// A status, a number and a nonce are shorter than this.
    const LONGEST: usize = 64;
    let Some(frame) = bytes.strip_suffix(b"\n") else {
        return if bytes.len() < LONGEST && !bytes.contains(&b'\n') {
            ShellReport::Unfinished
        } else {
            ShellReport::Broken
        };
    };
    let Some((status, rest)) = std::str::from_utf8(frame)
        .ok()
        .and_then(|frame| frame.split_once(' '))
    else {
        return ShellReport::Broken;
    };
    let expected = format!("{} {:x}", mark.number, mark.nonce);
    match (status.parse(), rest.strip_prefix(&*expected)) {
        (Ok(status @ 0..=255), Some(".")) => ShellReport::Status(status),
        (Ok(0..=255), Some("")) => ShellReport::NotBegun,
        _ => ShellReport::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark {
        number: 7,
        nonce: 0xabc,
    };

    #[test]
    fn a_report_is_exactly_one_frame_of_this_call() {
        for (bytes, expected) in [
            (&b""[..], ShellReport::Unfinished),
            (b"0 7 ab", ShellReport::Unfinished),
            (b"0 7 abc.\n", ShellReport::Status(0)),
            (b"137 7 abc.\n", ShellReport::Status(137)),
            (b"1 7 abc\n", ShellReport::NotBegun),
            (b"1 6 abc\n", ShellReport::Broken),
            (b"0 6 abc.\n", ShellReport::Broken),
            (b"0 7 abd.\n", ShellReport::Broken),
            (b"0 7 abc.\n0 7 abc.\n", ShellReport::Broken),
            (b"0 7 abc.\n0 7", ShellReport::Broken),
            (b"256 7 abc.\n", ShellReport::Broken),
            (b"-1 7 abc.\n", ShellReport::Broken),
            (b"\n", ShellReport::Broken),
            (b"\xff\n", ShellReport::Broken),
            (&[b'0'; 64], ShellReport::Broken),
        ] {
            assert_eq!(read_report(bytes, MARK), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_line_is_one_flat_list() {
        let fds = Descriptors {
            text: 3,
            stdin: Some(4),
            out: 5,
            err: Some(6),
            report: 7,
        };
        let line = line(42, fds, MARK, DirectoryAfter::Stays);
        assert_eq!(
            line,
            "\\builtin command eval&&IFS= \\builtin read -r -d '' Babc </proc/42/fd/3||\\builtin exit 125;\
             { >|/proc/42/fd/3&&\\builtin eval \"${Babc?}${Eabc=}\";} </proc/42/fd/4 >/proc/42/fd/5 2>/proc/42/fd/6;\
             \\builtin echo \"$? 7 abc${Eabc+.}\" >/proc/42/fd/7;\\builtin unset -v Babc Eabc\n"
        );
        let (script, first) = first_line(b"cd /\n", 42, fds, MARK, DirectoryAfter::Stays);
        let script = String::from_utf8(script).unwrap();
        let (load, rest) = line.split_at(line.find('{').unwrap());
        assert_eq!(script, format!("cd /\n{load}\n"));
        assert_eq!(first(8), format!(". /proc/42/fd/8;{rest}"));
    }
}
