//! The line with which a session's shell runs one call, and the frame with which it reports. Pure.
//!
//! bash reads a private pipe as its script, so that its own reader loop is the driver: `break`,
//! `return`, syntax errors and unterminated quotes end a call and nothing else. The line is a
//! *flat* list: inside `if … fi` an unterminated quote would end the reader as well. Nothing is
//! inherited: text, input, output and report are opened by name, in this line only.
//!
//! The loader fails closed: text that cannot be read ends the shell, and since each call has its
//! own variable, which must be set, an old text is never evaluated again. An empty `eval` comes
//! first, so a shell without `eval` ends before it has read anything. Before it evaluates what it
//! has read, the shell empties the text's file (`>|`, which `noclobber` lets through): a text that
//! is still there was never begun. So that no shell empties the file and then lacks descriptors to
//! go on, the loader opens the text as often as the line needs descriptors. Should the shell stop
//! there nevertheless, a variable that is set behind the last redirection (and shows in no trace)
//! tells: without it, a report is no status. The variables' names cannot be guessed, so they never
//! clash with a script's own.
//!
//! What earlier calls defined must not speak for this one. Backslashes keep aliases out, also those
//! of reserved words, of which the line has none. `builtin` keeps functions out; that `builtin` is
//! no function itself is what the loader makes sure of before anything is evaluated.
//!
//! bash keeps what a redirection replaces in descriptors from 10 on, and complains on stderr where
//! the script has closed one of them. So stderr comes last, and is closed before each time that it
//! is opened: thus it is the first to be given back, closed meanwhile, and no complaint about what
//! is ours gets into the output of a call.
//!
//! bash reads a pipe byte by byte: each character of the line costs a system call.

use super::rendezvous::SlotItem;
use crate::variables::RUN_VARIABLE;
use std::fmt::Write;

/// Exit status of a shell that cannot read what it should run.
pub(super) const UNREADABLE: i32 = 125;

/// The function that loads a call's text. It can be neither removed nor replaced.
pub const LOADER: &str = "__bashd_load";

/// What the shell opens for one call, as it reads the names.
#[derive(Debug, Clone)]
pub(super) struct CallNames {
    /// The number in the names, by which the loader finds the text.
    pub(super) slot: u64,
    pub(super) text: String,
    pub(super) stdin: Option<String>,
    pub(super) out: String,
    /// stderr, if it is separate.
    pub(super) err: Option<String>,
    pub(super) report: String,
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

/// The suffix of the names of a call's variables.
fn suffix(mark: Mark) -> String {
    format!("{:x}", mark.nonce & 0xffff_ffff)
}

/// Defines the loader; `prefix` is what the names of texts begin with. Its arguments are the suffix
/// of the call's variables, its slot, and `FUNCNEST` as it was. The text's file has the run's id,
/// which its commands find in their environment, and the text.
///
/// One function is being called here, and no second one may be: so `builtin` is the builtin, or the
/// line ends with an error. That holds if `FUNCNEST` is an ordinary variable: then `${!FUNCNEST}`
/// is the first argument.
pub(super) fn loader(prefix: &str) -> String {
    let file = format!("{prefix}\"$2\"{}", SlotItem::Text.letter());
    format!(
        "{LOADER}() {{ FUNCNEST=1; [[ ${{FUNCNEST@a}} =~ ^x?$ && ${{!FUNCNEST}} = \"$1\" ]] || FUNCNEST=$((1/0)); \
         {{ \\builtin command eval && IFS= \\builtin read -r -d '' {RUN_VARIABLE} && IFS= \\builtin read -r -d '' \"B$1\"; }} \
         <{file} <{file} <{file} || \\builtin exit {UNREADABLE}; \
         [[ ${RUN_VARIABLE} ]] && \\builtin export {RUN_VARIABLE} || \\builtin unset -v {RUN_VARIABLE}; \
         [[ $3 ]] && FUNCNEST=$3 || \\builtin unset -v FUNCNEST; }}; readonly -f {LOADER}\n"
    )
}

/// What reads a call's text.
fn load(slot: u64, mark: Mark) -> String {
    format!("\\{LOADER} {} {slot} \"${{FUNCNEST-}}\";", suffix(mark))
}

/// The line for one call.
pub(super) fn line(names: &CallNames, mark: Mark, directory: DirectoryAfter) -> String {
    let load = load(names.slot, mark);
    line_behind(&load, names, mark, directory)
}

/// The line for a shell's first call, and the script that it begins with: the shell's setup, and
/// what loads the call. bash reads a file in one go. `script` is how the shell names it.
pub(super) fn first_line(
    opening: &[u8],
    script: &str,
    names: &CallNames,
    mark: Mark,
    directory: DirectoryAfter,
) -> (Vec<u8>, String) {
    let load = load(names.slot, mark);
    let text = [opening, load.as_bytes(), b"\n"].concat();
    let source = format!(". {script};");
    (text, line_behind(&source, names, mark, directory))
}

/// The line for one call, after the part that loads its text.
fn line_behind(load: &str, names: &CallNames, mark: Mark, directory: DirectoryAfter) -> String {
    let Mark { number, nonce } = mark;
    let own = suffix(mark);
    let CallNames {
        text, out, report, ..
    } = names;
    let stdin = names.stdin.as_deref().unwrap_or("/dev/null");
    let err = names.err.as_deref().unwrap_or("&1");
    let mut line = String::with_capacity(256);
    line.push_str(load);
    // Writing to a string can't fail.
    if directory == DirectoryAfter::Returns {
        let _ = write!(line, "P{own}=${{PWD-}} O{own}=${{OLDPWD-}};");
    }
    let _ = write!(
        line,
        "\\builtin eval \"${{B{own}?}}\" >{out} 0<{stdin} 2>&- 2>|{text} 2>&- 2>{err} 0<&0${{E{own}=}};\
         \\builtin echo \"$? {number} {nonce:x}${{E{own}+.}}\" >{report};\\builtin unset -v B{own} E{own}",
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
    fn a_line_is_one_flat_list_without_words_that_an_alias_can_replace() {
        let names = CallNames {
            slot: 3,
            text: "/d/3t".to_owned(),
            stdin: Some("/d/3i".to_owned()),
            out: "/d/3o".to_owned(),
            err: Some("/d/3e".to_owned()),
            report: "/d/3r".to_owned(),
        };
        let line = line(&names, MARK, DirectoryAfter::Stays);
        assert_eq!(
            line,
            "\\__bashd_load abc 3 \"${FUNCNEST-}\";\
             \\builtin eval \"${Babc?}\" >/d/3o 0</d/3i 2>&- 2>|/d/3t 2>&- 2>/d/3e 0<&0${Eabc=};\
             \\builtin echo \"$? 7 abc${Eabc+.}\" >/d/3r;\\builtin unset -v Babc Eabc\n"
        );
        let (script, first) = first_line(b"cd /\n", "/d/3s", &names, MARK, DirectoryAfter::Stays);
        let script = String::from_utf8(script).unwrap();
        let (load, rest) = line.split_at(line.find(r"\builtin").unwrap());
        assert_eq!(script, format!("cd /\n{load}\n"));
        assert_eq!(first, format!(". /d/3s;{rest}"));
    }
}
