//! `bashd places`: the other places at which commands can run, and what they are like.

use crate::args::{PlacesAction, PlacesCheck, PlacesOptions};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::print::{Paint, Printer};
use crate::runtime;
use crate::settings::ConfigInForce;
use crate::surroundings;
use bashd::config::Preset;
use bashd::jobs::FarJobs;
use bashd::place::{PlaceFacts, PlaceSurvey};
use bashd::{Engine, KeeperSource, Request};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What was found out about a place.
type PlaceFinding = Result<(PlaceFacts, Duration), String>;

/// Does what was asked for.
pub(crate) fn places(
    arguments: &PlacesOptions,
    settings: ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    if let Some(PlacesAction::Check(check)) = &arguments.action {
        settings.place(&check.name)?;
    }
    let jobs = FarJobs::of(&settings.config);
    let engine = Engine::new(
        settings.config,
        surroundings::for_one_command(),
        KeeperSource::Hook,
    )?;
    let runtime =
        runtime::build().map_err(|error| Failure::of(FailureKind::System, error.into()))?;
    let done = match &arguments.action {
        Some(PlacesAction::Check(arguments)) => {
            runtime.block_on(check(&engine, arguments, printer))
        }
        None => runtime.block_on(list(&engine, &jobs, arguments.json, printer)),
    };
    runtime.shutdown_background();
    done
}

async fn list(
    engine: &Engine,
    jobs: &FarJobs,
    as_json: bool,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let places = engine.places();
    if places.is_empty() {
        printer.note(
            "no place is configured ([places.NAME], docs/places.md) · add one: bashd config edit",
        );
        return Ok(ExitStatus::Success);
    }
    let looking = places.iter().map(|(name, _)| engine.survey(name));
    let looked: Vec<Result<PlaceSurvey, bashd::Error>> = futures::future::join_all(looking).await;
    let mut page = printer.list();
    if !as_json {
        let title = format!(
            "{:<12}  {:<10}  {:<11}  {:>8}  {:<17}  {:<20}  {:<19}  {:>7}  {:>5}  {:>4}  {:>4}  {}",
            "PLACE",
            "KIND",
            "STATE",
            "TRIP",
            "BUILD",
            "KERNEL",
            "TREES",
            "FREE",
            "LOAD",
            "RUNS",
            "JOBS",
            "AT LOGOUT"
        );
        page.line(page.paint(Paint::Title, &title))?;
    }
    for ((name, kind), found) in places.iter().zip(&looked) {
        let known = jobs.list().into_iter().filter(|job| job.place == *name);
        let known = known.filter(|job| job.is_alive).count();
        for line in lines_of((name, kind), found, known, as_json) {
            page.line(line)?;
        }
    }
    page.finish()?;
    let all = looked.iter().all(|found| {
        let nodes = found.as_ref().map(|survey| &survey.nodes);
        nodes.is_ok_and(|nodes| nodes.iter().all(|node| node.found.is_ok()))
    });
    Ok(if all {
        ExitStatus::Success
    } else {
        ExitStatus::Unfit
    })
}

/// The lines of a place: one for each node that it has, or one that says why there is none.
fn lines_of(
    (name, kind): (&str, &str),
    found: &Result<PlaceSurvey, bashd::Error>,
    known: usize,
    as_json: bool,
) -> Vec<String> {
    let line = |name: &str, found: &PlaceFinding| {
        if as_json {
            as_data((name, kind), found, known).to_string()
        } else {
            row((name, kind), found, known)
        }
    };
    let survey = match found {
        Ok(survey) => survey,
        Err(error) => return vec![line(name, &Err(error.to_string()))],
    };
    // What lends its nodes has its say first.
    let mut lines: Vec<String> = if as_json {
        let told =
            json!({ "place": name, "kind": kind, "state": "allocations", "words": survey.words });
        let is_lent = kind == "slurm";
        is_lent.then(|| told.to_string()).into_iter().collect()
    } else if survey.nodes.is_empty() && survey.words.is_empty() {
        vec![format!("{name:<12}  {kind:<10}  no allocation")]
    } else {
        let words = survey.words.iter().map(|word| for_people::one_line(word));
        words
            .map(|word| format!("{name:<12}  {kind:<10}  {word}"))
            .collect()
    };
    for node in &survey.nodes {
        let shown = match &node.berth {
            Some(berth) => format!("{name}/{berth}"),
            None => name.to_owned(),
        };
        lines.push(line(&shown, &node.found));
    }
    lines
}

async fn look(engine: &Engine, name: &str) -> PlaceFinding {
    let looked = engine.look_at(name).await;
    looked.map_err(|error| error.to_string())
}

