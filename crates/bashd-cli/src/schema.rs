//! `bashd schema`: a profile's tool definition, ready for an LLM API.

use crate::args::Schema;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, Kind};
use crate::print::Printer;
use crate::settings::Settings;
use crate::surroundings;
use bashd::profile::library::{Library, Missing};
use bashd::profile::{Profile, schema};
use std::sync::Arc;

/// Prints the definition of the profile that was named, or of the configured one.
pub(crate) fn schema(
    arguments: &Schema,
    settings: &Settings,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let name = arguments
        .profile
        .as_ref()
        .unwrap_or(&settings.config.profile);
    let profile = profile(name, settings)?;
    let pwd = surroundings::cwd()?;
    let definition = schema::definition(&profile, &pwd.to_string_lossy());
    printer.out(&format!("{definition:#}\n"))?;
    Ok(ExitStatus::Success)
}

fn profile(name: &str, settings: &Settings) -> Result<Arc<Profile>, Failure> {
    let profiles = Library::new(settings.config.profiles_dir.clone());
    profiles.get(name).map_err(|missing| match missing {
        Missing::Unknown(_) => {
            let names: Vec<&str> = Profile::names().collect();
            Failure::new(Kind::Usage, format!("there is no profile `{name}`"))
                .hint(format!("one of: {}", names.join(", ")))
        }
        Missing::Broken(error) => error.into(),
    })
}
