//! `bashd replay` and `bashd export`: runs played again, here and elsewhere.

mod replay;

use crate::args::ExportOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::{BufferedStdout, Printer};
use crate::runtime;
use crate::settings::ConfigInForce;
use anyhow::Context;
use bashd::recording::cast::{self, CastVersion};
use bashd::recording::frames::{Film, FilmLimits};
use bashd::recording::{RecordedRun, html, svg};
pub(crate) use replay::replay;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Pictures of a page, and its bytes, about.
const PAGE: (usize, usize) = (4000, 12 << 20);

/// Pictures of an SVG, and its bytes, about.
const PICTURE: (usize, usize) = (600, 2 << 20);

/// Writes a run down.
pub(crate) fn export(
    arguments: &ExportOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let run = find(&arguments.id, settings)?;
    if let Some(path) = &arguments.output {
        let named = || format!("{} can't be written", path.display());
        let written = write_to(arguments, &run, path).with_context(named);
        written.map_err(|chain| Failure::of(FailureKind::System, chain))?;
    } else {
        let mut page = printer.page();
        let written = write(arguments, &run, page.writer());
        BufferedStdout::written(written)?;
        page.finish()?;
    }
    if let Some(remark) = run.about.timing.remark() {
        printer.note(remark);
    }
    Ok(ExitStatus::Success)
}

/// The run of this name.
fn find(name: &str, settings: &ConfigInForce) -> Result<RecordedRun, Failure> {
    let runtime =
        runtime::build().map_err(|error| Failure::of(FailureKind::System, error.into()))?;
    let found = runtime.block_on(RecordedRun::find(&settings.config, name));
    found.map_err(|error| {
        Failure::new(FailureKind::Usage, error)
            .hint("bashd log lists calls, bashd jobs --all jobs, bashd artifact list stored output")
    })
}

fn write_to(arguments: &ExportOptions, run: &RecordedRun, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    write(arguments, run, &mut out)?;
    out.flush()
}

fn write(arguments: &ExportOptions, run: &RecordedRun, out: &mut dyn Write) -> io::Result<()> {
    let limits = |(pictures, bytes)| FilmLimits::new(pictures, bytes, arguments.idle);
    if arguments.html {
        let film = Film::of(run, limits(PAGE))?;
        return out.write_all(html::of(&film, &run.about).as_bytes());
    }
    if arguments.svg {
        let film = if arguments.animated {
            Film::of(run, limits(PICTURE))?
        } else {
            Film::last_picture(run)?
        };
        return out.write_all(svg::of(&film, &run.about).as_bytes());
    }
    let version = if arguments.v3 {
        CastVersion::Three
    } else {
        CastVersion::Two
    };
    cast::write(run, version, arguments.idle, out)
}
