//! A run that is a job: the keeper holds it, and its directory is the source of truth.
//!
//! *Going to the background* (`background`): the keeper creates the directory, takes its lock,
//! names the spool, listens on the control socket, writes the spec, and only then says
//! `backgrounded`; from then on the engine's death does not matter. *The end*: the status is on
//! disk before anybody hears of it. In between, anyone who finds the directory may connect
//! (`clients`).

use super::beacon::Beacon;
use super::clients::Client;
use super::job_messages::{AnnounceMessage, BackgroundMessage, BackgroundedMessage};
use super::life::{Custody, KeeperRun, Phase};
use super::protocol::{self, ExitedMessage, MessageFrame};
use super::roster_watch::RosterWatch;
use crate::exit::EndedBy;
use crate::job::directory::{self, JobKind, JobStatus, Spec, StoredStream};
use crate::job::end_line::{EndLines, end_line};
use crate::job::roster::ROSTER;
use crate::secrets::Secrets;
use crate::spool::{self, SpoolSegment, StoredTimes, TimesHeader, TimesOfStream};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 16;

/// Bytes reserved for a status that must be written on a full disk.
const RESERVED: usize = 4096;

/// Name of the file that holds them.
const RESERVE: &str = ".status.reserve";

/// How many processes a status may list and still fit the reserve.
const FEW_PROCESSES: usize = 3;

/// What makes a run a job.
pub(super) struct KeeperJob {
    pub(super) directory: PathBuf,
    pub(super) kind: JobKind,
    limit: Duration,
    end_lines: Option<EndLines>,
    /// What is not written into its directory.
    secrets: Secrets,
    /// What its directory says.
    pub(super) spec: Spec,
    /// Held for as long as this process lives.
    pub(super) lock: OwnedFd,
    /// Where it can be asked if its directory is gone.
    pub(super) beacon: Option<Beacon>,
    pub(super) listener: Option<OwnedFd>,
    pub(super) clients: Vec<Client>,
    /// How the shell ended, for those who ask later.
    pub(super) exited: Option<ExitedMessage>,
    is_final: bool,
    /// Whether its output file says already that the shell has ended.
    has_end_line: bool,
    /// What is written down about its processes.
    pub(super) roster: RosterWatch,
}

impl KeeperRun {
    /// Becomes a job, and says so. `directory` is where the session was whose shell goes along.
    pub(super) fn go_to_background(
        &mut self,
        link: &OwnedFd,
        frame: &MessageFrame,
        directory: Option<PathBuf>,
    ) {
        self.conceal();
        self.goes_to_background = false;
        let done = frame.body::<BackgroundMessage>().and_then(|message| {
            let is_late = self.phase == Phase::Reported && message.spec.kind == JobKind::Background;
            // A shell that ended by itself has a status, whatever of its tree is being ended.
            let is_ended_by_us = self.exit.is_none() || self.ended_by.is_some();
            let is_ending = matches!(self.phase, Phase::Ending { .. }) && is_ended_by_us;
            if is_late || is_ending || self.job.is_some() {
                return Err(io::Error::other("the command is ending"));
            }
            self.become_job(message)
        });
        if done.is_ok() {
            self.custody = Custody::Background;
        }
        let error = done.err().map(|error| error.to_string());
        // An engine that does not hear this finds the job in its directory.
        let _ = protocol::send(link, &BackgroundedMessage { error, directory }, &[]);
    }

    fn become_job(&mut self, message: BackgroundMessage) -> io::Result<()> {
        let BackgroundMessage {
            directory,
            mut spec,
            head_bytes,
            end_lines,
            secrets,
        } = message;
        spec.end_lines.clone_from(&end_lines);
        let written = self.write_job(&directory, &mut spec, head_bytes);
        match written {
            Ok((lock, listener)) => {
                let mut job = KeeperJob {
                    roster: RosterWatch::begin(&directory, Instant::now()),
                    beacon: Beacon::light(&directory).ok(),
                    directory,
                    kind: spec.kind,
                    limit: Duration::from_millis(spec.limit_ms),
                    end_lines,
                    secrets,
                    spec,
                    lock,
                    listener,
                    clients: Vec::new(),
                    exited: self.reported.clone(),
                    is_final: false,
                    has_end_line: false,
                };
                if let Some(exited) = &job.exited {
                    let status = self.status(exited, &mut |pump| Ok(head_only(pump)));
                    let _ = write_status(&job, status);
                }
                job.clients.shrink_to_fit();
                self.job = Some(Box::new(job));
                self.release_memory();
                Ok(())
            }
            Err(error) => {
                // A job that nobody was told about must not be found.
                let _ = fs::remove_dir_all(&directory);
                Err(error)
            }
        }
    }

