//! What a draft looks at because its call says so, and whether that answers at once.

use super::confinement;
use super::directory;
use super::environment;
use super::resolve::{Setting, cd_of_the_shell};
use super::shell;
use crate::config::Preset;
use crate::guard::safe_mode::{RunForm, StepWord};
use crate::near::{is_near, is_near_or_missing};
use crate::profile::Profile;
use crate::request::Request;
use crate::rewrite::Command;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A place that a draft would go to and that may keep it waiting, if there is one.
pub(crate) fn far_place(
    profile: &Profile,
    request: &Request,
    command: &Command,
    setting: Setting<'_>,
) -> Option<PathBuf> {
    let Setting {
        config,
        surroundings,
        ..
    } = setting;
    let home = environment::home(request, surroundings);
    let is_of_shell = !cd_of_the_shell(profile, config, request, command).is_empty();
    let cd = command.leading_cd.as_ref();
    let lifted = cd.filter(|_| !is_of_shell);
    let here = (setting.state).map_or(&surroundings.cwd, |state| &state.directory);
    let wanted = directory::wanted(profile, request, lifted, (&surroundings.cwd, here), home);
    let cwd = wanted.path;
    if !is_near(&cwd) {
        return Some(cwd);
    }
    if let Some(far) = far_workspace(profile, request, setting, &cwd) {
        return Some(far);
    }
    let entered = cd.filter(|_| is_of_shell);
    let entered = entered.map(|cd| cwd.join(&*cd.directory));
    if let Some(far) = entered.filter(|path| !is_near_or_missing(path)) {
        return Some(far);
    }
    let own = request.env.iter().rfind(|(name, _)| name == "PATH");
    let far = match own {
        Some((_, path)) => far_directory_of_programs(path, &cwd),
        None => far_directory_of_shell(profile, setting, &cwd),
    };
    if far.is_some() {
        return far;
    }
    match setting.form {
        RunForm::AsWritten => None,
        RunForm::Program { name, .. } => {
            let path = name.contains('/').then(|| cwd.join(name));
            path.filter(|path| !is_near_or_missing(path))
        }
        // What patterns match is known only where they lead.
        RunForm::Steps(steps) => {
            let mut words = steps.iter().flat_map(|step| &step.words);
            let has_pattern = words.any(|word| matches!(word, StepWord::Pattern(_)));
            has_pattern.then_some(cwd)
        }
    }
}

/// The workspace of a confined call, if that is somewhere else than where it runs, and not near.
fn far_workspace(
    profile: &Profile,
    request: &Request,
    setting: Setting<'_>,
    cwd: &Path,
) -> Option<PathBuf> {
    let config = setting.config;
    let workspace = config.confinement.workspace.as_ref();
    let workspace = workspace.unwrap_or(&setting.surroundings.cwd);
    if workspace == cwd || is_near_or_missing(workspace) {
        return None;
    }
    let preset = confinement::preset(profile, config, request).ok()?;
    (preset != Preset::Off).then(|| workspace.clone())
}

/// A directory of the call's own `PATH` that is far.
fn far_directory_of_programs(path: &OsStr, cwd: &Path) -> Option<PathBuf> {
    let mut directories = std::env::split_paths(path).map(|directory| cwd.join(directory));
    directories.find(|directory| !is_near_or_missing(directory))
}

/// A directory of everybody's `PATH` that is far, and in which the shell would be looked for.
fn far_directory_of_shell(profile: &Profile, setting: Setting<'_>, cwd: &Path) -> Option<PathBuf> {
    let name = match setting.form {
        RunForm::Program { name, .. } => name.as_str(),
        RunForm::AsWritten | RunForm::Steps(_) => shell::looked_up(profile, setting.config)?,
    };
    let mut variables = setting.surroundings.env.iter();
    let path = variables.rfind(|(name, _)| name == "PATH");
    let path = path.map(|(_, path)| &**path);
    setting.programs.far_directory(name, path, cwd)
}
