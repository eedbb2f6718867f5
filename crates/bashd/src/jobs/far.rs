//! What is known here of jobs at other places: one small file for each, so that they are listed
//! without a network. The place is the truth; a file says what was seen last.
//!
//! ```text
//! STATE/places/NAME/jobs/ID.json    a job there, as it was seen last
//! STATE/places/NAME/unreachable     there is one while the place can't be reached: why
//! ```

use crate::config::Config;
use crate::place::Berth;
use bashd_keeper::job::directory;
use bashd_keeper::spool::write_private;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the file of a job stays that has ended, or whose place was not heard of.
const KEPT: Duration = Duration::from_hours(14 * 24);

/// A job at another place, as it was seen last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FarJob {
    /// Its id there.
    pub id: String,
    /// Its short name, with the place before it: `big:bg_1`.
    pub alias: String,
    /// The place.
    #[serde(default)]
    pub place: String,
    /// The node there, if the place is an allocation: the number of its job, and its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Whose it is: front end and client.
    pub owner: String,
    /// The command.
    pub command: String,
    /// The state in which it was seen last, or `unreachable`.
    pub state: String,
    /// Whether it had not ended.
    pub is_alive: bool,
    /// Whether its owner knows that it has ended.
    #[serde(default = "known")]
    pub is_told: bool,
    /// Its exit status.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Milliseconds since 1970 at which it began, by the clock there.
    pub started_ms: u64,
    /// Milliseconds since 1970 at which it was seen.
    #[serde(default)]
    pub seen_ms: u64,
}

/// Where jobs are together: a place, or one node of an allocation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FarSite {
    pub(crate) place: String,
    pub(crate) berth: Option<Berth>,
}

/// The jobs at other places that this state directory knows of.
#[derive(Debug, Clone)]
pub struct FarJobs {
    places: PathBuf,
}

impl FarSite {
    /// A place that is no allocation.
    pub(crate) fn whole(place: &str) -> Self {
        Self {
            place: place.to_owned(),
            berth: None,
        }
    }

    /// Where a job of that name is, if it is at that place: `big:bg_1`, `big/4711.n2:bg_1`.
    pub(crate) fn of(job: &str, place: &str) -> Option<Self> {
        let (site, _) = job.strip_prefix(place)?.split_once(':')?;
        let berth = match site.strip_prefix('/') {
            Some(berth) => Some(Berth::read(berth)?),
            None if site.is_empty() => None,
            None => return None,
        };
        Some(Self {
            place: place.to_owned(),
            berth,
        })
    }
}

impl FarJob {
    /// What a job there is to others.
    pub(crate) fn of(job: &super::Job, jobs: &super::Jobs) -> Self {
        Self {
            is_told: job.has_ended() && jobs.is_acknowledged(job),
            id: job.id.clone(),
            alias: job.alias.clone(),
            place: String::new(),
            node: None,
            owner: job.owner.clone(),
            command: job.command.chars().take(LONGEST_COMMAND).collect(),
            state: job.state.name().to_owned(),
            is_alive: job.state.is_alive(),
            exit_code: job.exit_code,
            signal: job.signal,
            started_ms: job.started_ms,
            seen_ms: 0,
        }
    }

    /// A job that has just begun.
    pub(crate) fn begun((id, alias): (String, String), owner: &str, command: &str) -> Self {
        Self {
            id,
            alias,
            place: String::new(),
            node: None,
            owner: owner.to_owned(),
            command: command.chars().take(LONGEST_COMMAND).collect(),
            state: "running".to_owned(),
            is_alive: true,
            is_told: false,
            exit_code: None,
            signal: None,
            started_ms: directory::now_ms(),
            seen_ms: 0,
        }
    }

    /// Whether its owner is still to hear of its end.
    pub(crate) fn is_awaited(&self) -> bool {
        self.is_alive || !self.is_told
    }

    /// Where it is.
    pub(crate) fn site(&self) -> FarSite {
        FarSite {
            place: self.place.clone(),
            berth: self.node.as_deref().and_then(Berth::read),
        }
    }

