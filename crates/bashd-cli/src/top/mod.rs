//! `bashd top`: the calls of all of this user's bashd processes, to watch, to open, to answer and
//! to end.
//!
//! `app` is the state and the keys, `view` the screen, `screen` the
//! terminal. Nothing here runs commands: what is done to a call goes through its keeper, or through
//! the question that it has open.

mod app;
mod screen;
mod view;

use crate::args::TopOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::notify::{JobEnds, Notifier};
use crate::print::{Paint, Printer};
use crate::render;
use crate::runtime;
use crate::settings::ConfigInForce;
use crate::terminal;
use crate::watched::{CallDeeds, WatchedCall, WatchedCalls, WatchedFilter};
use anyhow::Context;
use app::{TopApp, TopDeed, TopMode};
use bashd::artifact::ArtifactStore;
use bashd::exec::TerminalGuardian;
use bashd::feed::FeedReader;
use bashd::jobs::{FarJobs, OutputQuery, Whose};
use bashd::ledger::Timestamp;
use crossterm::event::{self, Event, KeyEventKind};
use std::io;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use view::TopColours;

/// How often the screen is drawn.
const TICK: Duration = Duration::from_millis(250);

/// How often runs and jobs are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Lines of an opened call's output, and their bytes at most.
const LINES: u64 = 2000;
const BYTES: u64 = 256 * 1024;

/// Keys that may wait.
const KEYS_AHEAD: usize = 64;

/// What is read, and who is spoken to.
struct TopDesk<'a> {
    feed: FeedReader,
    deeds: CallDeeds,
    settings: &'a ConfigInForce,
    looked: Option<Instant>,
    ends: JobEnds,
}

/// Shows all calls, once or until the person leaves.
pub(crate) fn top(
    arguments: &TopOptions,
    _guardian: Option<io::Result<TerminalGuardian>>,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    if !settings.config.feed {
        let why = "calls are not told: `feed.enabled` is false";
        return Err(Failure::new(FailureKind::Usage, why)
            .hint("bashd --set feed.enabled=true … switches it on"));
    }
    let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let runtime = runtime::build().map_err(failed)?;
    let mut desk = TopDesk {
        feed: FeedReader::new(settings.config.feed_dir()),
        deeds: CallDeeds::of(&settings.config),
        settings,
        looked: None,
        ends: JobEnds::new(Notifier::of(&settings.config)),
    };
    let mut app = TopApp::new(WatchedCalls::default());
    app.search = arguments.pattern.clone().unwrap_or_default();
    if arguments.once || arguments.json {
        runtime.block_on(desk.read(&mut app))?;
        return once(&app, arguments, printer);
    }
    if !terminal::is_ours() {
        return Err(
            Failure::new(FailureKind::Usage, "top needs a terminal").hint(
                "`bashd top --once` and `bashd top --json` print what there is; `bashd log --follow` \
                 goes on",
            ),
        );
    }
    let colours = if printer.paints() {
        TopColours::On
    } else {
        TopColours::Off
    };
    // From here on calls that can ask nobody else wait for us.
    let _watching = desk.deeds.questions.watch().map_err(failed)?;
    let mut taken = screen::TopScreen::take().map_err(failed)?;
    let done = runtime.block_on(desk.run(&mut app, &mut taken, colours));
    drop(taken);
    done
}

/// Prints the calls that are wanted, for people or as JSON lines.
fn once(app: &TopApp, arguments: &TopOptions, printer: &Printer) -> Result<ExitStatus, Failure> {
    /// Calls that have ended, at most.
    const ENDED: usize = 20;
    let now = Timestamp::now();
    let wanted = app.calls.wanted(WatchedFilter::All, &app.search);
    let (live, ended): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|call| call.is_live());
    if live.is_empty() && ended.is_empty() && !arguments.json {
        printer.note("no call to be seen · make one: bashd run COMMAND");
        return Ok(ExitStatus::Success);
    }
    let calls = live.into_iter().chain(ended.into_iter().take(ENDED));
    let columns = Printer::columns().filter(|_| Printer::is_terminal());
    let mut page = printer.list();
    if !arguments.json {
        let title = match columns {
            Some(_) => format!("{:<9}  {:>6}  {:>7}  COMMAND", "STATE", "TIME", "BYTES"),
            None => format!(
                "{:<9}  {:>6}  {:>7}  {:<18}  {:<10}  {:<20}  COMMAND",
                "STATE", "TIME", "BYTES", "CLIENT", "SESSION", "CALL"
            ),
        };
        page.line(page.paint(Paint::Title, &title))?;
    }
    for call in calls {
        if arguments.json {
            page.line(call.to_json(now))?;
            continue;
        }
        let paint = if call.failed() {
            Paint::Bad
        } else {
            Paint::Good
        };
        let state = page.paint(paint, &format!("{:<9}", call.word()));
        let took = for_people::duration(call.millis(now));
        let bytes = for_people::size(call.bytes);
        let [owner, session, command] =
            [&*call.begun.owner, call.session(), &call.command()].map(for_people::one_line);
        let Some(columns) = columns else {
            page.line(format_args!(
                "{state}  {took:>6}  {bytes:>7}  {owner:<18}  {session:<10}  {:<20}  {command}",
                call.id,
            ))?;
            continue;
        };
        let before = format!("{state}  {took:>6}  {bytes:>7}  ");
        for line in for_people::entry(&before, 9 + 2 + 6 + 2 + 7 + 2, &command, columns) {
            page.line(line)?;
        }
        let about = format!("{owner} · session {session} · {}", call.id);
        for line in for_people::wrapped(&about, 4, Some(columns)) {
            page.line(page.paint(Paint::Faint, &format!("    {line}")))?;
        }
    }
    page.finish()?;
    Ok(ExitStatus::Success)
}

