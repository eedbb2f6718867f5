//! Reads the configuration file and resolves it with variables and flags.

use crate::args::Everywhere;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::surroundings::{self, BashdPaths};
use bashd::config::{Config, ConfigFile, ConfigReport, Sources, resolve};
use bashd::place::{PlaceKind, PlaceSettings};
use bashd::profile::Profile;
use bashd::profile::library::{Library, Missing};
use bashd::slip;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The configuration in force, and where it came from.
#[derive(Debug)]
pub(crate) struct ConfigInForce {
    pub(crate) config: Config,
    pub(crate) report: ConfigReport,
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
    pub(crate) places: BashdPaths,
}

impl ConfigInForce {
    /// Reads and resolves the configuration; warns on stderr about what was not understood.
    pub(crate) fn load(everywhere: &Everywhere, printer: &Printer) -> Result<Self, Failure> {
        let places = surroundings::places()?;
        let named = everywhere.config.as_ref().or(places.named_config.as_ref());
        let own = places.config_dir.join("config.toml");
        let file = match (read(named.unwrap_or(&own)), named) {
            (Ok(file), _) => Some(file),
            (Err(error), None) if is_missing(&error) => None,
            (Err(error), _) => return Err(unreadable(named.unwrap_or(&own), error)),
        };
        let sources = Sources {
            state_dir: places.state_dir.clone(),
            config_dir: Some(places.config_dir.clone()),
            home: places.home.clone(),
            variables: surroundings::variables(),
            flags: everywhere.set.clone(),
            file,
        };
        let (mut config, report) = resolve(&sources).map_err(|error| {
            Failure::from(error).hint("`bashd config reference` explains every key")
        })?;
        for (file, error) in config.secrets.learn(&surroundings::environment()) {
            let file = file.display();
            printer.warn(&format!(
                "`secrets.files`: {file} can't be read ({error}): what is in it is not hidden"
            ));
        }
        for place in &mut config.places {
            reached_by_this_program(place);
        }
        for warning in &report.warnings {
            let more = match &warning.nearest {
                Some(_) => "",
                None => "; bashd config reference lists those that there are",
            };
            printer.warn(&format!("{warning}{more}"));
        }
        Ok(Self {
            config,
            report,
            file: sources.file.map(|file| file.path),
            places,
        })
    }

    /// The place of that name.
    pub(crate) fn place(&self, name: &str) -> Result<&PlaceSettings, Failure> {
        let places = &self.config.places;
        places
            .iter()
            .find(|place| place.name == name)
            .ok_or_else(|| {
                let names: Vec<&str> = places.iter().map(|place| &*place.name).collect();
                let text = format!("there is no place `{name}`");
                let known = match &names[..] {
                    [] => "none is configured: [places.NAME], docs/places.md".to_owned(),
                    names => format!("one of: {}", names.join(", ")),
                };
                Failure::new(FailureKind::Usage, text).hint(known)
            })
    }

    /// Has all commands run at a place.
    pub(crate) fn run_all_at(&mut self, name: Option<&str>) -> Result<(), Failure> {
        if let Some(name) = name {
            self.place(name)?;
            self.config.default_place = Some(name.to_owned());
        }
        Ok(())
    }

    /// The profile of that name, compiled in or the user's own.
    pub(crate) fn profile(&self, name: &str) -> Result<Arc<Profile>, Failure> {
        let profiles = Library::new(self.config.profiles_dir.clone());
        profiles.get(name).map_err(|missing| match missing {
            Missing::Unknown(_) => {
                let names = crate::profiles::names(self);
                let near = slip::meant(name, names.iter().map(String::as_str));
                let near = near.map(|known| format!("did you mean {known}? "));
                let near = near.unwrap_or_default();
                Failure::new(FailureKind::Usage, format!("there is no profile `{name}`"))
                    .hint(format!("{near}one of: {}", names.join(", ")))
            }
            Missing::Broken(error) => error.into(),
        })
    }
}

/// A place whose carrier is left open is reached by this program itself, and what is sent to others
/// is beside it.
fn reached_by_this_program(place: &mut PlaceSettings) {
    place.programs.directories = surroundings::data_dirs();
    place.programs.own = Some(surroundings::this_program().into());
    if let PlaceKind::Pipe { command } = &mut place.kind
        && command.is_empty()
    {
        *command = vec![surroundings::this_program(), "outpost".to_owned()];
    }
}

fn read(path: &Path) -> io::Result<ConfigFile> {
    Ok(ConfigFile {
        path: path.to_owned(),
        text: fs::read_to_string(path)?,
    })
}

/// Whether the file, or the directory that could hold it, does not exist: then there is no
/// configuration.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    let context = format!("{} can't be read", path.display());
    Failure::of(
        FailureKind::Config,
        anyhow::Error::new(error).context(context),
    )
    .hint("--config FILE or BASHD_CONFIG names a file that can be read; without them it is that of `bashd config path`")
}