    fn write_job(
        &mut self,
        path: &Path,
        spec: &mut Spec,
        head_bytes: u64,
    ) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
        spool::prepare_runs_directory(path)?;
        let lock = directory::take_lock(path)?;
        let names = [directory::OUTPUT, directory::STDERR];
        for (pump, name) in self.pumps.iter_mut().zip(names) {
            pump.spool.raise_head(head_bytes)?;
            pump.spool.link(&path.join(name))?;
            pump.spool.say_at_spill(spill_line(&spec.id));
        }
        spool::write_private(&path.join(RESERVE), &[b' '; RESERVED])?;
        self.sign(spec);
        // A file system without sockets costs control of this job, not the job itself.
        let listener = listen(path).ok();
        directory::write_durably(path, directory::SPEC, spec)?;
        Ok((lock, listener))
    }

    /// Makes itself visible: anyone who finds the directory may follow, answer and end the run,
    /// even though its call is still waiting.
    pub(super) fn announce(&mut self, frame: &MessageFrame) {
        if self.phase != Phase::Running || self.job.is_some() {
            return;
        }
        let Ok(AnnounceMessage {
            directory,
            mut spec,
        }) = frame.body()
        else {
            return;
        };
        match self.show_itself(&directory, &mut spec) {
            Ok((lock, listener)) => {
                self.job = Some(Box::new(KeeperJob {
                    roster: RosterWatch::begin(&directory, Instant::now()),
                    directory,
                    kind: JobKind::Foreground,
                    limit: Duration::from_millis(spec.limit_ms),
                    end_lines: None,
                    secrets: Secrets::default(),
                    beacon: None,
                    spec,
                    lock,
                    listener: Some(listener),
                    clients: Vec::new(),
                    exited: None,
                    is_final: false,
                    has_end_line: false,
                }));
            }
            // Nobody was promised that it would be visible.
            Err(_) => drop(fs::remove_dir_all(&directory)),
        }
    }

    fn show_itself(&self, path: &Path, spec: &mut Spec) -> io::Result<(OwnedFd, OwnedFd)> {
        spool::prepare_runs_directory(path)?;
        let lock = directory::take_lock(path)?;
        let listener = listen(path)?;
        self.sign(spec);
        directory::write_whole(path, directory::SPEC, spec)?;
        Ok((lock, listener))
    }

    /// Fills in what only the keeper knows.
    fn sign(&self, spec: &mut Spec) {
        spec.version = directory::VERSION;
        spec.boot = directory::boot_id();
        spec.pid = self.shell.as_raw_nonzero().get();
        spec.keeper = rustix::process::getpid().as_raw_nonzero().get();
        spec.stdin_open = self.input.is_some();
        spec.limits = self.limits_in_force();
        spec.confinement = self.confinement_in_force();
        spec.head_bytes = self.pumps.first().map_or(0, |pump| pump.spool.head_bytes());
    }

    /// Is no longer visible, if it was; a job stays one.
    pub(super) fn conceal(&mut self) {
        let is_announced = |job: &mut Box<KeeperJob>| job.kind == JobKind::Foreground;
        if let Some(job) = self.job.take_if(is_announced) {
            let _ = fs::remove_dir_all(&job.directory);
        }
    }

    /// A job may live long: memory that serves only speed is given back.
    fn release_memory(&mut self) {
        for pump in &mut self.pumps {
            pump.rest();
        }
    }

    /// Writes how it ended, before anybody hears of it. Called again when the last survivor is
    /// gone.
    pub(super) fn settle(&mut self, exited: &ExitedMessage) {
        let Some(mut job) = self.job.take() else {
            return;
        };
        if job.kind == JobKind::Foreground {
            for client in &mut job.clients {
                client.tell_exit(exited);
            }
            self.job = Some(job);
            return self.conceal();
        }
        self.restore_if_gone(&mut job);
        if !job.is_final {
            let is_final = self.tree_is_empty || !self.asked.is_empty();
            let line = job
                .end_lines
                .as_ref()
                .filter(|_| !job.has_end_line)
                .map(|lines| end_line(lines, exited.exit, exited.ended_by, job.limit));
            job.has_end_line = true;
            let status = if is_final {
                let mut status = self.status(exited, &mut |pump| pump.spool.complete_head());
                // The part of the tail that a full disk did not take is lost with this process.
                for stream in &mut status.streams {
                    stream.dropped = stream.bytes.saturating_sub(stream.kept());
                }
                for pump in &self.pumps {
                    let _ = pump.spool.append_line(line.as_deref().unwrap_or_default());
                    let _ = pump.spool.sync();
                }
                self.write_index(&job.directory);
                self.write_times(&job, exited.ran_for_us);
                status
            } else {
                // What the shell left running writes behind the line: it is part of the stream.
                for pump in &mut self.pumps {
                    pump.spool
                        .append(line.as_deref().unwrap_or_default().as_bytes());
                }
                self.status(exited, &mut |pump| Ok(head_only(pump)))
            };
            let _ = fs::remove_file(job.directory.join(directory::WAITING));
            let _ = write_status(&job, status);
            if is_final {
                let _ = fs::remove_file(job.directory.join(ROSTER));
            }
            job.is_final = is_final;
            ring_bell(&job.directory);
        }
        job.exited = Some(exited.clone());
        for client in &mut job.clients {
            client.tell_exit(exited);
        }
        self.job = Some(job);
    }

    /// The final status of a job whose survivors ended by themselves.
    pub(super) fn settle_survivors(&mut self) {
        if let Some(mut exited) = self.job.as_ref().and_then(|job| job.exited.clone()) {
            exited.left_behind.clear();
            exited.ran_for_us = self.started.elapsed().as_micros() as u64;
            exited.ended_by = exited.ended_by.or(self.ended_by);
            self.settle(&exited);
        }
    }

    pub(super) fn status(
        &self,
        exited: &ExitedMessage,
        segments: &mut dyn FnMut(&super::pump::Pump) -> io::Result<Vec<SpoolSegment>>,
    ) -> JobStatus {
        let streams = self.pumps.iter().map(|pump| StoredStream {
            bytes: pump.spool.total(),
            lines: pump.spool.lines(),
            dropped: pump.spool.dropped(),
            segments: segments(pump).unwrap_or_else(|_| head_only(pump)),
        });
        JobStatus {
            version: directory::VERSION,
            exit: exited.exit,
            ended_by: exited.ended_by,
            ended_ms: directory::now_ms(),
            ran_for_us: exited.ran_for_us,
            streams: streams.collect(),
            terminal: self.terminal_size(),
            left_behind: exited.left_behind.clone(),
            out_of_memory: self.is_out_of_memory(),
            dealings: self.dealings(),
            lost: None,
        }
    }

    fn write_index(&self, path: &Path) {
        // The index only makes finding a line faster.
        if let Some(Ok(index)) = self.pumps.first().map(|pump| pump.spool.line_index()) {
            let _ = spool::write_private(&path.join(directory::INDEX), &index);
        }
    }

    /// Writes down when its output came, if that was recorded.
    fn write_times(&mut self, job: &KeeperJob, ran_us: u64) {
        for pump in &mut self.pumps {
            pump.spool.settle_times();
        }
        let streams: Vec<_> = self.pumps.iter().map(|pump| pump.spool.times()).collect();
        let Some(streams) = streams.into_iter().collect::<Option<Vec<_>>>() else {
            return;
        };
        let header = TimesHeader {
            started_ms: directory::now_ms()
                .saturating_sub(self.started.elapsed().as_millis() as u64),
            ran_us,
            terminal: job.spec.terminal,
            streams: self
                .pumps
                .iter()
                .map(|pump| TimesOfStream::whole(pump.spool.total()))
                .collect(),
            ..TimesHeader::default()
        };
        // Without them its output is still there.
        let _ = StoredTimes { header, streams }.store(&job.directory);
    }

    /// Whether this run is custody of survivors, whose end is then the job's.
    pub(super) fn is_job_of_survivors(&self) -> bool {
        let kind = self.job.as_ref().map(|job| job.kind);
        kind == Some(JobKind::Survivors)
    }

    /// Checks whether the command waits for input, and records what changed.
    pub(super) fn look_for_waiting(&mut self, now: Instant) {
        let (Some(job), Some(watch), Some(pump)) =
            (&self.job, &mut self.asking, self.pumps.first())
        else {
            return;
        };
        if self.phase != Phase::Running || now < watch.due() {
            return;
        }
        let stdin = match (&self.terminal, &self.input) {
            (Some(terminal), Some(input)) if input.has_sent_all() => terminal.if_read(),
            (None, Some(input)) => input.if_read(),
            (Some(_), _) | (None, None) => None,
        };
        if watch.look(now, &self.scope, stdin.as_ref(), &pump.spool) {
            let found = watch.found.clone().map(|mut found| {
                if job.spec.hides_secrets {
                    found.prompt = job.secrets.hide(&found.prompt).into_owned();
                }
                found
            });
            note_waiting(&job.directory, found.as_ref());
        }
    }

    /// Writes down, if it is time, which processes it looks after.
    pub(super) fn note_members(&mut self, now: Instant) {
        if let Some(job) = &mut self.job
            && !job.is_final
        {
            job.roster.look(&job.directory, now);
        }
    }

    /// When that is due, while there is something to write down.
    pub(super) fn roster_moment(&self) -> Option<Instant> {
        let job = self.job.as_ref().filter(|job| !job.is_final)?;
        (!self.tree_is_empty).then(|| job.roster.due())
    }

    /// Something was written or sent: it no longer waits.
    pub(super) fn stirred(&mut self, now: Instant) {
        if let Some(watch) = &mut self.asking
            && watch.stir(now)
            && let Some(job) = &self.job
        {
            note_waiting(&job.directory, None);
        }
    }
}

