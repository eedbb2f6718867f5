//! What a client is told about the environment of a command that it runs itself.
//!
//! The client has its own environment, which is like ours, since it started us. So it is told only
//! what a plan changes; if a guard is on, the variables that could smuggle code past it are
//! blanked.

use super::Variables;
use std::ffi::{OsStr, OsString};

/// Variables that bash obeys before the script, which a client may have even if we do not.
const OBEYED_BEFORE_THE_SCRIPT: [&str; 3] = ["BASH_ENV", "ENV", "SHELLOPTS"];

/// What every shell sets for itself.
const SHELLS_OWN: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

/// A plan's environment as changes to a client's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientEnvironment {
    /// To be set on top of the client's own.
    pub set: Vec<(OsString, OsString)>,
    /// To be removed.
    pub unset: Vec<OsString>,
}

/// Whether variables that bash obeys before the script must be kept from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guarded {
    Yes,
    No,
}

impl ClientEnvironment {
    /// The changes from `ours` to `planned`.
    pub(super) fn between(
        ours: &[(OsString, OsString)],
        planned: &Variables,
        guarded: Guarded,
    ) -> Self {
        let is_planned = |name: &OsStr| planned.get(name).is_some();
        let is_ours =
            |(name, value): &(&OsStr, &OsStr)| ours.iter().any(|(n, v)| n == name && v == value);
        let mut set: Vec<_> = planned
            .iter()
            .filter(|variable| !is_ours(variable))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let stays = |name: &OsStr| {
            let mut known = OBEYED_BEFORE_THE_SCRIPT.iter().chain(&SHELLS_OWN);
            known.any(|known| name == *known)
        };
        if guarded == Guarded::Yes {
            // To bash a blank variable is as good as unset, and blanking needs no program in
            // between.
            let blank = OBEYED_BEFORE_THE_SCRIPT
                .into_iter()
                .filter(|name| !is_planned(OsStr::new(name)));
            set.extend(blank.map(|name| (name.into(), OsString::new())));
        }
        let unset = ours
            .iter()
            .map(|(name, _)| name)
            .filter(|name| !is_planned(name) && !stays(name));
        Self {
            set,
            unset: unset.cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let owned = |(name, value): &(&str, &str)| (name.into(), value.into());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn only_changes_are_told() {
        let ours = variables(&[("A", "1"), ("B", "2"), ("C", "3"), ("PWD", "/")]);
        let planned = [("A", "1"), ("B", "other"), ("D", "4")];
        let planned = planned.into_iter().collect();
        let told = ClientEnvironment::between(&ours, &planned, Guarded::No);
        assert_eq!(told.set, variables(&[("B", "other"), ("D", "4")]));
        assert_eq!(told.unset, ["C"]);
    }

    #[test]
    fn where_a_guard_is_on_bash_obeys_nothing_before_the_script() {
        let ours = variables(&[("BASH_ENV", "/evil"), ("BASH_FUNC_ls%%", "() { :; }")]);
        let told = ClientEnvironment::between(&ours, &Variables::default(), Guarded::Yes);
        let blank = [("BASH_ENV", ""), ("ENV", ""), ("SHELLOPTS", "")];
        assert_eq!(told.set, variables(&blank));
        assert_eq!(told.unset, ["BASH_FUNC_ls%%"]);
    }
}
