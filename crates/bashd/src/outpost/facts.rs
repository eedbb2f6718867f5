//! What an outpost says about where it is, and its answers to calls about jobs.

use super::Outpost;
use crate::artifact::ArtifactStore;
use crate::config::Config;
use crate::errand;
use crate::place::conclusion::Conclusion;
use crate::place::managed::{ManagedCall, ManagedReply};
use crate::place::stored::{PartThere, StoredWish};
use crate::place::{BUILD, PlaceFacts};
use crate::reply::Reply;
use rustix::process::{PidfdFlags, child_subreaper, getpid, getuid, pidfd_open};
use serde_bytes::ByteBuf;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// With less free space, a few long outputs fill the disk.
const LITTLE_SPACE: u64 = 1 << 30;

impl Outpost {
    /// Answers a call about jobs. A run whose call was not told its end is found here, too, as long
    /// as it is kept.
    pub(crate) async fn manage(self: &Arc<Self>, call: &ManagedCall) -> ManagedReply {
        match self.engine(&call.settings).await {
            Ok(engine) => {
                let managed = Box::pin(engine.manage(call)).await;
                if !managed.is_error() {
                    return managed;
                }
                self.told_of_run(&call.input).await.unwrap_or(managed)
            }
            Err(error) => ManagedReply::failed(&error),
        }
    }

    /// What is known of the run that a call names by its id, if it is one.
    async fn told_of_run(self: &Arc<Self>, input: &str) -> Option<ManagedReply> {
        let input: Value = serde_json::from_str(input).ok()?;
        let named = input["job"].as_str().or(input["jobs"][0].as_str())?;
        let id = named.rsplit(':').next().unwrap_or(named);
        let run = match self.find(id) {
            Ok(run) => run,
            Err(Conclusion::Lost) => {
                let text = format!("{named}: it was begun, and nobody knows how it ended");
                return Some(ManagedReply::of(said(text), None));
            }
            Err(_) => return None,
        };
        if input["action"] == "kill" {
            self.cancel(id.to_owned());
        }
        let telling = errand::read(move |_| run.told());
        let (text, exit_code, output) = telling.await.ok()?;
        let mut reply = said(format!("{named}: {text}\n{output}"));
        reply.result = json!({"jobs": [{"id": id, "exit_code": exit_code, "told": text}]});
        reply.exit_code = exit_code;
        reply.output = output;
        Some(ManagedReply::of(reply, None))
    }

    /// Reads a part of what is stored here.
    pub(crate) async fn stored(&self, wish: StoredWish) -> Result<PartThere, String> {
        let is_raw = wish.is_raw;
        let (id, selection, most) = wish.selection()?;
        // All engines here have one store.
        let mut config = Config::new(&self.settings.state_dir);
        config.secrets.known = self.known.clone();
        let store = ArtifactStore::of(&config);
        let read = errand::read(move |_| {
            let stored = store.open(id)?;
            let stored = if is_raw { stored.raw() } else { stored };
            let part = stored.first_of(&selection, most)?;
            std::io::Result::Ok(PartThere {
                bytes: ByteBuf::from(part.bytes),
                is_cut: part.is_cut,
                rest: part.rest,
            })
        });
        let read = read.await.unwrap_or_else(|failure| Err(failure.into()));
        read.map_err(|error| error.to_string())
    }

    /// Looks around.
    pub(crate) async fn facts(&self) -> PlaceFacts {
        let state = self.settings.state_dir.clone();
        let env = &self.settings.surroundings.env;
        // What Slurm lent of this machine.
        let lent = env.iter().find(|(name, _)| name == "SLURM_CPUS_ON_NODE");
        let lent = lent.and_then(|(_, count)| count.to_str()?.parse().ok());
        let looked = errand::read(move |_| look_around(&state, lent)).await;
        let home = env.iter().find(|(name, _)| name == "HOME");
        let build = self.settings.build.clone();
        PlaceFacts {
            build: build.unwrap_or_else(|| BUILD.to_owned()),
            user: getuid().as_raw(),
            home: home.map(|(_, home)| home.to_string_lossy().into_owned()),
            runs: self.running() as u64,
            jobs: self.live_jobs().await as u64,
            ..looked.unwrap_or_default()
        }
    }
}

fn said(text: String) -> Reply {
    Reply {
        text,
        ..Reply::default()
    }
}

/// How well the processes of commands are held together here.
pub(super) fn held_trees() -> &'static str {
    let has_pidfd = pidfd_open(getpid(), PidfdFlags::empty()).is_ok();
    match (child_subreaper().is_ok(), has_pidfd) {
        (true, true) => WELL_HELD,
        (true, false) => "subreaper",
        (false, _) => NOT_HELD,
    }
}

