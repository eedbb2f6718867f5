//! One carrier at an outpost: what it asks for, and the answers.

use super::Outpost;
use super::runs::OrderedRun;
use crate::errand;
use crate::error::{Error, ErrorKind};
use crate::event::Stream;
use crate::place::BUILD;
use crate::place::conclusion::Conclusion;
use crate::place::flow::Arrivals;
use crate::place::link::{GONE, SILENT};
use crate::place::managed::ManagedReply;
use crate::place::outbox::FrameQueue;
use crate::place::wire::{
    self, Assembler, CONTROL, FromOutpost, MOST_TO_OUTPOST, ToOutpost, VERSION, Welcome,
};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

/// Bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// The longest part of a stream that is read at once.
const LONGEST_READ: u64 = 1024 * 1024;

/// What is known of a carrier.
struct Connection<'a> {
    outpost: &'a Arc<Outpost>,
    outbox: Arc<FrameQueue>,
    /// The runs of its channels.
    runs: HashMap<u32, (String, Arc<OrderedRun>)>,
    /// Answers that are on their way; they end with the carrier.
    answers: JoinSet<()>,
    /// Those of them that may be withdrawn.
    asked: HashMap<u32, AbortHandle>,
}

/// Serves a carrier until it ends.
pub(super) async fn attend(outpost: &Arc<Outpost>, stream: UnixStream) {
    let (mut from_it, mut to_it) = stream.into_split();
    let outbox = Arc::new(FrameQueue::default());
    let mut connection = Connection {
        outpost,
        outbox: Arc::clone(&outbox),
        runs: HashMap::new(),
        answers: JoinSet::new(),
        asked: HashMap::new(),
    };
    let writing = async {
        loop {
            match timeout(SILENT, outbox.next()).await {
                Ok(frame) => to_it.write_all(&frame).await?,
                Err(_) => outbox.urgent(CONTROL, &FromOutpost::Ping)?,
            }
        }
    };
    let reading = async {
        let mut assembler = Assembler::new(MOST_TO_OUTPOST);
        let mut arrivals = Arrivals::of(outpost.is_held_back());
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = timeout(GONE, from_it.read(&mut buffer)).await;
            let count = read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if count == 0 {
                return Ok(());
            }
            let bytes = buffer.get(..count).unwrap_or_default();
            for (channel, message) in assembler.push(bytes)? {
                connection.hear(channel, wire::decode(&message)?)?;
            }
            outbox.keep_up(&mut assembler, &mut arrivals);
        }
    };
    // Whatever ends it, its runs go on.
    let _: io::Result<()> = tokio::select! {
        biased;
        ended = reading => ended,
        ended = writing => ended,
    };
    for (_, (id, run)) in connection.runs {
        outpost.detach(id, &run);
    }
}

