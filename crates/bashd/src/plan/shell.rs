//! Which program reads the script: the configured one, the user's own, or the first of the
//! profile's list.

use super::Variables;
use crate::config::{Config, Surroundings};
use crate::error::{Error, ErrorKind, Result};
use crate::near::{is_near, is_near_or_missing};
use crate::profile::Profile;
use crate::profile::rules::{ShellCandidate, ShellChoice};
use rustix::fs::Access;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where programs are looked for when the environment has no `PATH`.
pub(super) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The shell of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// What the shell sees as `$0`'s origin: `argv[0]`.
    pub name: OsString,
    /// Arguments before the script, the last of which takes it (`-c`, `-lc`); or all arguments.
    pub args: Vec<OsString>,
}

/// How long a program is assumed to be the first of its name in `PATH`. A shell that lives on
/// assumes it forever; many calls in a row need not each search the same directories.
const BELIEVED: Duration = Duration::from_secs(1);

/// Most programs that are remembered.
const REMEMBERED: usize = 8;

/// Programs that were found a moment ago. Whether they still exist is checked each time.
#[derive(Default)]
pub(crate) struct Programs(Mutex<Vec<FoundProgram>>);

struct FoundProgram {
    name: String,
    path: Option<OsString>,
    cwd: PathBuf,
    program: PathBuf,
    at: Instant,
}

impl Programs {
    /// A program as the shell would find it.
    pub(super) fn find(&self, name: &str, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
        if name.contains('/') {
            return find_program(name, path, cwd);
        }
        let known = self.known(|one| one.is_of(name, path, cwd));
        if let Some(known) = known.filter(|known| is_executable(known)) {
            return Some(known);
        }
        let program = find_program(name, path, cwd)?;
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < REMEMBERED {
            found.push(FoundProgram {
                name: name.to_owned(),
                path: path.map(OsStr::to_owned),
                cwd: cwd.to_owned(),
                program: program.clone(),
                at: Instant::now(),
            });
        }
        Some(program)
    }

    /// A directory in which a program would be looked for and that may keep whoever looks waiting.
    /// Those behind the first that has the program are not asked.
    pub(super) fn far_directory(
        &self,
        name: &str,
        path: Option<&OsStr>,
        cwd: &Path,
    ) -> Option<PathBuf> {
        let known = self.known(|one| one.is_of(name, path, cwd));
        if known.is_some_and(|known| is_near(&known)) {
            return None;
        }
        for directory in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
            let directory = cwd.join(directory);
            if !is_near_or_missing(&directory) {
                return Some(directory);
            }
            if is_executable(&directory.join(name)) {
                break;
            }
        }
        None
    }

    fn known(&self, is_it: impl Fn(&FoundProgram) -> bool) -> Option<PathBuf> {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|one| one.at.elapsed() < BELIEVED);
        let known = found.iter().find(|one| is_it(one));
        known.map(|known| known.program.clone())
    }
}

impl FoundProgram {
    fn is_of(&self, name: &str, path: Option<&OsStr>, cwd: &Path) -> bool {
        self.name == name && self.path.as_deref() == path && self.cwd == cwd
    }
}

/// Where a program is looked for.
#[derive(Clone, Copy)]
pub(super) struct ProgramSearch<'a> {
    pub(super) programs: &'a Programs,
    pub(super) env: &'a Variables,
    pub(super) cwd: &'a Path,
}

impl ProgramSearch<'_> {
    fn find(self, program: &str) -> Option<PathBuf> {
        self.programs.find(program, self.env.get("PATH"), self.cwd)
    }
}

/// The shell for calls of a profile that do not choose one.
pub fn shell_for(profile: &Profile, config: &Config, surroundings: &Surroundings) -> Result<Shell> {
    let place = ProgramSearch {
        programs: &Programs::default(),
        env: &surroundings.variables(),
        cwd: &surroundings.cwd,
    };
    find(profile, config, surroundings, place)
}

/// The shell of a call.
pub(super) fn find(
    profile: &Profile,
    config: &Config,
    surroundings: &Surroundings,
    place: ProgramSearch<'_>,
) -> Result<Shell> {
    match (profile.shell.choice, config.shell.as_deref()) {
        (ShellChoice::Configurable, Some(program)) => find_configured(program, place),
        (ShellChoice::Configurable, None) | (ShellChoice::Fixed, _) => {
            find_listed(profile, surroundings, place)
        }
    }
}

