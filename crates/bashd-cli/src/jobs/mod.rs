//! `bashd jobs`: lists, reads, follows, waits for, feeds and ends background work.
//!
//! Everything is read from the state directory: no engine, and no keeper of our own.

mod attach;
mod far;
mod leaving;
mod screen;
mod show;
mod wait;

use crate::args::{
    JobsAction, JobsFollow, JobsKill, JobsOptions as Arguments, JobsOutput, JobsRm, JobsSend,
};
use crate::exit_status::ExitStatus;
use crate::failure::{self, Failure, FailureKind};
use crate::for_people;
use crate::notify::Notifier;
use crate::print::{CommandOutput, Printer};
use crate::runtime;
use crate::settings::ConfigInForce;
use bashd::Stream;
use bashd::jobs::{AfterInput, FarJobs, Job, Jobs, OutputQuery, Typing, Whose, signal_number};
use regex::Regex;
pub(crate) use show::ending;
use std::io::Read;

/// Bytes that are printed at once.
const AT_ONCE: u64 = 1024 * 1024;

/// The jobs, and the owner of those that the command line started.
pub(super) struct JobsDesk {
    pub(super) jobs: Jobs,
    owner: String,
    notifier: Notifier,
    far: FarJobs,
}

impl JobsDesk {
    fn find(&self, name: &str) -> Result<Job, Failure> {
        self.jobs.find(Whose::Everybody, name).map_err(|error| {
            Failure::new(FailureKind::Usage, error).hint("bashd jobs --all lists them")
        })
    }

    /// Gives a sign if a job ended since it was found, and took long.
    fn seen_to_end(&self, found: &Job, ended: &Job) {
        if found.state.is_alive() && ended.has_ended() {
            self.notifier.job_ended(ended, &show::ending(ended));
        }
    }

    /// Each job once, however often and by whatever names it is given.
    fn find_all(&self, names: &[String]) -> Result<Vec<Job>, Failure> {
        let mut found: Vec<Job> = Vec::with_capacity(names.len());
        for name in names {
            let job = self.find(name)?;
            if found.iter().all(|other| other.id != job.id) {
                found.push(job);
            }
        }
        Ok(found)
    }
}

/// Does what was asked for.
pub(crate) fn jobs(
    arguments: &Arguments,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let desk = JobsDesk {
        jobs: Jobs::new(&settings.config).by(&owner()),
        owner: owner(),
        notifier: Notifier::of(&settings.config),
        far: FarJobs::of(&settings.config),
    };
    let runtime =
        runtime::build().map_err(|error| Failure::of(FailureKind::System, error.into()))?;
    let action = arguments.action.as_ref();
    let is_far = |name: &&str| far::is_far(name, settings);
    let names = action.map(far::names_of).unwrap_or_default();
    if let Some(action) = action.filter(|_| names.iter().any(is_far)) {
        let desk = far::FarDesk::new(settings, owner())?;
        let done = runtime.block_on(desk.perform(action, printer));
        runtime.shutdown_background();
        return done;
    }
    let done = runtime.block_on(perform(arguments, &desk, printer));
    if let Some(loss) = desk.jobs.take_loss() {
        printer.warn(&loss);
    }
    done
}

/// The owner of jobs that the command line starts.
pub(crate) fn owner() -> String {
    format!("cli:{}", rustix::process::getuid().as_raw())
}

async fn perform(
    arguments: &Arguments,
    desk: &JobsDesk,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let Some(action) = &arguments.action else {
        return list((arguments.all, arguments.json), desk, printer).await;
    };
    match action {
        JobsAction::List(asked) => return list((asked.all, asked.json), desk, printer).await,
        JobsAction::Attach(attach) => return attach::attach(attach, desk, printer).await,
        JobsAction::Show(show) => {
            let job = desk.jobs.exact(desk.find(&show.id)?).await;
            show::job(&job, show.json, printer)?;
        }
        JobsAction::Output(output) => print_output(output, desk, printer).await?,
        JobsAction::Follow(follow) => follow_output(follow, desk, printer).await?,
        JobsAction::Screen(screen) => return screen::screen(screen, desk, printer).await,
        JobsAction::Wait(wait) => return wait::wait(wait, desk, printer).await,
        JobsAction::Send(send) => send_to(send, desk, printer).await?,
        JobsAction::Kill(kill) => end(kill, desk, printer).await?,
        JobsAction::Rename(rename) => {
            let job = desk.find(&rename.id)?;
            desk.jobs.rename(&job, &rename.name)?;
        }
        JobsAction::Rm(rm) => remove(rm, desk, printer).await?,
    }
    Ok(ExitStatus::Success)
}

