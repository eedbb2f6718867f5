//! Where bashd's files are, and whether they can be stored there.

use super::check::Check;
use crate::for_people;
use crate::settings::Settings;
use rustix::fs::{Access, Mode, OFlags};
use std::path::Path;

/// With less free space, a few long outputs fill the disk: 16 times one run's default quota.
const LITTLE_SPACE: u64 = 1 << 30;

pub(super) fn state_directory(settings: &Settings) -> Check {
    let name = "state directory";
    let directory = &settings.config.state_dir;
    let present = nearest_present(directory);
    let shown = directory.display();
    match rustix::fs::access(present, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) if !present.is_dir() => {
            let finding = format!("{shown}: {} is not a directory", present.display());
            Check::weaker(
                name,
                finding,
                "commands run, but nothing is stored or recorded",
            )
        }
        Ok(()) if present == directory => Check::good(
            name,
            format!("{shown}, writable"),
            "output and ledger are kept there",
        ),
        Ok(()) => Check::good(
            name,
            format!("{shown}, not created yet"),
            "the first call creates it",
        ),
        Err(error) => {
            let finding = format!("{shown}: {} is not writable ({error})", present.display());
            Check::weaker(
                name,
                finding,
                "commands run, but nothing is stored or recorded",
            )
        }
    }
}

pub(super) fn anonymous_files(settings: &Settings) -> Check {
    let name = "anonymous files";
    let present = nearest_present(&settings.config.state_dir);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(present, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) => Check::good(
            name,
            "O_TMPFILE works",
            "short output never gets a file name",
        ),
        Err(error) => Check::weaker(
            name,
            format!("no O_TMPFILE in {} ({error})", present.display()),
            "output goes to named files, which are removed later",
        ),
    }
}

pub(super) fn free_space(settings: &Settings) -> Check {
    let name = "free space";
    match rustix::fs::statvfs(nearest_present(&settings.config.state_dir)) {
        Ok(system) => {
            let free = system.f_bavail.saturating_mul(system.f_frsize);
            let finding = format!("{} for the state directory", for_people::size(free));
            if free < LITTLE_SPACE {
                Check::weaker(
                    name,
                    finding,
                    "low: long output may be counted but not kept",
                )
            } else {
                Check::good(name, finding, "output is kept up to the configured quotas")
            }
        }
        Err(error) => Check::weaker(name, error.to_string(), "unknown"),
    }
}

pub(super) fn configuration(settings: &Settings) -> Check {
    let name = "configuration";
    let Some(path) = &settings.file else {
        let finding = format!("no config.toml in {}", settings.places.config_dir.display());
        return Check::good(name, finding, "the defaults apply (`bashd config show`)");
    };
    let finding = path.display().to_string();
    Check::good(name, finding, "`bashd config show` shows it")
}

/// The directory itself, or the nearest one above it that exists.
fn nearest_present(directory: &Path) -> &Path {
    directory
        .ancestors()
        .find(|ancestor| ancestor.exists())
        .unwrap_or(Path::new("/"))
}
