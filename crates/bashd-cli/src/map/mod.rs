//! `bashd map`: a command for each item on stdin.
//!
//! This file reads what the command line asks for; `progress` shows people how far it is.

mod progress;

use crate::args::{MapOptions, ResultOrderName, RetriedItems};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::jobs;
use crate::print::{Paint, Printer};
use crate::run::words;
use crate::runtime;
use crate::serve;
use crate::settings::ConfigInForce;
use crate::signals::Signals;
use crate::surroundings;
use bashd::map::{
    AtFailure, ItemResult, ItemSeparator, ItemState, MapEvent, MapSpec, MapSummary, MapWork,
    ResultOrder,
};
use bashd::{Engine, KeeperSource, Request};
use progress::MapProgress;
use serde_json::json;
use std::io;

/// Does what was asked for.
pub(crate) fn map(
    arguments: &MapOptions,
    settings: ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let work = work(arguments)?;
    let engine = Engine::new(
        settings.config,
        surroundings::for_one_command(),
        KeeperSource::Hook,
    )?;
    if arguments.list {
        return list(&engine, arguments.json, printer);
    }
    if let Some(name) = &arguments.forget {
        let forgotten = engine.forget_map(name);
        forgotten.map_err(|error| match error.kind() {
            bashd::ErrorKind::Config => Failure::new(FailureKind::Usage, error),
            _ => error.into(),
        })?;
        printer.note(&format!("the map {name} is forgotten"));
        return Ok(ExitStatus::Success);
    }
    let system = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let runtime = runtime::build().map_err(system)?;
    let ended = runtime.block_on(async {
        bashd::serve_from_here();
        let ended = run(&engine, work, arguments.json, printer).await;
        engine.leave_places().await;
        ended
    });
    for warning in engine.take_warnings() {
        printer.warn(&warning);
    }
    // The process ends after this, so nothing needs to be cleaned up.
    std::mem::forget((engine, runtime));
    ended
}

async fn run(
    engine: &Engine,
    work: MapWork,
    as_json: bool,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let system = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let signals = Signals::listen().map_err(system)?;
    let (token, is_named) = (work.cancel.clone(), work.name.is_some());
    if work.spec.is_some() {
        serve::greet(printer, "items, one a line,", "docs/map.md");
    }
    let mut progress = MapProgress::new(printer);
    let mut told = |event: MapEvent<'_>| match event {
        MapEvent::Result(result) => {
            progress.hide();
            let done = print_result(result, as_json, printer);
            progress.again();
            done
        }
        MapEvent::Failure(result) => {
            progress.line(&failure(result));
            Ok(())
        }
        MapEvent::Place(text) => {
            progress.line(text);
            Ok(())
        }
        MapEvent::Counts(counts) => {
            progress.counts(counts);
            Ok(())
        }
        _ => Ok(()),
    };
    let (ended, signal) = signals.heed(&token, engine.map(work, &mut told)).await;
    progress.hide();
    let summary = match ended {
        Ok(summary) => summary,
        Err(error) if error.kind() == bashd::ErrorKind::Denied => {
            printer.remark(Paint::Bad, "denied:", &error.to_string());
            return Ok(ExitStatus::Denied);
        }
        Err(error) if error.kind() == bashd::ErrorKind::Config => {
            return Err(Failure::new(FailureKind::Usage, error));
        }
        Err(error) => return Err(error.into()),
    };
    sum_up(&summary, is_named, as_json, printer)?;
    let all_done = summary.complete && summary.counts.done == summary.counts.ended();
    Ok(match signal {
        Some(status) if !summary.complete => status,
        _ if all_done => ExitStatus::Success,
        _ => ExitStatus::ItemsFailed,
    })
}

fn work(arguments: &MapOptions) -> Result<MapWork, Failure> {
    let items: Box<dyn io::Read + Send> = Box::new(io::stdin());
    let mut work = if let Some(name) = &arguments.resume {
        let mut work = MapWork::resume(name.clone());
        work.items = Some(items);
        work
    } else if arguments.list || arguments.forget.is_some() {
        MapWork::resume(String::new())
    } else {
        MapWork::new(spec(arguments)?, items).named(arguments.name.clone())
    };
    work.again.lost = arguments.retry.contains(&RetriedItems::Lost);
    work.again.failed = arguments.retry.contains(&RetriedItems::Failed);
    work.owner = Some(jobs::owner());
    Ok(work)
}

