//! Allocations of Slurm as places: what one is asked for with, what Slurm's programs are told, and
//! what they say.
//!
//! The outpost is the batch script of an allocation, and a step on each further node of it. What
//! Slurm says of a job decides whether anything of it may still run, never how one of its programs
//! ended: `srun` exits with 0 after its node failed.

use super::BUILD;
use super::housed::HouseState;
use super::settings::PlaceSettings;
use crate::output::plain;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The name of all jobs of ours: one question is about all of them.
pub(super) const JOB_NAME: &str = "bashd";

/// What is asked of each job, and in which order.
const FIELDS: &str = "--format=%A|%T|%r|%S|%e|%P|%N";

/// Nodes of one list that are believed.
const MOST_NODES: usize = 10_000;

/// How long an outpost stays idle, unless that is configured: others wait for what it holds.
const IDLE: Duration = Duration::from_mins(1);

/// The same, if it is for one call alone.
const ALONE: Duration = Duration::from_secs(1);

/// Who shares an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlurmSharing {
    /// One for each caller: front end and client.
    #[default]
    Session,
    /// One for all.
    Shared,
    /// One for each call.
    Job,
}

/// Allocations, in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SlurmSettings {
    /// The partition; else Slurm's own choice.
    pub partition: Option<String>,
    /// Whose account is charged.
    pub account: Option<String>,
    /// Processors on each node.
    pub cpus: Option<u64>,
    /// Bytes of memory on each node.
    pub memory: Option<u64>,
    /// Graphics processors on each node.
    pub gpus: Option<u64>,
    /// How long an allocation lasts, as Slurm writes it.
    pub time: Option<String>,
    /// How many nodes; one, if that is not said.
    pub nodes: Option<u64>,
    /// Who shares an allocation.
    pub sharing: SlurmSharing,
    /// How long to wait in the queue.
    pub queue: Option<Duration>,
    /// bashd on the nodes, if it is installed.
    pub bin: Option<String>,
    /// Where runs are kept: a directory that nodes and login share.
    pub state_dir: Option<PathBuf>,
    /// Further words for `sbatch`.
    pub options: Vec<String>,
}

/// What Slurm says of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlurmJob {
    pub(super) id: u64,
    state: String,
    reason: String,
    start: String,
    end: String,
    partition: String,
    pub(super) nodes: Vec<String>,
}

impl SlurmSettings {
    /// Words that ask for an allocation, whose batch script is their stdin.
    pub(super) fn submit(&self, place: &str, log: &str) -> Vec<String> {
        let mut words = vec![
            "sbatch".to_owned(),
            "--parsable".to_owned(),
            "--no-requeue".to_owned(),
            "--export=NONE".to_owned(),
            "--signal=B:TERM@60".to_owned(),
            format!("--job-name={JOB_NAME}"),
            format!("--comment=bashd place {place}"),
            format!("--output={log}"),
            format!("--nodes={}", self.node_count()),
            "--ntasks-per-node=1".to_owned(),
        ];
        let mut set = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name}={value}")));
        };
        set("partition", self.partition.clone());
        set("account", self.account.clone());
        set("cpus-per-task", self.cpus.map(|cpus| cpus.to_string()));
        // Slurm counts in MiB.
        set(
            "mem",
            self.memory
                .map(|bytes| format!("{}M", bytes.div_ceil(1 << 20))),
        );
        set("gpus-per-node", self.gpus.map(|gpus| gpus.to_string()));
        set("time", self.time.clone());
        if self.node_count() > 1 {
            // One that fails takes only what ran on it along.
            words.push("--no-kill".to_owned());
        }
        words.extend(self.options.iter().cloned());
        words
    }

    pub(super) fn node_count(&self) -> u64 {
        self.nodes.unwrap_or(1).max(1)
    }

    /// The batch script.
    pub(super) fn script(&self, place: &PlaceSettings, ground: &SlurmGround) -> String {
        let idle = match self.sharing {
            // Nobody else comes.
            SlurmSharing::Job => ALONE,
            SlurmSharing::Session | SlurmSharing::Shared => IDLE,
        };
        let idle = place.idle.unwrap_or(idle).as_secs_f64();
        let hold = format!(
            "{} outpost --hold --leased --idle {idle} --state {}{}",
            quoted(&ground.bin),
            quoted(&ground.state),
            ground.build_words(),
        );
        let others = if self.node_count() > 1 {
            // Their steps are children of what this becomes, and end with it.
            format!(
                "for node in $(scontrol show hostnames); do\n\
                 [ \"$node\" = \"$SLURMD_NODENAME\" ] && continue\n\
                 srun --overlap --nodes=1 --ntasks=1 --nodelist=\"$node\" --export=ALL {hold} </dev/null &\n\
                 done\n"
            )
        } else {
            String::new()
        };
        format!("#!/bin/sh\n{others}exec {hold}\n")
    }

    /// Words that reach the outpost on a node.
    pub(super) fn enter(job: u64, node: &str, ground: &SlurmGround) -> Vec<String> {
        let mut words = vec![
            "srun".to_owned(),
            format!("--jobid={job}"),
            "--overlap".to_owned(),
            "--nodes=1".to_owned(),
            "--ntasks=1".to_owned(),
            format!("--nodelist={node}"),
            "--unbuffered".to_owned(),
            "--export=NONE".to_owned(),
            ground.bin.clone(),
            "outpost".to_owned(),
            "--join".to_owned(),
            "--leased".to_owned(),
            "--state".to_owned(),
            ground.of_node(job, node),
        ];
        let build = ground.build_words();
        words.extend(build.split_whitespace().map(str::to_owned));
        words
    }

    /// Words that read what an outpost left, where the same files are: an outpost of their
    /// directory which soon leaves again. It has a name of its own: who joins that of the node,
    /// should the login be that node, does not find it.
    pub(super) fn read_left(job: u64, node: &str, ground: &SlurmGround) -> Vec<String> {
        vec![
            ground.bin.clone(),
            "outpost".to_owned(),
            "--idle".to_owned(),
            "5".to_owned(),
            "--state".to_owned(),
            ground.of_node(job, node),
            "--build".to_owned(),
            format!("left{}", ground.build.as_deref().unwrap_or(BUILD)),
        ]
    }
}