fn find_configured(program: &str, place: ProgramSearch<'_>) -> Result<Shell> {
    let found = place.find(program).ok_or_else(|| {
        let message = format!("no such shell: {program}");
        Error::new(ErrorKind::ShellConfigured, message).about(program)
    })?;
    Ok(Shell {
        program: found,
        name: program.into(),
        args: vec!["-c".into()],
    })
}

fn find_listed(
    profile: &Profile,
    surroundings: &Surroundings,
    place: ProgramSearch<'_>,
) -> Result<Shell> {
    let find = |program: &str| match program {
        ShellCandidate::OWN => own_shell(surroundings),
        _ => place.find(program),
    };
    profile.shell.first_found(find).ok_or_else(|| {
        let candidates = profile.shell.candidates.iter();
        let names: Vec<_> = candidates.map(|shell| shell.program.as_str()).collect();
        let names = names.join(", ");
        Error::new(ErrorKind::Shell, format!("no such shell: {names}")).about(names)
    })
}

/// The shell that the user's `SHELL` names, if it reads scripts as bash does, or nearly.
fn own_shell(surroundings: &Surroundings) -> Option<PathBuf> {
    let mut variables = surroundings.env.iter();
    let (_, shell) = variables.rfind(|(name, _)| name == "SHELL")?;
    let shell = Path::new(shell);
    let name = shell.file_name()?.to_str()?;
    let is_kin = name.contains("bash") || name.contains("zsh");
    (is_kin && shell.is_absolute() && is_executable(shell)).then(|| shell.to_owned())
}

/// The program itself, if a command runs without a shell.
pub(super) fn none(name: &str, arguments: &[String], place: ProgramSearch<'_>) -> Result<Shell> {
    let program = place.find(name).ok_or_else(|| {
        Error::new(ErrorKind::Shell, format!("no such program: {name}")).about(name)
    })?;
    Ok(Shell {
        program,
        name: name.into(),
        args: arguments.iter().map(Into::into).collect(),
    })
}

/// A bash that reads no startup file before the script.
pub(super) fn plain_bash(place: ProgramSearch<'_>) -> Result<Shell> {
    let found = place.find("bash");
    let program =
        found.ok_or_else(|| Error::new(ErrorKind::Shell, "no such shell: bash").about("bash"))?;
    Ok(Shell {
        program,
        name: "bash".into(),
        args: ["--norc", "--noprofile", "-c"].map(Into::into).to_vec(),
    })
}

/// A program as the shell would find it: by its path, or by name in `PATH`.
fn find_program(program: &str, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(cwd.join(program)).filter(|candidate| is_executable(candidate));
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    std::env::split_paths(path)
        .map(|directory| cwd.join(directory).join(program))
        .find(|candidate| is_executable(candidate))
}

/// What the shell of a call is looked up by, if that is a name.
pub(super) fn looked_up<'a>(profile: &'a Profile, config: &'a Config) -> Option<&'a str> {
    let configured = config.shell.as_deref();
    let is_open = profile.shell.choice == ShellChoice::Configurable;
    let mut listed = profile.shell.candidates.iter();
    let listed = listed.find(|shell| shell.program != ShellCandidate::OWN);
    let listed = listed.map(|shell| shell.program.as_str());
    let name = configured.filter(|_| is_open).or(listed)?;
    (!name.contains('/')).then_some(name)
}

fn is_executable(program: &Path) -> bool {
    rustix::fs::access(program, Access::EXEC_OK).is_ok() && program.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn make(directory: &Path) -> PathBuf {
        let program = directory.join("program");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        program
    }

    #[test]
    fn what_was_found_is_looked_for_again_when_it_is_gone_or_time_has_passed() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = std::env::join_paths([first.path(), second.path()]).unwrap();
        let programs = Programs::default();
        let find = || programs.find("program", Some(&path), Path::new("/"));
        assert_eq!(find(), None, "what is not found is not remembered");
        let later = make(second.path());
        assert_eq!(find(), Some(later.clone()));
        std::fs::remove_file(&later).unwrap();
        assert_eq!(find(), None);
        make(second.path());
        assert_eq!(find(), Some(later));
        // One that comes before it is found once the memory is old.
        let sooner = make(first.path());
        let begun = Instant::now();
        while find() != Some(sooner.clone()) {
            assert!(begun.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(20));
        }
        // Another `PATH` is another question.
        let other = programs.find("program", Some(second.path().as_os_str()), Path::new("/"));
        assert_eq!(other, Some(second.path().join("program")));
    }
}
