//! `bashd schema`: a profile's tool definition, ready for an LLM API.

use crate::args::Schema;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, Kind};
use crate::print::Printer;
use crate::settings::Settings;
use crate::surroundings;
use bashd::profile::{Profile, schema};

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
    let profile = profile(name)?;
    let pwd = surroundings::cwd()?;
    let definition = schema::definition(&profile, &pwd.to_string_lossy());
    printer.out(&format!("{definition:#}\n"))?;
    Ok(ExitStatus::Success)
}

fn profile(name: &str) -> Result<Profile, Failure> {
    Profile::builtin(name)?.ok_or_else(|| {
        let names: Vec<&str> = Profile::names().collect();
        Failure::new(Kind::Usage, format!("there is no profile `{name}`"))
            .hint(format!("one of: {}", names.join(", ")))
    })
}