/// What is known of the ground on which allocations stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlurmGround {
    /// bashd, on every node.
    pub(super) bin: String,
    /// The state directory, on every node and at the login.
    pub(super) state: String,
    /// Which program it is, if it was sent.
    pub(super) build: Option<String>,
}

impl SlurmGround {
    fn of_node(&self, job: u64, node: &str) -> String {
        format!("{}/slurm/{job}/{node}", self.state)
    }

    /// The log of its batch script, as `sbatch` reads it.
    pub(super) fn log(&self) -> String {
        format!("{}/slurm/%j.log", self.state)
    }

    fn build_words(&self) -> String {
        let build = self.build.as_ref();
        build.map_or_else(String::new, |build| format!(" --build {build}"))
    }
}

/// What `find_state` says before the directory.
const STATE: &str = "bashd-state ";

/// Words that make the state directory, and say which it is.
pub(super) fn find_state(given: Option<&str>) -> Vec<String> {
    let state = given.map_or_else(
        || "\"${XDG_STATE_HOME:-$HOME/.local/state}/bashd\"".to_owned(),
        quoted,
    );
    let script = format!(
        "umask 077; s={state}; mkdir -p \"$s/slurm\" && cd \"$s\" && printf \"{STATE}%s\\n\" \"$s\""
    );
    ["/bin/sh".to_owned(), "-c".to_owned(), script].to_vec()
}

/// The directory that was said, whatever a login printed before it.
pub(super) fn found_state(told: &str) -> Option<String> {
    let mut lines = told.lines().rev();
    let state = lines.find_map(|line| line.strip_prefix(STATE))?;
    let is_plain = state.starts_with('/') && !state.contains(char::is_whitespace);
    is_plain.then(|| state.to_owned())
}

/// Words that ask for all jobs of ours.
pub(super) fn query() -> Vec<String> {
    let words = [
        "squeue",
        "--me",
        "--noheader",
        "--states=all",
        &format!("--name={JOB_NAME}"),
        FIELDS,
    ];
    words.map(str::to_owned).to_vec()
}

/// Words that end a job.
pub(super) fn cancel(job: u64) -> Vec<String> {
    vec!["scancel".to_owned(), job.to_string()]
}

/// The number of the job that `sbatch --parsable` told.
pub(super) fn submitted(told: &str) -> Option<u64> {
    let line = told.lines().rev().find(|line| !line.trim().is_empty())?;
    // The name of a cluster may follow.
    line.trim().split(';').next()?.parse().ok()
}