    /// Its state, and when that was.
    pub fn told(&self) -> String {
        let seen = directory::now_ms().saturating_sub(self.seen_ms) / 1000;
        let ago = match seen {
            0..60 => format!("{seen} s"),
            60..3600 => format!("{} min", seen / 60),
            _ => format!("{} h", seen / 3600),
        };
        let how = match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => self.state.clone(),
        };
        if self.is_alive {
            format!("{how}, last seen {ago} ago")
        } else {
            how
        }
    }
}

/// Who wrote no word of it knew of no other.
fn known() -> bool {
    true
}

/// Characters of a command that are kept here.
const LONGEST_COMMAND: usize = 500;

impl FarJobs {
    /// Where something is kept about a place.
    pub(crate) fn folder(&self, place: &str) -> PathBuf {
        self.places.join(place)
    }

    /// Those of this configuration's state directory.
    pub fn of(config: &Config) -> Self {
        Self {
            places: config.state_dir.join("places"),
        }
    }

    /// All of them, by place and age.
    pub fn list(&self) -> Vec<FarJob> {
        let mut all = Vec::new();
        for place in fs::read_dir(&self.places).into_iter().flatten().flatten() {
            let is_unreachable = place.path().join(UNREACHABLE).exists();
            let mut jobs = read_all(&place.path().join("jobs"));
            for job in &mut jobs {
                if is_unreachable && job.is_alive {
                    "unreachable".clone_into(&mut job.state);
                }
            }
            all.extend(jobs);
        }
        all.sort_by(|a, b| (&a.place, a.started_ms, &a.id).cmp(&(&b.place, b.started_ms, &b.id)));
        all
    }

    /// The job of that id or short name.
    pub fn find(&self, name: &str) -> Option<FarJob> {
        let mut jobs = self.list().into_iter();
        jobs.rfind(|job| job.alias == name || job.id == name)
    }

    /// Why a place can't be reached, if that is so.
    pub fn why_unreachable(&self, place: &str) -> Option<String> {
        fs::read_to_string(self.places.join(place).join(UNREACHABLE)).ok()
    }

    /// Remembers a job. A failure only means that it is not listed.
    pub(crate) fn note(&self, site: &FarSite, job: &FarJob) -> io::Result<()> {
        // What comes from there names no file of ours.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if job.id.is_empty() || !job.id.chars().all(is_plain) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let directory = self.places.join(&site.place).join("jobs");
        fs::create_dir_all(&directory)?;
        let seen = FarJob {
            place: site.place.clone(),
            node: site.berth.as_ref().map(Berth::to_string),
            seen_ms: directory::now_ms(),
            ..job.clone()
        };
        let text = serde_json::to_vec(&seen).unwrap_or_default();
        let aside = directory.join(format!(".{}.{}", job.id, std::process::id()));
        write_private(&aside, &text)?;
        fs::rename(aside, directory.join(format!("{}.json", job.id)))
    }

    /// Remembers all jobs of an owner at a place; those that are not there any more are forgotten.
    pub(crate) fn saw(&self, site: &FarSite, owner: &str, jobs: &[FarJob]) {
        for job in jobs.iter().take(MOST_JOBS) {
            let _ = self.note(site, job);
        }
        let directory = self.places.join(&site.place).join("jobs");
        for known in read_all(&directory) {
            let is_there = jobs.iter().any(|job| job.id == known.id);
            if known.owner == owner && known.site().berth == site.berth && !is_there {
                let _ = fs::remove_file(directory.join(format!("{}.json", known.id)));
            }
        }
    }

    /// Remembers that an owner knows that these have ended.
    pub(crate) fn are_told(&self, site: &FarSite, ids: &[String]) {
        let directory = self.places.join(&site.place).join("jobs");
        for job in read_all(&directory) {
            if ids.contains(&job.id) {
                let told = FarJob {
                    is_told: true,
                    ..job
                };
                let _ = self.note(site, &told);
            }
        }
    }