async fn list(
    (everything, json): (bool, bool),
    desk: &JobsDesk,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let mut all = desk.jobs.list(Whose::Everybody);
    let kept = all.len();
    if !everything {
        all.retain(|job| job.state.is_alive() || !desk.jobs.is_acknowledged(job));
    }
    let mut jobs = Vec::with_capacity(all.len());
    for job in all {
        jobs.push(desk.jobs.exact(job).await);
    }
    let mut elsewhere = desk.far.list();
    elsewhere.retain(|job| everything || job.is_alive);
    if json {
        show::lines(&jobs, printer)?;
    } else if jobs.is_empty() && !elsewhere.is_empty() {
        // Those below are all there is.
    } else if jobs.is_empty() && kept > 0 {
        let ended = for_people::count(kept, "job");
        printer.note(&format!(
            "no jobs are running · {ended} that ended: bashd jobs --all"
        ));
    } else if jobs.is_empty() {
        printer.note("there are no jobs · start one: bashd run --background COMMAND");
    } else {
        show::table(&jobs, printer)?;
    }
    far::list(&elsewhere, json, printer)?;
    let newer = desk.jobs.count_newer();
    if newer > 0 {
        let unread = for_people::count(newer, "job");
        printer.note(&format!("only a newer bashd can read {unread}"));
    }
    Ok(ExitStatus::Success)
}

async fn print_output(
    arguments: &JobsOutput,
    desk: &JobsDesk,
    printer: &Printer,
) -> Result<(), Failure> {
    let job = desk.find(&arguments.id)?;
    let mut query = match (arguments.tail, arguments.offset) {
        (Some(lines), _) => OutputQuery::tail(lines),
        (None, offset) => OutputQuery::since(offset.unwrap_or(0)),
    };
    if arguments.stderr {
        query.stream = Stream::Err;
    }
    query.grep = arguments.grep.as_deref().map(pattern).transpose()?;
    if arguments.json {
        query.most_bytes = arguments.max_bytes.unwrap_or(query.most_bytes);
        let output = desk.jobs.output(&job, &query).await?;
        return show::object(&output, printer);
    }
    let mut left = arguments.max_bytes.unwrap_or(u64::MAX);
    let mut shown = CommandOutput::to_stdout();
    let reads_on = query.grep.is_none() && arguments.tail.is_none();
    loop {
        query.most_bytes = if reads_on { left.min(AT_ONCE) } else { left };
        let output = desk.jobs.output(&job, &query).await?;
        printer.out(&shown.text(&output.text))?;
        left -= left.min(output.next_offset.saturating_sub(output.offset));
        // What may be the beginning of a secret is held back while the job runs.
        let has_moved = output.next_offset > output.offset;
        let is_all = output.next_offset >= output.output_bytes || left == 0 || !has_moved;
        if is_all || !reads_on {
            return printer.out(shown.end());
        }
        query.part = bashd::jobs::OutputStart::From(output.next_offset);
    }
}

async fn follow_output(
    arguments: &JobsFollow,
    desk: &JobsDesk,
    printer: &Printer,
) -> Result<(), Failure> {
    let job = desk.find(&arguments.id)?;
    let from = match arguments.tail {
        Some(lines) => {
            let query = OutputQuery::tail(lines).at_most(AT_ONCE);
            desk.jobs.output(&job, &query).await?.offset
        }
        None => 0,
    };
    let mut unwritten = None;
    let mut shown = CommandOutput::to_stdout();
    let ended = desk
        .jobs
        .follow(&job, from, |text| match printer.out(&shown.text(text)) {
            Ok(()) => std::ops::ControlFlow::Continue(()),
            Err(failure) => {
                unwritten = Some(failure);
                std::ops::ControlFlow::Break(())
            }
        })
        .await?;
    if let Some(failure) = unwritten {
        return Err(failure);
    }
    printer.out(shown.end())?;
    let text = format!("{} {}", ended.alias, show::ending(&ended));
    show::tell(&ended, &text, printer);
    desk.seen_to_end(&job, &ended);
    Ok(())
}

