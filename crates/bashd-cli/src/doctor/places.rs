//! Where bashd's files are, and whether they can be stored there.

use super::check::DoctorCheck;
use crate::for_people;
use crate::profiles;
use crate::settings::ConfigInForce;
use bashd::SeenClock;
use rustix::fs::{Access, Mode, OFlags};
use std::path::Path;

/// With less free space, a few long outputs fill the disk: 16 times one run's default quota.
const LITTLE_SPACE: u64 = 1 << 30;

pub(super) fn state_directory(settings: &ConfigInForce) -> DoctorCheck {
    let name = "state directory";
    let directory = &settings.config.state_dir;
    let present = nearest_present(directory);
    let shown = directory.display();
    match rustix::fs::access(present, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) if !present.is_dir() => {
            let finding = format!("{shown}: {} is not a directory", present.display());
            DoctorCheck::limited(
                name,
                finding,
                "commands run, but nothing is stored or recorded",
            )
        }
        Ok(()) if present == directory => DoctorCheck::good(
            name,
            format!("{shown}, writable"),
            "output and ledger are kept there",
        ),
        Ok(()) => DoctorCheck::good(
            name,
            format!("{shown}, not created yet"),
            "the first call creates it",
        ),
        Err(error) => {
            let finding = format!("{shown}: {} is not writable ({error})", present.display());
            DoctorCheck::limited(
                name,
                finding,
                "commands run, but nothing is stored or recorded",
            )
        }
    }
}

pub(super) fn anonymous_files(settings: &ConfigInForce) -> DoctorCheck {
    let name = "anonymous files";
    let present = nearest_present(&settings.config.state_dir);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(present, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) => DoctorCheck::good(
            name,
            "O_TMPFILE works",
            "short output never gets a file name",
        ),
        Err(error) => DoctorCheck::limited(
            name,
            format!("no O_TMPFILE in {} ({error})", present.display()),
            "output goes to named files, which are removed later",
        ),
    }
}

pub(super) fn free_space(settings: &ConfigInForce) -> DoctorCheck {
    let name = "free space";
    match rustix::fs::statvfs(nearest_present(&settings.config.state_dir)) {
        Ok(system) => {
            let free = system.f_bavail.saturating_mul(system.f_frsize);
            let finding = format!("{} for the state directory", for_people::size(free));
            if free < LITTLE_SPACE {
                DoctorCheck::limited(
                    name,
                    finding,
                    "low: long output may be counted but not kept",
                )
            } else {
                DoctorCheck::good(name, finding, "output is kept up to the configured quotas")
            }
        }
        Err(error) => DoctorCheck::limited(name, error.to_string(), "unknown"),
    }
}

/// Whether the clock was seen to jump, by which nothing is removed.
pub(super) fn clock(settings: &ConfigInForce) -> DoctorCheck {
    let name = "clock";
    let clock = SeenClock::peek(&settings.config.runs_dir());
    match clock.jumps().last() {
        None => DoctorCheck::good(
            name,
            "no jump seen",
            "stored output and records are removed by their age",
        ),
        Some(jump) => DoctorCheck::limited(
            name,
            format!(
                "went forward by {} at once",
                for_people::duration(jump.length().as_millis() as u64)
            ),
            "anything older is kept for that much longer",
        ),
    }
}

pub(super) fn configuration(settings: &ConfigInForce) -> DoctorCheck {
    let name = "configuration";
    let Some(path) = &settings.file else {
        let finding = format!("no config.toml in {}", settings.places.config_dir.display());
        return DoctorCheck::good(name, finding, "the defaults apply (`bashd config show`)");
    };
    let finding = path.display().to_string();
    match settings.report.warnings.as_slice() {
        [] => DoctorCheck::good(name, finding, "`bashd config show` shows it"),
        warnings => {
            let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
            DoctorCheck::limited(
                name,
                format!("{finding}: {}", warnings.join("; ")),
                "what is unknown has no effect",
            )
        }
    }
}

/// Whether the configured profile can be used.
pub(super) fn profile(settings: &ConfigInForce) -> DoctorCheck {
    let name = "profile";
    match settings.profile(&settings.config.profile) {
        Ok(profile) => DoctorCheck::good(
            name,
            profile.name.clone(),
            "calls that name no profile have this one (`bashd profiles`)",
        ),
        Err(failure) => DoctorCheck::missing(
            name,
            failure.to_string(),
            "calls that name no profile fail (`bashd config edit`)",
        ),
    }
}

/// Whether the user's own profiles can be used.
pub(super) fn own_profiles(settings: &ConfigInForce) -> DoctorCheck {
    let name = "own profiles";
    let names = profiles::names(settings);
    let broken = names.iter().filter_map(|name| {
        let failure = settings.profile(name).err()?;
        Some(format!("{name}: {failure}"))
    });
    let broken: Vec<String> = broken.collect();
    if broken.is_empty() {
        let all = for_people::count(names.len(), "profile");
        return DoctorCheck::good(
            name,
            format!("{all}, all usable"),
            "`bashd profiles` lists them",
        );
    }
    DoctorCheck::limited(name, broken.join("; "), "calls that name them fail")
}

/// The directory itself, or the nearest one above it that exists.
fn nearest_present(directory: &Path) -> &Path {
    directory
        .ancestors()
        .find(|ancestor| ancestor.exists())
        .unwrap_or(Path::new("/"))
}