/// The jobs that were told.
pub(super) fn jobs(told: &str) -> BTreeMap<u64, SlurmJob> {
    let jobs = told.lines().filter_map(|line| {
        let line = plain(line.as_bytes());
        let mut fields = line.split('|').map(str::trim);
        let id = fields.next()?.parse().ok()?;
        let mut field = || fields.next().unwrap_or_default().to_owned();
        let job = SlurmJob {
            id,
            state: field(),
            reason: field(),
            start: field(),
            end: field(),
            partition: field(),
            nodes: hosts(&field()),
        };
        Some((id, job))
    });
    jobs.collect()
}

impl SlurmJob {
    /// What its state means for whoever waits for it, or had something running in it.
    pub(super) fn told(&self) -> HouseState {
        let Self { id, state, .. } = self;
        match &**state {
            "RUNNING" => HouseState::Running,
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT"
            | "RESV_DEL_HOLD" | "CONFIGURING" => HouseState::Held(self.waiting()),
            "CANCELLED" | "COMPLETED" | "COMPLETING" | "FAILED" | "TIMEOUT" | "PREEMPTED"
            | "OUT_OF_MEMORY" | "NODE_FAIL" | "BOOT_FAIL" | "DEADLINE" | "REVOKED" => {
                HouseState::Stopped(format!("Slurm says of job {id}: {state}{}", self.because()))
            }
            // Suspended, stopped, being resized, and what we have never heard of: no verdict.
            _ => HouseState::Held(format!("Slurm says of job {id}: {state}{}", self.because())),
        }
    }

    /// Slurm's word for it.
    pub(super) fn word(&self) -> String {
        format!(
            "Slurm says of job {}: {}{}",
            self.id,
            self.state,
            self.because()
        )
    }

    fn because(&self) -> String {
        match &*self.reason {
            "" | "None" => String::new(),
            reason => format!(" ({reason})"),
        }
    }

    fn waiting(&self) -> String {
        let Self {
            id,
            state,
            partition,
            start,
            ..
        } = self;
        let estimate = match &**start {
            "" | "N/A" | "Unknown" => String::new(),
            start => format!(", est. {}", start.replace('T', " ")),
        };
        let state = match &**state {
            "PENDING" => String::new(),
            state => format!("{state}, "),
        };
        let reason = match &*self.reason {
            "" | "None" => "no reason yet",
            reason => reason,
        };
        format!("waiting in the queue of {partition}: {state}{reason}{estimate} (job {id})")
    }

    /// Whether nothing of it runs any more, or will.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.told(), HouseState::Stopped(_))
    }

    /// What there is to say of one that has not ended.
    pub(super) fn shown(&self) -> String {
        let Self { id, partition, .. } = self;
        match self.told() {
            HouseState::Held(word) => word,
            _ => format!(
                "job {id} in {partition}: {}, {} nodes, until {}",
                self.state,
                self.nodes.len(),
                self.end.replace('T', " ")
            ),
        }
    }

    /// Whether it waits in the queue: what ran in it before that runs no more.
    pub(super) fn is_waiting(&self) -> bool {
        let queued = [
            "PENDING",
            "REQUEUED",
            "REQUEUE_HOLD",
            "REQUEUE_FED",
            "SPECIAL_EXIT",
        ];
        queued.contains(&&*self.state)
    }

    /// Whether all that ran in it has certainly ended. Of a node that failed Slurm knows nothing.
    pub(super) fn is_all_ended(&self) -> bool {
        let ended = [
            "CANCELLED",
            "COMPLETED",
            "FAILED",
            "TIMEOUT",
            "PREEMPTED",
            "OUT_OF_MEMORY",
            "DEADLINE",
        ];
        ended.contains(&&*self.state)
    }

    /// Whether Slurm is about to end what runs in it.
    pub(super) fn is_ending(&self) -> bool {
        self.state == "COMPLETING"
    }
}

/// The hosts of a list as Slurm writes it: `n[1-3,7],login`.
pub(super) fn hosts(list: &str) -> Vec<String> {
    let mut all = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                expand(list.get(from..at).unwrap_or_default(), &mut all);
                from = at + 1;
            }
            _ => {}
        }
    }
    expand(list.get(from..).unwrap_or_default(), &mut all);
    all
}

