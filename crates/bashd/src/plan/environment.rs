//! The environment of a run: what is inherited, what the profile sets, what the call sets.

use super::shell::{Programs, Shell};
use crate::config::Surroundings;
use crate::profile::Profile;
use crate::request::Request;
use crate::run_id::RunId;
use bashd_keeper::variables::Variables;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use bashd_keeper::variables::RUN_VARIABLE;

/// The variable that names the shell, in profiles that say so.
const SHELL_VARIABLE: &str = "SHELL";

/// How long inherited variables are assumed to stay the same. Only programs that variables name can
/// change, and those are assumed to stay for as long.
const BELIEVED: Duration = Duration::from_secs(1);

/// What the calls of each profile inherit, which is the same for all of them.
#[derive(Default)]
pub(crate) struct Inheritance(Mutex<Vec<Inherited>>);

/// What the shells of sessions start with.
struct SessionVariables {
    program: PathBuf,
    is_confined: bool,
    env: Arc<Variables>,
}

struct Inherited {
    profile: Arc<Profile>,
    at: Instant,
    by_calls: Arc<Variables>,
    /// Likewise for the shell of a session.
    by_sessions: Option<SessionVariables>,
}

impl Inheritance {
    /// The surroundings' variables, overridden by the profile's.
    fn by_calls(&self, origin: InheritanceSource<'_>) -> Arc<Variables> {
        self.of(origin, |inherited| Arc::clone(&inherited.by_calls))
    }

    /// What a session's shell starts with: nothing that belongs to one call.
    pub(super) fn by_sessions(
        &self,
        origin: InheritanceSource<'_>,
        (shell, is_confined): (&Shell, bool),
        is_kept_out: impl Fn(&OsStr, &OsStr) -> bool,
    ) -> Arc<Variables> {
        self.of(origin, |inherited| match &inherited.by_sessions {
            Some(known) if known.program == shell.program && known.is_confined == is_confined => {
                Arc::clone(&known.env)
            }
            _ => {
                let mut env = Variables::clone(&inherited.by_calls);
                if inherited.profile.environment.shell_variable {
                    env.set(SHELL_VARIABLE, &shell.program);
                }
                env.retain(|name, value| !is_kept_out(name, value));
                let env = Arc::new(env);
                inherited.by_sessions = Some(SessionVariables {
                    program: shell.program.clone(),
                    is_confined,
                    env: Arc::clone(&env),
                });
                env
            }
        })
    }

    fn of<T>(&self, origin: InheritanceSource<'_>, tell: impl FnOnce(&mut Inherited) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.at.elapsed() < BELIEVED);
        let is_it = |one: &Inherited| Arc::ptr_eq(&one.profile, origin.profile);
        if let Some(known) = all.iter_mut().find(|one| is_it(one)) {
            return tell(known);
        }
        let mut made = Inherited {
            profile: Arc::clone(origin.profile),
            at: Instant::now(),
            by_calls: Arc::new(origin.inherited()),
            by_sessions: None,
        };
        let told = tell(&mut made);
        all.push(made);
        told
    }
}

/// Where inherited variables come from.
#[derive(Clone, Copy)]
pub(super) struct InheritanceSource<'a> {
    pub(super) profile: &'a Arc<Profile>,
    pub(super) surroundings: &'a Surroundings,
    pub(super) programs: &'a Programs,
    pub(super) is_guarded: bool,
}

impl InheritanceSource<'_> {
    fn inherited(self) -> Variables {
        let rules = &self.profile.environment;
        let mut env = self.surroundings.variables();
        env.retain(|name, _| rules.inherits(name));
        env.extend(&rules.set);
        for (name, candidates) in &rules.set_to_program {
            let find = |program: &String| {
                let cwd = &self.surroundings.cwd;
                self.programs.find(program, None, cwd)
            };
            if let Some(program) = candidates.iter().find_map(find) {
                env.set(name, program);
            }
        }
        if self.is_guarded {
            env.retain(|name, _| !slips_code_past_the_guard(name));
        }
        env
    }
}

/// What a call inherits, overridden by its own variables.
pub(super) fn of(
    inheritance: &Inheritance,
    origin: InheritanceSource<'_>,
    request: &Request,
    id: &RunId,
) -> Variables {
    let is_person = request.by.is_person();
    let mut env = if is_person {
        origin.surroundings.variables()
    } else {
        Variables::clone(&inheritance.by_calls(origin))
    };
    if is_person || origin.profile.environment.run_variable {
        env.set(RUN_VARIABLE, id.as_str());
    }
    env.extend(request.env.iter().map(|(name, value)| (name, value)));
    env
}

/// Has `SHELL` name the program that runs the command, unless the call says otherwise.
pub(super) fn tell_shell(env: &mut Variables, request: &Request, shell: &Shell) {
    if request.env.iter().all(|(name, _)| name != SHELL_VARIABLE) {
        env.set(SHELL_VARIABLE, &shell.program);
    }
}

/// Sets `PWD` and `OLDPWD` as after a `cd` in the shell. Bash trusts them if they fit.
pub(super) fn tell_directories(env: &mut Variables, now: &Path, before: &Path) {
    env.set("PWD", now);
    env.set("OLDPWD", before);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str) -> Arc<Profile> {
        Arc::new(Profile::builtin(name).unwrap().unwrap())
    }

    fn surroundings() -> Surroundings {
        let env = [("CI", "theirs"), ("BASH_ENV", "/tmp/code"), ("KEPT", "1")];
        Surroundings {
            cwd: "/".into(),
            env: env.map(|(name, value)| (name.into(), value.into())).into(),
        }
    }

    #[test]
    fn what_is_inherited_is_made_once_a_second_for_each_profile() {
        let (surroundings, programs) = (surroundings(), Programs::default());
        let (pi, phoenix) = (profile("pi"), profile("phoenix"));
        let origin = |profile| InheritanceSource {
            profile,
            surroundings: &surroundings,
            programs: &programs,
            is_guarded: false,
        };
        let inheritance = Inheritance::default();
        let of_pi = inheritance.by_calls(origin(&pi));
        assert_eq!(of_pi.get("CI"), Some(OsStr::new("1")));
        let of_phoenix = inheritance.by_calls(origin(&phoenix));
        assert_eq!(of_phoenix.get("CI"), Some(OsStr::new("theirs")));
        let again = inheritance.by_calls(origin(&pi));
        assert!(Arc::ptr_eq(&again, &of_pi), "it was made twice");
        for one in inheritance.0.lock().unwrap().iter_mut() {
            one.at = one.at.checked_sub(BELIEVED).unwrap();
        }
        let later = inheritance.by_calls(origin(&pi));
        assert!(!Arc::ptr_eq(&later, &of_pi), "it is still believed");
        assert_eq!(later, of_pi);
    }

    #[test]
    fn what_would_slip_code_past_a_guard_is_not_inherited() {
        let (surroundings, programs) = (surroundings(), Programs::default());
        let phoenix = profile("phoenix");
        for is_guarded in [false, true] {
            let origin = InheritanceSource {
                profile: &phoenix,
                surroundings: &surroundings,
                programs: &programs,
                is_guarded,
            };
            let env = Inheritance::default().by_calls(origin);
            assert_eq!(env.get("BASH_ENV").is_none(), is_guarded);
            assert_eq!(env.get("KEPT"), Some(OsStr::new("1")));
        }
    }
}
