//! A script that calls a single program, and a shell that may become it.
//!
//! `bash -c /bin/true` does not start the program, it becomes it. A shell that has sourced an rc
//! script evaluates its script, and would fork first, which takes a third of a millisecond and
//! shows in `SHLVL`, and when a signal ends the program. So it is told to `exec` where nothing that
//! the rc script set up could have a say in what the name means.

use super::resolve::Setting;
use super::{OneProgram, Plan};
use crate::rewrite::Command;
use crate::script::ScriptShape;
use rustix::fs::{Access, Mode, OFlags};

/// The first bytes of a program that the kernel starts itself, without an interpreter that may be
/// missing.
const ELF: &[u8] = b"\x7fELF";

/// Options with which a shell shows what it evaluates.
const TELLING: [&str; 2] = ["set -o xtrace", "set -o verbose"];

impl Plan {
    /// Has a shell that sources this rc script become its program, if the script leaves that alone.
    pub(super) fn become_program(&mut self, rc_script: &[u8]) {
        // Anything else that a shell sources may have set a trap.
        let is_sourced_alone = self.env.get("BASH_ENV").is_none();
        if let Some(program) = &mut self.program {
            let path = &program.path;
            program.replaces_shell =
                is_sourced_alone && leaves_alone(rc_script, path) && is_elf(path);
        }
    }
}

/// The program that a script calls, if the script is just the command that was judged.
pub(super) fn of(
    setting: Setting<'_>,
    command: &Command,
    script: Option<&str>,
) -> Option<OneProgram> {
    let is_one = setting.shape == ScriptShape::OneProgram;
    let script = script.filter(|script| is_one && *script == command.to_run)?;
    let path = program_of(script)?.to_owned();
    let replaces_shell = false;
    Some(OneProgram {
        path,
        replaces_shell,
    })
}

/// The program that a simple command calls by its full path, spelled in characters that mean
/// nothing to a shell.
fn program_of(script: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte);
    let length = script.bytes().take_while(|&byte| is_plain(byte)).count();
    let (program, rest) = script.split_at_checked(length)?;
    let ends = rest.is_empty() || rest.starts_with([' ', '\n']);
    (ends && program.starts_with('/')).then_some(program)
}

/// Whether neither a function nor an alias can have this name, and nobody could see how it was
/// called.
fn leaves_alone(rc_script: &[u8], program: &str) -> bool {
    let mut troubling = TELLING.into_iter().chain([program]);
    !troubling.any(|text| memchr::memmem::find(rc_script, text.as_bytes()).is_some())
}

/// Whether the kernel will start it.
fn is_elf(program: &str) -> bool {
    let begins = |path: &str| -> rustix::io::Result<bool> {
        rustix::fs::access(path, Access::EXEC_OK)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        let mut beginning = [0; ELF.len()];
        rustix::io::read(&file, &mut beginning)?;
        Ok(beginning == ELF)
    };
    begins(program).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_by_its_whole_path() {
        for (script, program) in [
            ("/bin/true", Some("/bin/true")),
            ("/bin/ls -l 'a b' > x", Some("/bin/ls")),
            ("/usr/bin/g++ x\n", Some("/usr/bin/g++")),
            ("true", None),
            ("./true", None),
            (" /bin/true", None),
            ("/bin/t$x", None),
            ("/bin/t'r'ue", None),
            ("/bin/*", None),
            ("/bin/true;", None),
            ("/bin/true&", None),
            ("x=1 /bin/true", None),
            ("", None),
        ] {
            assert_eq!(program_of(script), program, "{script}");
        }
    }

    #[test]
    fn a_snapshot_that_names_a_program_has_a_say_in_it() {
        for (rc_script, is_alone) in [
            ("alias ll='ls -l'\n", true),
            ("/bin/true () \n{ \n    echo mine\n}\n", false),
            ("set -o pipefail\n", true),
            ("set -o xtrace\n", false),
            ("set -o verbose\n", false),
        ] {
            let found = leaves_alone(rc_script.as_bytes(), "/bin/true");
            assert_eq!(found, is_alone, "{rc_script}");
        }
    }

    #[test]
    fn what_needs_an_interpreter_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let script = script.to_str().unwrap();
        assert!(is_elf("/bin/sh"));
        for other in [script, "/bin", "/no/such", "/etc/passwd", "/dev/null"] {
            assert!(!is_elf(other), "{other}");
        }
    }
}
