//! Finding a run by any of its names: an artifact's number, a job, or a call of the ledger.

use super::{AboutRun, RecordedRun, Timing, Track};
use crate::artifact::{Artifact, ArtifactStore, parse_id};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::jobs::{Job, Jobs, Whose};
use crate::ledger::{Ledger, Record, RecordQuery};
use crate::output::Source;
use crate::output::veiled::Veil;
use bashd_keeper::spool::{StoredTimes, TimesOfStream, moments};
use jiff::Timestamp;
use std::time::Duration;

/// Shortest beginning of a call's id that stands for it.
const SHORTEST: usize = 4;

impl RecordedRun {
    /// The run that this names: an artifact (`3`, `artifact://3`), a job (`bg_1`, its id), or a
    /// call of the ledger (its id, or the beginning of one).
    pub async fn find(config: &Config, name: &str) -> Result<Self> {
        let store = ArtifactStore::of(config);
        if let Some(number) = parse_id(name) {
            let unknown =
                |error| Error::io(ErrorKind::Io, format!("open artifact {number}"), error);
            let artifact = store.open(number).map_err(unknown)?;
            let run = artifact.summary().run;
            let record = records(config)?.find(|record| record.id == run);
            return Ok(Self::of_artifact(config, &store, artifact, record.as_ref()));
        }
        let jobs = Jobs::new(config);
        if let Ok(job) = jobs.find(Whose::Everybody, name) {
            return Self::of_job(config, &jobs, job).await;
        }
        let record = call(config, name)?;
        if let Ok(artifact) = store.open_run(&record.id) {
            return Ok(Self::of_artifact(config, &store, artifact, Some(&record)));
        }
        Ok(Self::unstored(config, &record))
    }

    /// A call of the ledger, with what is stored of it.
    pub fn of_record(config: &Config, record: &Record) -> Self {
        let store = ArtifactStore::of(config);
        match store.open_run(&record.id) {
            Ok(artifact) => Self::of_artifact(config, &store, artifact, Some(record)),
            Err(_) => Self::unstored(config, record),
        }
    }

    fn of_artifact(
        config: &Config,
        store: &ArtifactStore,
        artifact: Artifact,
        record: Option<&Record>,
    ) -> Self {
        let summary = artifact.summary();
        let stored = StoredTimes::load(&store.directory_of(&summary.run));
        let mut about = about(&summary.run, record);
        about.output_bytes = summary.bytes;
        let artifact = artifact.raw();
        Self::timed(config, about, vec![Box::new(artifact)], stored.as_ref())
    }

    async fn of_job(config: &Config, jobs: &Jobs, job: Job) -> Result<Self> {
        let is_running = job.state.is_alive();
        let (sources, stored) = jobs.recorded(&job).await?;
        let secrets = config.secrets.known.now();
        let about = AboutRun {
            id: job.id.clone(),
            command: secrets.hide(&job.command).into_owned(),
            started: Timestamp::from_millisecond(job.started_ms.cast_signed()).ok(),
            ran_for: job.ran_for.unwrap_or(Duration::from_millis(job.age_ms)),
            exit_code: job.exit_code,
            terminal: job.terminal,
            output_bytes: sources.iter().map(|source| source.len()).sum(),
            is_running,
            ..AboutRun::default()
        };
        Ok(Self::timed(config, about, sources, stored.as_ref()))
    }

    /// A call of whose output nothing is stored.
    fn unstored(config: &Config, record: &Record) -> Self {
        let mut about = about(&record.id, Some(record));
        about.timing = Timing::NoOutput;
        Self {
            about,
            sources: Vec::new(),
            tracks: Vec::new(),
            veil: Veil::over(config.secrets.known.now()),
        }
    }

    /// With its times, if there are any. Each source is a stream, or there is one with all of them.
    fn timed(
        config: &Config,
        mut about: AboutRun,
        sources: Vec<Box<dyn Source + Send>>,
        stored: Option<&StoredTimes>,
    ) -> Self {
        let mut tracks = Vec::new();
        if let Some(stored) = stored {
            about.timing = Timing::Recorded;
            about.terminal = stored.header.terminal.or(about.terminal);
            if stored.header.ran_us > 0 {
                about.ran_for = Duration::from_micros(stored.header.ran_us);
            }
            let started = Timestamp::from_millisecond(stored.header.started_ms.cast_signed());
            about.started = started.ok().or(about.started);
            let streams = stored.header.streams.iter().zip(&stored.streams);
            for (number, (stream, times)) in streams.enumerate() {
                let source = number.min(sources.len().saturating_sub(1));
                tracks.push(Track {
                    source,
                    from: stream.from,
                    bytes: bytes_of(stream, &sources, source),
                    moments: moments(times),
                });
            }
        } else {
            for (source, stream) in sources.iter().enumerate() {
                tracks.push(Track {
                    source,
                    from: 0,
                    bytes: stream.len(),
                    moments: Vec::new(),
                });
            }
        }
        Self {
            about,
            sources,
            tracks,
            veil: Veil::over(config.secrets.known.now()),
        }
    }
}

/// The bytes of a stream that its source has.
fn bytes_of(stream: &TimesOfStream, sources: &[Box<dyn Source + Send>], source: usize) -> u64 {
    let length = sources.get(source).map_or(0, |source| source.len());
    stream.bytes.min(length.saturating_sub(stream.from))
}

/// What the ledger says of a call.
fn about(id: &str, record: Option<&Record>) -> AboutRun {
    let mut about = AboutRun {
        id: id.to_owned(),
        ..AboutRun::default()
    };
    if let Some(record) = record {
        about.command.clone_from(&record.command);
        about.started = Some(record.time);
        about.ran_for = Duration::from_millis(record.ran_ms.unwrap_or(record.wall_ms));
        about.exit_code = record.exit_code;
        about.output_bytes = record.output_bytes;
    }
    about
}

fn records(config: &Config) -> Result<impl Iterator<Item = Record>> {
    let directory = config.ledger_dir();
    let ledger = Ledger::new(config.ledger, &directory);
    let records = ledger.read(RecordQuery::default());
    let unreadable = |error| Error::io(ErrorKind::Io, "read the ledger", error);
    Ok(records.map_err(unreadable)?.flatten())
}

/// The call of that id, or of the only id that begins so.
fn call(config: &Config, name: &str) -> Result<Record> {
    let unknown = |text: String| Error::new(ErrorKind::NoSuchJob, text).about(name);
    let asked = name.to_ascii_uppercase();
    if asked.len() < SHORTEST {
        let text =
            format!("there is no job and no artifact {name}, and it is too short for a call's id");
        return Err(unknown(text));
    }
    let mut found: Vec<Record> = Vec::new();
    for record in records(config)? {
        let id = record.id.to_ascii_uppercase();
        if id == asked {
            return Ok(record);
        }
        // What was done to a job later has an id of its own.
        if id.starts_with(&asked) {
            found.push(record);
        }
    }
    match found.len() {
        0 => Err(unknown(format!("there is no call, job or artifact {name}"))),
        1 => found.pop().ok_or_else(|| unknown(String::new())),
        several => {
            let ids: Vec<&str> = found.iter().map(|record| record.id.as_str()).collect();
            let text = format!("{several} calls begin with {name}: {}", ids.join(", "));
            Err(unknown(text))
        }
    }
}
