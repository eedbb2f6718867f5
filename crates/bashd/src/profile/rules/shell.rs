//! Which shell runs a profile's commands.

use crate::plan::Shell;
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Which shell runs the command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ShellRules {
    /// Whether the shell loads what the user's rc file sets up.
    #[serde(default, rename = "snapshot")]
    pub rc_script: bool,
    /// Whether already started shells may be used.
    #[serde(default, rename = "warm")]
    pub started: bool,
    /// Whether the configured `shell` may replace the candidates.
    pub choice: ShellChoice,
    /// Program and arguments before the script; the first that exists on this machine is used.
    pub candidates: Vec<ShellCandidate>,
}

/// Who chooses the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellChoice {
    /// The profile alone, because its document names the shell.
    Fixed,
    /// The configuration, if it names one.
    Configurable,
}

/// A shell as the start of an argument list: `["/bin/bash", "-lc"]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct ShellCandidate {
    /// An absolute path, or a name to look up in `PATH`; `$SHELL` is the user's own, if it is
    /// similar to bash.
    pub program: String,
    /// What comes between the program and the script.
    pub args: Vec<String>,
}

impl ShellCandidate {
    /// The placeholder for the user's own shell.
    pub(crate) const OWN: &'static str = "$SHELL";

    /// The shell's `argv[0]`: its own name if the list has only a placeholder for it.
    fn name_of(&self, program: &Path) -> OsString {
        match (&*self.program, program.file_name()) {
            (Self::OWN, Some(name)) => name.to_owned(),
            (name, _) => name.into(),
        }
    }
}

impl TryFrom<Vec<String>> for ShellCandidate {
    type Error = &'static str;

    fn try_from(argv: Vec<String>) -> Result<Self, Self::Error> {
        let mut argv = argv.into_iter();
        let program = argv
            .next()
            .filter(|program| !program.is_empty())
            .ok_or("a shell needs a program")?;
        Ok(Self {
            program,
            args: argv.collect(),
        })
    }
}

impl ShellRules {
    /// The first candidate that `find` can resolve to a program.
    pub fn first_found(&self, find: impl Fn(&str) -> Option<PathBuf>) -> Option<Shell> {
        self.candidates.iter().find_map(|candidate| {
            let program = find(&candidate.program)?;
            Some(Shell {
                name: candidate.name_of(&program),
                program,
                args: candidate.args.iter().map(Into::into).collect(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    /// The argument list that `name` starts on a machine that has only these programs.
    fn shell_where(name: &str, present: &[&str]) -> Option<(String, Vec<String>)> {
        let profile = Profile::builtin(name).unwrap().unwrap();
        let find = |program: &str| {
            let mut paths = present.iter().map(PathBuf::from);
            paths.find(|path| {
                path.as_os_str() == program || path.file_name() == Some(program.as_ref())
            })
        };
        let shell = profile.shell.first_found(find)?;
        let args = shell
            .args
            .iter()
            .map(|arg| arg.to_str().unwrap().to_owned());
        Some((shell.program.to_str().unwrap().to_owned(), args.collect()))
    }

    #[test]
    fn v_10_zsh_then_login_bash_then_sh() {
        let all = ["/bin/zsh", "/bin/bash", "/usr/bin/sh"];
        let expected = [
            ("/bin/zsh", "-c"),
            ("/bin/bash", "-lc"),
            ("/usr/bin/sh", "-c"),
        ];
        for (missing, (program, flag)) in expected.into_iter().enumerate() {
            let found = shell_where("voice", &all[missing..]);
            assert_eq!(found, Some((program.to_owned(), vec![flag.to_owned()])));
        }
        assert_eq!(shell_where("voice", &[]), None);
    }

    #[test]
    fn m_05_exactly_bin_bash() {
        let expected = ("/bin/bash".to_owned(), vec!["-c".to_owned()]);
        assert_eq!(shell_where("harness", &["/bin/bash"]), Some(expected));
        assert_eq!(shell_where("harness", &["/usr/local/bin/bash"]), None);
    }

    #[test]
    fn p_09_bash_from_the_path() {
        let expected = ("/opt/bin/bash".to_owned(), vec!["-c".to_owned()]);
        assert_eq!(shell_where("phoenix", &["/opt/bin/bash"]), Some(expected));
    }

    #[test]
    fn only_default_and_pi_let_the_configuration_choose() {
        for name in Profile::names() {
            let choice = Profile::builtin(name).unwrap().unwrap().shell.choice;
            assert_eq!(
                choice == ShellChoice::Configurable,
                ["default", "pi"].contains(&name),
                "{name}"
            );
        }
    }
}