/// One entry of such a list.
fn expand(entry: &str, all: &mut Vec<String>) {
    let entry = entry.trim();
    if entry.is_empty() || entry.starts_with('(') || all.len() >= MOST_NODES {
        return;
    }
    let Some((before, rest)) = entry.split_once('[') else {
        all.push(entry.to_owned());
        return;
    };
    let Some((ranges, behind)) = rest.split_once(']') else {
        return;
    };
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(from), Ok(upto)) = (first.parse::<u64>(), last.parse::<u64>()) else {
            continue;
        };
        let width = first.len();
        for number in from..=upto {
            if all.len() >= MOST_NODES {
                return;
            }
            expand(&format!("{before}{number:0width$}{behind}"), all);
        }
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r#"'"'"'"#))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::PlaceKind;

    #[test]
    fn an_allocation_is_asked_for_as_configured() {
        let settings = SlurmSettings {
            partition: Some("gpu".to_owned()),
            cpus: Some(4),
            memory: Some(16 << 30),
            gpus: Some(1),
            time: Some("2:00:00".to_owned()),
            nodes: Some(3),
            ..SlurmSettings::default()
        };
        let words = settings.submit("big", "/s/%j.log").join(" ");
        for word in [
            "--no-requeue --export=NONE --signal=B:TERM@60",
            "--nodes=3 --ntasks-per-node=1",
            "--partition=gpu --cpus-per-task=4 --mem=16384M --gpus-per-node=1 --time=2:00:00",
            "--no-kill",
        ] {
            assert!(words.contains(word), "{word}: {words}");
        }
        let ground = SlurmGround {
            bin: "/it's/bashd".to_owned(),
            state: "/s".to_owned(),
            build: None,
        };
        let place = PlaceSettings::new("big", PlaceKind::Slurm(settings.clone()));
        let script = settings.script(&place, &ground);
        assert!(
            script.ends_with(
                "exec '/it'\"'\"'s/bashd' outpost --hold --leased --idle 60 --state '/s'\n"
            ),
            "{script}"
        );
        let words = SlurmSettings::enter(7, "n1", &ground).join(" ");
        assert!(
            words.contains("--jobid=7 --overlap --nodes=1 --ntasks=1 --nodelist=n1 --unbuffered")
                && words.ends_with("outpost --join --leased --state /s/slurm/7/n1"),
            "{words}"
        );
    }

    #[test]
    fn what_slurm_says_decides_whether_anything_of_it_still_runs() {
        let told = jobs(
            "7|RUNNING|None|2026-11-18T14:05:00|N/A|gpu|n[1-3]\n\
             8|PENDING|Priority|2026-11-18T14:05:00|N/A|gpu|\n\
             9|NODE_FAIL|NodeDown|x|x|gpu|n1\n10|SUSPENDED|None|x|x|gpu|n1\n\
             11|FROBNICATED|None|x|x|gpu|n1\nslurm_load_jobs: noise\n",
        );
        let told_of = |id: u64| told.get(&id).unwrap().told();
        assert_eq!(told_of(7), HouseState::Running);
        assert_eq!(told.get(&7).unwrap().nodes, ["n1", "n2", "n3"]);
        let text = "waiting in the queue of gpu: Priority, est. 2026-11-18 14:05:00 (job 8)";
        assert_eq!(told_of(8), HouseState::Held(text.to_owned()));
        let text = "Slurm says of job 9: NODE_FAIL (NodeDown)";
        assert_eq!(told_of(9), HouseState::Stopped(text.to_owned()));
        assert!(matches!(told_of(10), HouseState::Held(_)));
        let text = "Slurm says of job 11: FROBNICATED";
        assert_eq!(told_of(11), HouseState::Held(text.to_owned()));
        assert_eq!(told.len(), 5);
        assert_eq!(submitted("42;cluster\n"), Some(42));
        assert_eq!(submitted("sbatch: error\n"), None);
    }

    #[test]
    fn lists_of_hosts_are_read_as_slurm_writes_them() {
        for (list, expected) in [
            ("n1", vec!["n1"]),
            (
                "n[1-2,07-08],login",
                vec!["n1", "n2", "n07", "n08", "login"],
            ),
            (
                "r[1-2]c[1-2]-x",
                vec!["r1c1-x", "r1c2-x", "r2c1-x", "r2c2-x"],
            ),
            ("", vec![]),
            ("(null)", vec![]),
            ("n[1-", vec![]),
        ] {
            assert_eq!(hosts(list), expected, "{list}");
        }
        assert_eq!(hosts("n[1-99999999]").len(), MOST_NODES);
    }
}