fn as_data((name, kind): (&str, &str), found: &PlaceFinding, known: usize) -> Value {
    match found {
        Ok((facts, trip)) => {
            let mut data = serde_json::to_value(facts).unwrap_or_default();
            data["place"] = json!(name);
            data["kind"] = json!(kind);
            data["state"] = json!("reached");
            data["round_trip_ms"] = json!(trip.as_secs_f64() * 1000.0);
            data
        }
        Err(why) => json!({
            "place": name, "kind": kind, "state": "unreachable", "reason": why,
            "jobs_last_seen": known,
        }),
    }
}

fn row((name, kind): (&str, &str), found: &PlaceFinding, known: usize) -> String {
    let plain = for_people::one_line;
    match found {
        Ok((facts, trip)) => format!(
            "{:<12}  {:<10}  {:<11}  {:>5.1} ms  {:<17}  {:<20}  {:<19}  {:>7}  {:>5.2}  {:>4}  {:>4}  {}",
            name,
            kind,
            "reached",
            trip.as_secs_f64() * 1000.0,
            for_people::cut(&plain(&facts.build), 17),
            for_people::cut(&plain(&facts.kernel), 20),
            for_people::cut(&plain(&facts.trees), 19),
            for_people::size(facts.free_bytes),
            facts.load,
            facts.runs,
            facts.jobs,
            match facts.survives_logout {
                Some(true) => "they stay",
                Some(false) => "they end",
                None => "not known",
            },
        ),
        Err(why) => {
            let jobs = match known {
                0 => String::new(),
                known => format!(" ({} when last seen)", for_people::count(known, "job")),
            };
            format!("{name:<12}  {kind:<10}  unreachable  {}{jobs}", plain(why))
        }
    }
}

/// By how much confinement is held there: a confined command tells.
async fn confined(engine: &Engine, name: &str) -> String {
    let mut request = Request::new("true").on(name);
    request.confine = Some(Preset::Workspace);
    let reply = engine.run(request).await;
    match (&reply.confinement, &reply.error) {
        (Some(held), None) => format!("confinement there: level `{}`", held.level.name()),
        (_, Some(error)) => format!("confinement there: none ({error})"),
        (None, None) => "confinement there: none".to_owned(),
    }
}

/// Everything that speaks for or against a place.
async fn check(
    engine: &Engine,
    arguments: &PlacesCheck,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let name = &arguments.name;
    let begun = Instant::now();
    let looked = look(engine, name).await;
    let connected = begun.elapsed();
    let mut lines: Vec<(bool, String)> = Vec::new();
    let (facts, trip) = match looked {
        Ok(found) => found,
        Err(why) => {
            let line = for_people::one_line(&why);
            if arguments.json {
                let told = json!({ "place": name, "ok": false, "problems": [why] });
                printer.out(&format!("{told}\n"))?;
            } else {
                printer.out(&format!("not ok  {line}\n"))?;
            }
            return Ok(ExitStatus::Unfit);
        }
    };
    let millis = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    let (first, trip) = (millis(connected), millis(trip));
    lines.push((
        true,
        format!("reached in {first}, a round trip takes {trip}"),
    ));
    lines.push((
        true,
        format!("{} {}, Linux {}", facts.host, facts.machine, facts.kernel),
    ));
    lines.push((
        true,
        format!("build {}, processes held by {}", facts.build, facts.trees),
    ));
    let survives = match facts.survives_logout {
        Some(true) => "jobs survive a logout",
        Some(false) => "jobs end at a logout",
        None => "whether jobs survive a logout is not known",
    };
    lines.push((true, survives.to_owned()));
    let free = for_people::size(facts.free_bytes);
    let load = format!(
        "{free} free, load {:.2} of {}",
        facts.load, facts.processors
    );
    lines.push((true, load));
    let reply = engine
        .run(Request::new("echo \"$BASH_VERSION\"").on(name))
        .await;
    lines.push(match (reply.exit_code, &reply.error) {
        (Some(0), None) => {
            let took = format!("a command ran there in {} ms", reply.wall_ms);
            (true, format!("{took} (bash {})", reply.output.trim()))
        }
        _ => (false, format!("no command can run there: {}", reply.text)),
    });
    lines.push((true, confined(engine, name).await));
    lines.extend(
        facts
            .problems
            .iter()
            .map(|problem| (false, problem.clone())),
    );
    let is_fit = lines.iter().all(|(is_good, _)| *is_good);
    if arguments.json {
        let problems = lines.iter().filter(|(is_good, _)| !is_good);
        let problems: Vec<&String> = problems.map(|(_, line)| line).collect();
        let told = json!({ "place": name, "ok": is_fit, "problems": problems, "facts": facts });
        printer.out(&format!("{told}\n"))?;
    } else {
        for (is_good, line) in &lines {
            let word = if *is_good { "ok    " } else { "not ok" };
            printer.out(&format!("{word}  {}\n", for_people::one_line(line)))?;
        }
    }
    Ok(if is_fit {
        ExitStatus::Success
    } else {
        ExitStatus::Unfit
    })
}