async fn send_to(arguments: &JobsSend, desk: &JobsDesk, printer: &Printer) -> Result<(), Failure> {
    let job = desk.find(&arguments.id)?;
    let bytes = match arguments.text.as_deref() {
        Some("-") => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| Failure::of(FailureKind::Usage, error.into()))?;
            bytes
        }
        Some(text) => text.as_bytes().to_vec(),
        None => Vec::new(),
    };
    let enter = arguments.enter.then_some("Enter");
    let keys = arguments.keys.iter().map(String::as_str);
    let typing = Typing::text(bytes)
        .paste(arguments.paste.clone())
        .keys(enter.into_iter().chain(keys))
        .map_err(|problem| Failure::new(FailureKind::Usage, problem))?
        .then(if arguments.close {
            AfterInput::Close
        } else {
            AfterInput::StayOpen
        });
    if typing.is_empty() && arguments.signal.is_none() {
        let text =
            "there is nothing to send: give TEXT, --paste, --enter, --key, --close or --signal";
        return Err(Failure::new(FailureKind::Usage, text));
    }
    if !typing.is_empty() {
        let sent = desk.jobs.type_at(&job, &typing).await;
        sent.map_err(|error| {
            let takes_input = job.stdin_open || job.terminal.is_some();
            let hint = if !job.state.is_alive() {
                Some(format!("its output: bashd jobs output {}", job.alias))
            } else if !takes_input {
                Some("start it with --stdin-open or --pty".to_owned())
            } else {
                None
            };
            hint.into_iter().fold(Failure::from(error), Failure::hint)
        })?;
    }
    if let Some(name) = &arguments.signal {
        let number = signal_number(name).ok_or_else(|| {
            Failure::new(FailureKind::Usage, format!("there is no signal `{name}`"))
                .hint("a name such as INT, TERM, HUP or USR1, or a number: kill -l lists them")
        })?;
        desk.jobs.signal(&job, number).await?;
    }
    if arguments.json {
        show::object(&desk.jobs.again(&job).await?, printer)?;
    }
    Ok(())
}

async fn end(arguments: &JobsKill, desk: &JobsDesk, printer: &Printer) -> Result<(), Failure> {
    // All at once: a job that ignores TERM takes its grace period, and must not delay the others.
    let ends = desk.find_all(&arguments.ids)?.into_iter().map(|job| {
        let (was_alive, jobs) = (job.state.is_alive(), desk.jobs.clone());
        (
            was_alive,
            tokio::spawn(async move { jobs.kill(&job).await }),
        )
    });
    let mut failure = None;
    for (was_alive, end) in ends.collect::<Vec<_>>() {
        let ended = match end.await {
            Ok(ended) => ended.map_err(Failure::from),
            Err(panicked) => Err(Failure::of(FailureKind::System, panicked.into())),
        };
        match ended {
            Ok(job) => {
                // Another owner is told that its job is gone.
                if job.owner == desk.owner {
                    desk.jobs.acknowledge(&job);
                }
                tell_end(&job, was_alive, arguments, printer)?;
            }
            // Others may have ended: each failure is printed, and the last one is returned.
            Err(error) => {
                if let Some(earlier) = failure.replace(error) {
                    earlier.show(printer);
                }
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

fn tell_end(
    job: &Job,
    was_alive: bool,
    arguments: &JobsKill,
    printer: &Printer,
) -> Result<(), Failure> {
    let (alias, ending) = (&job.alias, show::ending(job));
    if arguments.json {
        return show::object(job, printer);
    }
    let next = format!("its output: bashd jobs output {alias}");
    if was_alive {
        printer.note(&format!("{alias} {ending} · {next}"));
    } else {
        let text = format!("{alias} is not running: it {ending} · {next}");
        show::tell(job, &text, printer);
    }
    Ok(())
}

async fn remove(arguments: &JobsRm, desk: &JobsDesk, printer: &Printer) -> Result<(), Failure> {
    for job in desk.find_all(&arguments.ids)? {
        desk.jobs.remove(&job).await.map_err(|error| {
            let alive = job.state.is_alive();
            let hint = alive.then(|| format!("bashd jobs kill {} ends it", job.alias));
            let failure = Failure::from(error);
            hint.into_iter().fold(failure, Failure::hint)
        })?;
        if arguments.json {
            show::object(&job, printer)?;
        }
    }
    Ok(())
}

fn pattern(text: &str) -> Result<Regex, Failure> {
    Regex::new(text)
        .map_err(|error| Failure::new(FailureKind::Usage, error).hint(failure::A_PATTERN))
}
