//! `bashd schema`: the definitions of a profile's tools, ready for an LLM API; the protocol of
//! `rpc`.

use crate::args::{Schema, SchemaTool};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::rpc::description;
use crate::settings::ConfigInForce;
use crate::surroundings;
use bashd::Error;
use bashd::profile::library::Library;
use bashd::profile::{Profile, offered, schema};
use serde_json::Value;

/// Prints the definition of the named profile, or of the configured one.
pub(crate) fn schema(
    arguments: &Schema,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    if arguments.rpc {
        let protocol = description::description()?;
        printer.out(&format!("{protocol:#}\n"))?;
        return Ok(ExitStatus::Success);
    }
    let name = arguments
        .profile
        .as_ref()
        .unwrap_or(&settings.config.profile);
    let profile = settings.profile(name)?;
    let pwd = surroundings::cwd()?;
    let definition = match arguments.tool {
        None => in_form(&profile, &pwd.to_string_lossy(), settings)?,
        Some(SchemaTool::Job) => schema::job_definition(&profile, &settings.config).ok_or_else(|| {
            let text = match &profile.job_tool {
                Some(_) => format!(
                    "profile `{}` has its job tool only if `async.enabled` or `bash.auto_background.enabled` is on",
                    profile.name
                ),
                None => format!("profile `{}` has no job tool", profile.name),
            };
            Failure::new(FailureKind::Usage, text)
        })?,
    };
    printer.out(&format!("{definition:#}\n"))?;
    Ok(ExitStatus::Success)
}

/// The tools as the profile's own API wants them: one, or a list of several.
fn in_form(profile: &Profile, pwd: &str, settings: &ConfigInForce) -> Result<Value, Failure> {
    let library = Library::new(settings.config.profiles_dir.clone());
    let tools = offered::tools(&library, profile, pwd, &settings.config).map_err(Error::from)?;
    let mut forms: Vec<Value> = tools.into_iter().map(|tool| tool.in_form).collect();
    Ok(match forms.len() {
        1 => forms.swap_remove(0),
        _ => forms.into(),
    })
}
