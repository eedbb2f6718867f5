//! By how much commands can be confined here.

use super::check::DoctorCheck;
use crate::settings::ConfigInForce;
use bashd::plan::Level;

/// Confines a command that does nothing, as well as it can be done.
pub(super) fn level(settings: &ConfigInForce) -> DoctorCheck {
    let name = "confinement";
    let found = match settings.config.confinement_level() {
        Ok(found) => found,
        Err(error) => {
            let consequence = "whether commands can be confined is found out when one is";
            return DoctorCheck::limited(name, error.to_string(), consequence);
        }
    };
    let reason = found.reason.unwrap_or_default();
    match found.level {
        Level::Full => DoctorCheck::good(
            name,
            "level `full`",
            "commands can be confined by namespaces, Landlock and a filter of system calls",
        ),
        Level::Landlock => DoctorCheck::limited(
            name,
            format!("level `landlock`: {reason}"),
            "confined commands run only with `confinement.require = \"landlock\"`, which holds less",
        ),
        Level::None => DoctorCheck::limited(
            name,
            format!("level `none`: {reason}"),
            "confined commands do not run",
        ),
    }
}