    /// Remembers that a place was reached, or why not.
    pub(crate) fn reached(&self, place: &str, failure: Option<&str>) {
        let at = self.places.join(place).join(UNREACHABLE);
        let Some(why) = failure else {
            let _ = fs::remove_file(at);
            return;
        };
        // Nobody asks about a place at which there is nothing of ours.
        if at.parent().is_some_and(Path::exists) {
            let _ = write_private(&at, why.as_bytes());
        }
    }
}

/// The file that says why a place can't be reached.
const UNREACHABLE: &str = "unreachable";

/// Jobs of one answer that are remembered.
const MOST_JOBS: usize = 500;

/// The jobs of a directory; files that nobody will ask for are removed.
fn read_all(directory: &Path) -> Vec<FarJob> {
    let mut jobs = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().ends_with(".json") {
            continue;
        }
        let text = fs::read(entry.path()).unwrap_or_default();
        let Ok(job) = serde_json::from_slice::<FarJob>(&text) else {
            continue;
        };
        let age = directory::now_ms().saturating_sub(job.seen_ms);
        if u128::from(age) > KEPT.as_millis() {
            let _ = fs::remove_file(entry.path());
        } else {
            jobs.push(job);
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str, alias: &str) -> FarJob {
        FarJob::begun((id.to_owned(), alias.to_owned()), "cli:1", "sleep 9")
    }

    #[test]
    fn what_was_seen_is_listed_and_what_is_gone_is_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let jobs = FarJobs::of(&Config::new(state.path()));
        jobs.reached("big", Some("no route to host"));
        assert_eq!(
            jobs.why_unreachable("big"),
            None,
            "nothing of ours is there"
        );
        let big = FarSite::of("big:bg_1", "big").unwrap();
        jobs.note(&big, &job("one", "big:bg_1")).unwrap();
        jobs.note(&big, &job("two", "big:bg_2")).unwrap();
        assert_eq!(jobs.find("big:bg_2").unwrap().id, "two");
        jobs.reached("big", Some("no route to host"));
        let listed = jobs.list();
        let states: Vec<&str> = listed.iter().map(|job| &*job.state).collect();
        assert_eq!(states, ["unreachable", "unreachable"]);
        assert!(
            listed[0]
                .told()
                .starts_with("unreachable, last seen 0 s ago")
        );
        jobs.reached("big", None);
        jobs.saw(&big, "cli:1", &[job("two", "big:bg_2")]);
        let listed: Vec<String> = jobs.list().into_iter().map(|job| job.alias).collect();
        assert_eq!(listed, ["big:bg_2"]);
        for hostile in ["../../x", "", "a/b"] {
            assert!(jobs.note(&big, &job(hostile, "x")).is_err(), "{hostile}");
        }
    }

    #[test]
    fn a_node_forgets_its_own_jobs_only() {
        let state = tempfile::tempdir().unwrap();
        let jobs = FarJobs::of(&Config::new(state.path()));
        let aliases = ["far/4711.n1:bg_1", "far/4711.n2:bg_1"];
        let [one, other] = aliases.map(|alias| FarSite::of(alias, "far").unwrap());
        assert_ne!(one, other);
        jobs.saw(&one, "cli:1", &[job("one", aliases[0])]);
        jobs.saw(&other, "cli:1", &[job("two", aliases[1])]);
        let known = |jobs: &FarJobs| jobs.list().iter().map(FarJob::site).collect::<Vec<_>>();
        assert_eq!(known(&jobs), [one.clone(), other.clone()]);
        jobs.saw(&one, "cli:1", &[]);
        assert_eq!(known(&jobs), [other]);
    }

    #[test]
    fn a_name_says_where_its_job_is() {
        let node = |job: &str| {
            let site = FarSite::of(job, "far")?;
            Some(site.berth.map(|berth| berth.to_string()))
        };
        assert_eq!(node("far:bg_1"), Some(None));
        assert_eq!(node("far/4711.n2:bg_1"), Some(Some("4711.n2".to_owned())));
        for other in [
            "bg_1",
            "farther:bg_1",
            "far/x:bg_1",
            "far/4711.-n:bg_1",
            "far",
        ] {
            assert_eq!(node(other), None, "{other}");
        }
    }
}