/// As bashd wants it.
const WELL_HELD: &str = "subreaper and pidfd";

/// Where they are not held at all.
const NOT_HELD: &str = "none";

/// Why no command is run here, if its processes could not be held together.
pub fn cannot_hold() -> Option<&'static str> {
    not_held(held_trees())
}

pub(super) fn not_held(trees: &str) -> Option<&'static str> {
    let text = "the processes of a command can't be held together here, so none is run: this kernel \
                has no child subreaper (gVisor has one since 2023)";
    (trees == NOT_HELD).then_some(text)
}

/// What is said where they are held less well.
pub(super) fn less_held(trees: &str) -> Option<String> {
    let less = || {
        format!(
            "the processes of commands are held by `{trees}` only here (no pidfd, as in gVisor)"
        )
    };
    let not_held = not_held(trees).map(str::to_owned);
    not_held.or_else(|| (trees != WELL_HELD).then(less))
}

/// What can be found out without anybody's help. Waits for files.
fn look_around(state: &Path, lent: Option<u64>) -> PlaceFacts {
    let mut problems = Vec::new();
    let told = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        text.unwrap_or_default().trim().to_owned()
    };
    let trees = held_trees();
    problems.extend(less_held(trees));
    let space = rustix::fs::statvfs(state);
    let free_bytes = space.map_or(0, |space| space.f_bavail.saturating_mul(space.f_frsize));
    if free_bytes < LITTLE_SPACE {
        let mib = free_bytes >> 20;
        problems.push(format!("{} has {mib} MiB left", state.display()));
    }
    if let Err(error) = fs::write(state.join(".written"), "") {
        problems.push(format!("{} can't be written: {error}", state.display()));
    }
    let _ = fs::remove_file(state.join(".written"));
    if !Path::new("/bin/bash").exists() && !Path::new("/usr/bin/bash").exists() {
        problems.push("there is no bash in /bin or /usr/bin".to_owned());
    }
    let survives_logout = survives_logout();
    if survives_logout == Some(false) {
        problems.push("jobs end when the user logs out (KillUserProcesses)".to_owned());
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|load| load.parse().ok());
    let processors = std::thread::available_parallelism().map_or(0, |count| count.get() as u64);
    let processors = lent.unwrap_or(processors);
    PlaceFacts {
        host: told("hostname"),
        kernel: told("osrelease"),
        machine: std::env::consts::ARCH.to_owned(),
        trees: trees.to_owned(),
        survives_logout,
        free_bytes,
        load: load.unwrap_or_default(),
        processors,
        problems,
        ..PlaceFacts::default()
    }
}

/// Whether what a user started goes on after a logout, if that is known: where no login manager
/// ends it, or its configuration says something.
fn survives_logout() -> Option<bool> {
    if !Path::new("/run/systemd/system").exists() {
        return Some(true);
    }
    let parts = fs::read_dir("/etc/systemd/logind.conf.d");
    let parts = parts.into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = parts.map(|part| part.path()).collect();
    // In this order they are read.
    files.sort();
    let files = std::iter::once("/etc/systemd/logind.conf".into()).chain(files);
    said_of_logout(files.map(|file| fs::read_to_string(file).unwrap_or_default()))
}

/// What configurations of logind say, the last word counts.
fn said_of_logout(texts: impl Iterator<Item = String>) -> Option<bool> {
    let mut said = None;
    for text in texts {
        for line in text.lines() {
            if let Some(value) = line.trim().strip_prefix("KillUserProcesses=") {
                said = Some(!matches!(value.trim(), "yes" | "true" | "1" | "on"));
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_login_manager_is_told_decides_whether_jobs_survive() {
        let said = |texts: &[&str]| said_of_logout(texts.iter().map(|text| (*text).to_owned()));
        assert_eq!(said(&["[Login]\n#KillUserProcesses=yes\n"]), None);
        assert_eq!(said(&["[Login]\nKillUserProcesses=yes\n"]), Some(false));
        assert_eq!(
            said(&["KillUserProcesses=yes", " KillUserProcesses=no"]),
            Some(true)
        );
    }

    #[test]
    fn this_machine_is_described() {
        let state = tempfile::tempdir().unwrap();
        let facts = look_around(state.path(), None);
        assert!(
            !facts.kernel.is_empty() && facts.free_bytes > 0,
            "{facts:?}"
        );
        assert_eq!(facts.trees, "subreaper and pidfd");
        let missing = look_around(&state.path().join("missing"), None);
        assert!(
            missing
                .problems
                .iter()
                .any(|problem| problem.contains("can't be written")),
            "{missing:?}"
        );
    }
}