fn spec(arguments: &MapOptions) -> Result<MapSpec, Failure> {
    let mut spec = MapSpec::new(words::script(&arguments.command)?);
    if let Some(mark) = &arguments.replace {
        spec.mark.clone_from(mark);
    }
    if arguments.null {
        spec.separator = ItemSeparator::Nul;
    }
    if arguments.order == Some(ResultOrderName::AsTheyCome) {
        spec.order = ResultOrder::AsTheyCome;
    }
    if arguments.stop_at_failure {
        spec.at_failure = AtFailure::Stop;
    }
    spec.places.clone_from(&arguments.on);
    spec.jobs = arguments.jobs;
    spec.timeout = arguments.timeout;
    spec.cwd.clone_from(&arguments.cwd);
    spec.profile = arguments.profile.clone().unwrap_or_default();
    let mut request = Request::default();
    arguments.judging.apply_to(&mut request);
    spec.safe_mode = request.safe_mode;
    spec.confine = request.confine;
    spec.resources = arguments.limiting.resources();
    Ok(spec)
}

fn print_result(result: &ItemResult, as_json: bool, printer: &Printer) -> io::Result<()> {
    let text = if as_json {
        format!("{}\n", serde_json::to_string(result).unwrap_or_default())
    } else {
        result.output.clone()
    };
    let shown = printer.out(&text);
    shown.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
}

/// What people are told of an item that failed.
fn failure(result: &ItemResult) -> String {
    let how = match (result.exit_code, result.signal, &result.error) {
        (_, _, Some(error)) => format!("{}: {error}", result.state.name()),
        _ if result.state != ItemState::Failed => result.state.name().replace('_', " "),
        (Some(code), _, None) if code != 0 => format!("exit {code}"),
        (_, Some(signal), None) => format!("signal {signal}"),
        _ => result.state.name().replace('_', " "),
    };
    let place = result.place.as_ref();
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    let item = for_people::cut(&result.item, 60);
    for_people::one_line(&format!("item {} ({item}){place}: {how}", result.number))
}

fn sum_up(
    summary: &MapSummary,
    is_named: bool,
    as_json: bool,
    printer: &Printer,
) -> Result<(), Failure> {
    if as_json {
        return printer.out(&format!("{}\n", json!({ "map": summary })));
    }
    let counts = &summary.counts;
    let is_good = summary.complete && counts.done == counts.ended();
    if is_good && !Printer::reaches_terminal() {
        return Ok(());
    }
    let mut parts = vec![format!("{} done", for_people::count(counts.done, "item"))];
    for (count, word) in [(counts.failed, "failed"), (counts.lost, "lost")] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let why = summary.stopped.as_ref();
    let why = why.map_or_else(String::new, |why| {
        format!("; stopped: {}", for_people::one_line(why))
    });
    printer.note(&format!("{}{why}", parts.join(", ")));
    let name = &summary.name;
    let hint = if !summary.complete {
        format!("bashd map --resume {name} goes on with what never began")
    } else if is_named && !is_good {
        format!("bashd map --resume {name} --retry failed,lost runs these once more")
    } else {
        return Ok(());
    };
    printer.remark(Paint::Hint, "hint:", &hint);
    Ok(())
}

fn list(engine: &Engine, as_json: bool, printer: &Printer) -> Result<ExitStatus, Failure> {
    let maps = engine.maps();
    if maps.is_empty() && !as_json {
        printer.note("no map has a name · keep one: bashd map --name NAME COMMAND");
    }
    let mut page = printer.list();
    for map in maps {
        let state = match map.items {
            _ if map.running => "running",
            Some(items) if items <= map.ended => "ended",
            _ => "stopped",
        };
        let line = if as_json {
            json!({ "map": map.name, "state": state, "items": map.items, "begun": map.begun, "ended": map.ended,
                "failed": map.failed, "command": map.command })
            .to_string()
        } else {
            let command = for_people::cut(&for_people::one_line(&map.command), 60);
            let (ended, failed) = (map.ended, map.failed);
            let name = map.name;
            format!("{name:<28}  {state:<8}  {ended:>8} ended  {failed:>6} failed  {command}")
        };
        page.line(line)?;
    }
    page.finish()?;
    Ok(ExitStatus::Success)
}
