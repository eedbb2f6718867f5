//! The environment of a run: what is inherited, what the profile sets, what the call sets.

use super::shell::{Programs, Shell};
use crate::config::Surroundings;
use crate::profile::Profile;
use crate::request::Request;
use crate::run_id::RunId;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variable by which a command learns the id of its run, in profiles that say so.
pub(crate) const RUN_VARIABLE: &str = "BASHD_RUN";

/// The surroundings' variables, the profile's over them, the call's own over all.
pub(super) fn of(
    profile: &Profile,
    request: &Request,
    surroundings: &Surroundings,
    programs: &Programs,
    id: &RunId,
) -> Vec<(OsString, OsString)> {
    if request.by.is_person() {
        let run = (RUN_VARIABLE.into(), id.as_str().into());
        let own = surroundings.env.iter().cloned().chain([run]);
        return last_of_each(own.chain(request.env.iter().cloned()));
    }
    let rules = &profile.environment;
    let inherited = surroundings.env.iter().cloned();
    let inherited = inherited.filter(|(name, _)| rules.inherits(name));
    let run = rules.run_variable.then_some((RUN_VARIABLE, id.as_str()));
    let set = rules.set.iter().map(|(name, value)| (&**name, &**value));
    let of_profile = set
        .chain(run)
        .map(|(name, value)| (name.into(), value.into()));
    let to_programs = rules
        .set_to_program
        .iter()
        .filter_map(|(name, candidates)| {
            let find = |program: &String| programs.find(program, None, &surroundings.cwd);
            Some((
                name.into(),
                candidates.iter().find_map(find)?.into_os_string(),
            ))
        });
    last_of_each(
        inherited
            .chain(of_profile)
            .chain(to_programs)
            .chain(request.env.iter().cloned()),
    )
}

/// Of several variables with one name the last, at its place.
fn last_of_each(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let variables: Vec<_> = variables.collect();
    let mut seen = HashSet::with_capacity(variables.len());
    let is_last = variables
        .iter()
        .rev()
        .map(|(name, _)| seen.insert(name))
        .collect::<Vec<_>>();
    let mut is_last = is_last.into_iter().rev();
    variables
        .into_iter()
        .filter(|_| is_last.next() == Some(true))
        .collect()
}

/// Has `SHELL` name the program that runs the command, unless the call says otherwise.
pub(super) fn tell_shell(env: &mut Vec<(OsString, OsString)>, request: &Request, shell: &Shell) {
    if request.env.iter().all(|(name, _)| name != "SHELL") {
        env.retain(|(name, _)| name != "SHELL");
        env.push(("SHELL".into(), shell.program.clone().into_os_string()));
    }
}

/// Has `PWD` and `OLDPWD` say what they would after a `cd` in the shell. Bash believes them if they fit.
pub(super) fn tell_directories(env: &mut Vec<(OsString, OsString)>, now: &Path, before: &Path) {
    env.retain(|(name, _)| name != "PWD" && name != "OLDPWD");
    env.push(("PWD".into(), now.into()));
    env.push(("OLDPWD".into(), before.into()));
}

/// What `~` stands for.
pub(super) fn home<'a>(request: &'a Request, surroundings: &'a Surroundings) -> Option<&'a Path> {
    let mut variables = request
        .env
        .iter()
        .rev()
        .chain(surroundings.env.iter().rev());
    let (_, home) = variables.find(|(name, _)| name == "HOME")?;
    Some(Path::new(home)).filter(|home| !home.as_os_str().is_empty())
}

/// Whether bash would run code, or read the script differently, because of this variable.
pub(super) fn slips_code_past_the_guard(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    matches!(name, b"BASH_ENV" | b"ENV" | b"SHELLOPTS") || name.starts_with(b"BASH_FUNC_")
}
