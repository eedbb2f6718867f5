//! `bashd config edit` and `bashd config path`: the user's file, and whether it is right.

use crate::args::Everywhere;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use crate::terminal;
use anyhow::Context;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a new file begins with.
const BEGINNING: &str = "# bashd's configuration. `bashd config reference` lists every key with its default;\n\
    # write only those that you want to change, for example:\n\
    #\n\
    # profile = \"default\"\n\
    # [spool]\n\
    # head_bytes = \"8MiB\"\n";

/// The file that is read, whether or not it is there.
fn file(everywhere: &Everywhere) -> Result<PathBuf, Failure> {
    let places = surroundings::places()?;
    let named = everywhere.config.clone().or(places.named_config);
    Ok(named.unwrap_or_else(|| places.config_dir.join("config.toml")))
}

/// Prints where the configuration file is.
pub(crate) fn path(everywhere: &Everywhere, printer: &Printer) -> Result<ExitStatus, Failure> {
    let path = file(everywhere)?;
    printer.out(&format!("{}\n", path.display()))?;
    if !path.exists() && Printer::is_terminal() {
        printer.note("it is not there yet · make it: bashd config edit");
    }
    Ok(ExitStatus::Success)
}

/// Opens the file in the user's editor, and checks what was written.
pub(crate) fn edit(everywhere: &Everywhere, printer: &Printer) -> Result<ExitStatus, Failure> {
    let path = file(everywhere)?;
    let failed = |what: &str, error: io::Error| {
        let context = format!("{} can't be {what}", path.display());
        Failure::of(
            FailureKind::System,
            anyhow::Error::new(error).context(context),
        )
    };
    if !surroundings::has_own_editor() && !terminal::is_ours() {
        return Err(
            Failure::new(FailureKind::Usage, "edit needs a terminal").hint(format!(
                "set EDITOR to a program that needs none, or edit {}",
                path.display()
            )),
        );
    }
    let is_new = create(&path).map_err(|error| failed("created", error))?;
    let before = fs::read(&path).map_err(|error| failed("read", error))?;
    let editor = surroundings::editor().ok_or_else(|| {
        Failure::new(FailureKind::Usage, "there is no editor")
            .hint(format!("set EDITOR, or edit {}", path.display()))
    })?;
    // As git does it: a value may have options.
    let edited = Command::new("sh")
        .arg("-c")
        .arg(format!("{} \"$1\"", editor.to_string_lossy()))
        .arg("sh")
        .arg(&path)
        .status()
        .with_context(|| format!("the editor {} can't be started", editor.display()))
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    let after = fs::read(&path).map_err(|error| failed("read", error))?;
    if !edited.success() {
        if is_new && after == before {
            let _ = fs::remove_file(&path);
        }
        let message = format!("the editor ended with {edited}: nothing else was done");
        return Err(Failure::new(FailureKind::System, message)
            .hint("EDITOR names another: EDITOR=nano bashd config edit"));
    }
    let checked = ConfigInForce::load(everywhere, printer)
        .map_err(|failure| failure.hint("mend it: bashd config edit"))?;
    checked.profile(&checked.config.profile)?;
    let said = if after == before {
        "nothing was changed"
    } else {
        "the configuration is right · see it: bashd config show"
    };
    if checked.report.warnings.is_empty() {
        printer.remark(Paint::Good, "config:", said);
    }
    Ok(ExitStatus::Success)
}

/// Makes the file if it is not there; returns whether it did.
fn create(path: &Path) -> io::Result<bool> {
    if let Some(directory) = path.parent() {
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700).create(directory)?;
    }
    let mut new = fs::OpenOptions::new();
    match new.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => file.write_all(BEGINNING.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