impl Connection<'_> {
    fn hear(&mut self, channel: u32, message: ToOutpost) -> io::Result<()> {
        if !matches!(message, ToOutpost::Ping | ToOutpost::Pong) {
            self.outpost.is_used();
        }
        match message {
            ToOutpost::Hello { .. } => {
                let welcome = FromOutpost::Welcome(Box::new(welcome(self.outpost)));
                self.outbox.bulk(CONTROL, &welcome)
            }
            ToOutpost::Order(order) => {
                let id = order.id.clone();
                match self.outpost.begin(*order) {
                    Some(run) => self.attach(channel, id, run),
                    None => self.conclude(channel, Conclusion::Lost)?,
                }
                Ok(())
            }
            ToOutpost::Attach { id } => {
                match self.outpost.find(&id) {
                    Ok(run) => self.attach(channel, id, run),
                    Err(conclusion) => self.conclude(channel, conclusion)?,
                }
                Ok(())
            }
            ToOutpost::Cancel { id } => {
                self.outpost.cancel(id);
                Ok(())
            }
            ToOutpost::Forget { id } => {
                self.outpost.forget(&id);
                if let Some((id, run)) = self.runs.remove(&channel) {
                    self.outpost.detach(id, &run);
                }
                Ok(())
            }
            ToOutpost::NextEvent { after } => {
                if let Some((_, run)) = self.runs.get(&channel) {
                    let (run, outbox) = (Arc::clone(run), Arc::clone(&self.outbox));
                    self.answers.spawn(async move {
                        if let Some(event) = run.next_event(after).await {
                            let _ = outbox.bulk(channel, &event);
                        }
                    });
                }
                Ok(())
            }
            ToOutpost::Read {
                ask,
                stream,
                from,
                upto,
            } => {
                self.read((channel, ask), stream, from..upto);
                Ok(())
            }
            ToOutpost::Ping => self.outbox.urgent_once(CONTROL, &FromOutpost::Pong),
            ToOutpost::Pong => Ok(()),
            question => {
                self.asked(question);
                Ok(())
            }
        }
    }

    /// Answers a question that is about no run.
    fn asked(&mut self, question: ToOutpost) {
        match question {
            ToOutpost::Manage { ask, call } => {
                self.answer(ask, |outpost| async move {
                    let reply = Box::new(outpost.manage(&call).await);
                    FromOutpost::Managed { ask, reply }
                });
            }
            ToOutpost::NextEnds { ask, call, told } => {
                self.answer(ask, |outpost| async move {
                    let reply = match outpost.engine(&call.settings) {
                        Ok(engine) => Box::pin(engine.ended_here(&call, told)).await,
                        Err(error) => ManagedReply::failed(&error),
                    };
                    let reply = Box::new(reply);
                    FromOutpost::Managed { ask, reply }
                });
            }
            ToOutpost::EndsTold { call, ids } => {
                if let Ok(engine) = self.outpost.engine(&call.settings) {
                    errand::here_or_aside(move || engine.ends_are_told(&call, &ids));
                }
            }
            ToOutpost::Stored { ask, wish } => {
                self.answer(ask, |outpost| async move {
                    let part = outpost.stored(*wish).await;
                    FromOutpost::PartThere { ask, part }
                });
            }
            ToOutpost::Describe { ask } => {
                self.answer(ask, |outpost| async move {
                    let facts = Box::new(outpost.facts().await);
                    FromOutpost::Described { ask, facts }
                });
            }
            ToOutpost::Withdraw { ask } => self.withdraw(ask),
            _ => {}
        }
    }

    /// Nobody waits for an answer any more: what it would have told is told to the next.
    fn withdraw(&mut self, ask: u32) {
        let Some(answering) = self.asked.remove(&ask) else {
            return;
        };
        if !answering.is_finished() {
            answering.abort();
            let nobody = Error::new(ErrorKind::Place, "nobody waits for this any more");
            let reply = Box::new(ManagedReply::failed(&nobody));
            let _ = self.outbox.bulk(ask, &FromOutpost::Managed { ask, reply });
        }
    }

    /// Reads a part of a run's stream for this carrier.
    fn read(&mut self, (channel, ask): (u32, u32), stream: Stream, range: Range<u64>) {
        let run = self.runs.get(&channel).map(|(_, run)| Arc::clone(run));
        let outbox = Arc::clone(&self.outbox);
        self.answers.spawn(async move {
            let most = range.start.saturating_add(LONGEST_READ);
            let range = range.start..range.end.min(most);
            let pieces = match run {
                Some(run) => {
                    let end = run.ended().await;
                    let read = errand::read(move |_| end.read(stream, range)).await;
                    let read = read.unwrap_or_else(|failure| Err(failure.into()));
                    read.map_err(|error| error.to_string())
                }
                None => Err("its run is not known here".to_owned()),
            };
            let _ = outbox.bulk(channel, &FromOutpost::Range { ask, pieces });
        });
    }

    /// Sends the answer to such a question once it is there.
    fn answer<A>(&mut self, ask: u32, answering: impl FnOnce(Arc<Outpost>) -> A)
    where
        A: Future<Output = FromOutpost> + Send + 'static,
    {
        while self.answers.try_join_next().is_some() {}
        let (answering, outbox) = (
            answering(Arc::clone(self.outpost)),
            Arc::clone(&self.outbox),
        );
        self.asked.retain(|_, answering| !answering.is_finished());
        let answering = self.answers.spawn(async move {
            let answer = answering.await;
            let _ = outbox.bulk(ask, &answer);
        });
        self.asked.insert(ask, answering);
    }

    /// Tells this carrier how a run ends.
    fn attach(&mut self, channel: u32, id: String, run: Arc<OrderedRun>) {
        while self.answers.try_join_next().is_some() {}
        run.attach();
        let (ending, outbox) = (Arc::clone(&run), Arc::clone(&self.outbox));
        self.answers.spawn(async move {
            let end = ending.ended().await;
            let concluded = FromOutpost::Concluded {
                conclusion: Box::new(end.conclusion.clone()),
                along: end.along.clone(),
            };
            let _ = outbox.bulk(channel, &concluded);
        });
        if let Some((id, before)) = self.runs.insert(channel, (id, run)) {
            self.outpost.detach(id, &before);
        }
    }

    fn conclude(&self, channel: u32, conclusion: Conclusion) -> io::Result<()> {
        let concluded = FromOutpost::Concluded {
            conclusion: Box::new(conclusion),
            along: Vec::new(),
        };
        self.outbox.bulk(channel, &concluded)
    }
}

/// What this outpost is.
fn welcome(outpost: &Outpost) -> Welcome {
    let told = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        text.unwrap_or_default().trim().to_owned()
    };
    let env = &outpost.settings.surroundings.env;
    let home = env.iter().find(|(name, _)| name == "HOME");
    Welcome {
        version: VERSION,
        build: (outpost.settings.build.clone()).unwrap_or_else(|| BUILD.to_owned()),
        boot: boot(&told("random/boot_id")),
        pid: std::process::id(),
        user: rustix::process::getuid().as_raw(),
        home: home.map(|(_, home)| home.to_string_lossy().into_owned()),
        state: outpost.settings.state_dir.to_string_lossy().into_owned(),
        kernel: told("osrelease"),
        machine: std::env::consts::ARCH.to_owned(),
        is_held_back: outpost.is_held_back(),
    }
}

/// What all processes here began with: the boot of the machine, or that of the container in which
/// they are, whose first process tells them apart. In another one nothing of this one runs.
fn boot(machine: &str) -> String {
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let first = fs::read_to_string("/proc/1/stat").unwrap_or_default();
    // Behind the name, which may have anything in it, the start is the twentieth.
    let (_, behind) = first.rsplit_once(')').unwrap_or_default();
    let started = behind.split_whitespace().nth(19).unwrap_or_default();
    format!("{machine} {} {started}", namespace.display())
}