fn ended_by(signal: SignalKind) -> ExitStatus {
    ExitStatus::Signal(signal.as_raw_value() as u8)
}

/// What is said of a deed, whether it was done or not.
fn said(done: Result<&'static str, String>) -> String {
    done.map_or_else(|why| why, str::to_owned)
}

impl TopDesk<'_> {
    /// Reads what happened, and now and then what runs.
    async fn read(&mut self, app: &mut TopApp) -> Result<(), Failure> {
        let batch = self.feed.read().context("the feed can't be read");
        let batch = batch.map_err(|chain| Failure::of(FailureKind::System, chain))?;
        for (_, record) in batch.records {
            app.calls.tell(record);
        }
        if self
            .looked
            .is_none_or(|looked| looked.elapsed() >= LOOK_EVERY)
        {
            self.looked = Some(Instant::now());
            let running = self.deeds.jobs.running().await;
            let jobs = self.deeds.jobs.list(Whose::Everybody);
            let far = FarJobs::of(&self.settings.config).list();
            app.calls.compare(&running, &jobs, &far);
            self.ends.look(&jobs, crate::jobs::ending);
            if let TopMode::Opened(id) = &app.mode {
                app.output = self.output(&id.clone(), app).await;
            }
        }
        Ok(())
    }

    async fn run(
        &mut self,
        app: &mut TopApp,
        screen: &mut screen::TopScreen,
        colours: TopColours,
    ) -> Result<ExitStatus, Failure> {
        let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
        let (sender, mut keys) = mpsc::channel(KEYS_AHEAD);
        // Reading the terminal blocks; the thread ends with the process.
        std::thread::spawn(move || {
            while let Ok(event) = event::read() {
                if sender.blocking_send(event).is_err() {
                    break;
                }
            }
        });
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hang_up = signal(SignalKind::hangup()).map_err(failed)?;
        let mut ticks = tokio::time::interval(TICK);
        loop {
            self.read(app).await?;
            app.settle(Instant::now());
            screen.draw(app, colours).map_err(failed)?;
            let event = tokio::select! {
                biased;
                _ = terminate.recv() => return Ok(ended_by(SignalKind::terminate())),
                _ = hang_up.recv() => return Ok(ended_by(SignalKind::hangup())),
                event = keys.recv() => event,
                _ = ticks.tick() => continue,
            };
            let deed = match event {
                None => return Ok(ExitStatus::Success),
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    app.key(&key, Instant::now())
                }
                Some(_) => TopDeed::Nothing,
            };
            match deed {
                TopDeed::Nothing => {}
                TopDeed::Quit => return Ok(ExitStatus::Success),
                TopDeed::Open => self.looked = None,
                TopDeed::Answer(id, answer) => {
                    app.remark = said(self.deeds.answer(&id, answer).await);
                }
                TopDeed::End(id) => app.remark = said(self.deeds.end(&id).await),
            }
        }
    }

    /// The end of a call's output, as plain lines.
    async fn output(&self, id: &str, app: &TopApp) -> Vec<String> {
        let read = async {
            let job = self.deeds.jobs.find(Whose::Everybody, id)?;
            let query = OutputQuery::tail(LINES).at_most(BYTES);
            self.deeds.jobs.output(&job, &query).await
        };
        if let Ok(output) = read.await {
            let text = render::plain(&output.text);
            return text.lines().map(str::to_owned).collect();
        }
        let stored = ArtifactStore::of(&self.settings.config).list();
        let stored = stored.unwrap_or_default();
        let stored = stored.iter().find(|summary| summary.run == id);
        let is_live = app.calls.get(id).is_some_and(WatchedCall::is_live);
        vec![match stored {
            Some(summary) => format!("its output is stored: bashd artifact read {}", summary.id),
            None if is_live => "its output can be seen once it has run for a second".to_owned(),
            None => format!("the reply had all of its output; more about it: bashd log show {id}"),
        }]
    }
}