fn note_waiting(path: &Path, waiting: Option<&directory::AwaitedInput>) {
    let _ = match waiting {
        Some(waiting) => directory::write_whole(path, directory::WAITING, waiting),
        None => fs::remove_file(path.join(directory::WAITING)),
    };
}

/// A stream of which only the head file can be read later.
pub(super) fn head_only(pump: &super::pump::Pump) -> Vec<SpoolSegment> {
    let upto = pump.spool.total().min(pump.spool.head_bytes());
    vec![SpoolSegment {
        from: 0,
        upto,
        at: 0,
    }]
}

fn spill_line(id: &str) -> String {
    format!("\n[bashd: the output continues; to see its end: bashd jobs output {id} --tail 100]\n")
}

/// Writes the status; on a full disk, into the space reserved for it.
pub(super) fn write_status(job: &KeeperJob, mut status: JobStatus) -> io::Result<()> {
    let path = &*job.directory;
    for left in &mut status.left_behind {
        left.command = job.secrets.hide(&left.command).into_owned();
    }
    let written = directory::write_sealed(path, directory::STATUS, &status);
    if written.is_ok() {
        let _ = fs::remove_file(path.join(RESERVE));
        return Ok(());
    }
    status.left_behind.truncate(FEW_PROCESSES);
    let text = serde_json::to_vec(&status)?;
    let text = directory::sealed(path, directory::STATUS, text);
    let reserve = path.join(RESERVE);
    let file = fs::OpenOptions::new().write(true).open(&reserve)?;
    file.write_all_at(&text, 0)?;
    file.set_len(text.len() as u64)?;
    file.sync_all()?;
    fs::rename(reserve, path.join(directory::STATUS))
}

/// Wakes those who wait for the end of any job.
fn ring_bell(path: &Path) {
    if let Some(runs) = path.parent() {
        let _ = spool::write_private(&runs.join(crate::job::BELL), &[]);
    }
}

/// Listens on the job's control socket.
pub(super) fn listen(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let folder = rustix::fs::open(
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    // A socket address has room for 108 bytes; this spelling is short wherever the directory is.
    let address = format!(
        "/proc/self/fd/{}/{}",
        folder.as_raw_fd(),
        directory::CONTROL
    );
    rustix::net::bind(&socket, &SocketAddrUnix::new(address)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Who ended it, if somebody asked for that after its shell had ended.
pub(super) fn ended_later(run: &KeeperRun, by: Option<EndedBy>) -> Option<EndedBy> {
    if run.phase == Phase::Reported && !run.is_job_of_survivors() {
        run.ended_by
    } else {
        by
    }
}
