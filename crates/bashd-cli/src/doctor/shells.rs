//! Which shells exist. Their files are found and read, not started: `doctor` starts no process.

use super::check::DoctorCheck;
use crate::settings::ConfigInForce;
use crate::surroundings;
use bashd::Surroundings;
use bashd::plan::shell_for;
use bashd::rc::{Standing, standing};
use rustix::fs::Access;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Real bash is what commands are written for.
pub(super) fn bash(_settings: &ConfigInForce) -> DoctorCheck {
    match find("bash") {
        Some(path) => {
            let version = bash_version(&path).unwrap_or_else(|| "of unknown version".to_owned());
            let finding = format!("{} {version}", shown(&path));
            DoctorCheck::good("bash", finding, "all profiles except `voice` start it")
        }
        None => DoctorCheck::missing(
            "bash",
            "not in PATH",
            "install bash: most profiles start it",
        ),
    }
}

/// The first shell of the `voice` profile.
pub(super) fn zsh(_settings: &ConfigInForce) -> DoctorCheck {
    match find("zsh") {
        Some(path) => DoctorCheck::good("zsh", shown(&path), "the `voice` profile starts it"),
        None => DoctorCheck::limited(
            "zsh",
            "not in PATH",
            "the `voice` profile starts bash instead",
        ),
    }
}

/// The last resort.
pub(super) fn sh(_settings: &ConfigInForce) -> DoctorCheck {
    match find("sh") {
        Some(path) => DoctorCheck::good(
            "sh",
            shown(&path),
            "the last one that the `voice` profile tries",
        ),
        None => DoctorCheck::limited("sh", "not in PATH", "scripts that need it will fail"),
    }
}

/// What shells load from the user's rc file.
pub(super) fn rc_script(settings: &ConfigInForce) -> DoctorCheck {
    const NAME: &str = "rc script";
    const TAKEN: &str = "shells of `pi` get its aliases, functions, options and PATH";
    const NONE: &str = "shells of `pi` start without your aliases and functions";
    let Some((shell, surroundings)) = shell_of_pi(settings) else {
        return DoctorCheck::limited(NAME, "there is no bash to read it", NONE);
    };
    if shell.file_name() != Some(OsStr::new("bash")) {
        let finding = format!("the shell of `pi` is {}", shell.display());
        return DoctorCheck::limited(NAME, finding, NONE);
    }
    let directory = settings.config.shells_dir();
    match standing(&directory, &shell, &surroundings.variables()) {
        Standing::Ready(path) => DoctorCheck::good(NAME, path.display().to_string(), TAKEN),
        Standing::NotMade => DoctorCheck::good(
            NAME,
            "not created yet",
            "the first server that needs it creates it",
        ),
        Standing::Failed(reason) => {
            DoctorCheck::limited(NAME, format!("~/.bashrc can't be used: {reason}"), NONE)
        }
        _ => DoctorCheck::good(
            NAME,
            "there is no ~/.bashrc",
            "shells of `pi` have nothing to load",
        ),
    }
}

/// The shell that `pi` starts: the configured one, the user's own, or a bash.
fn shell_of_pi(settings: &ConfigInForce) -> Option<(PathBuf, Surroundings)> {
    let surroundings = surroundings::for_commands(None).ok()?;
    let profile = settings.profile("pi").ok()?;
    let shell = shell_for(&profile, &settings.config, &surroundings).ok()?;
    Some((shell.program, surroundings))
}

fn find(name: &str) -> Option<PathBuf> {
    let candidates = surroundings::search_path()
        .into_iter()
        .map(|directory| directory.join(name));
    let is_program =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok();
    candidates.into_iter().find(is_program)
}

/// A path, and where it leads.
fn shown(path: &Path) -> String {
    match path.canonicalize() {
        Ok(real) if real != path => format!("{} -> {}", path.display(), real.display()),
        _ => path.display().to_string(),
    }
}

/// Bash carries its version in a text that begins with this mark, for the program `what`.
fn bash_version(path: &Path) -> Option<String> {
    const MARK: &[u8] = b"@(#)Bash version ";
    let program = std::fs::read(path).ok()?;
    let at = program
        .windows(MARK.len())
        .position(|window| window == MARK)?;
    let rest = program.get(at + MARK.len()..)?;
    let version = rest.split(|byte| *byte == b' ' || *byte == 0).next()?;
    String::from_utf8(version.to_vec()).ok()
}
