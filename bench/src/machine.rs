//! Facts about the machine, without which a figure means nothing; nothing that tells whose it is.

use crate::arguments::Arguments;
use anyhow::{Context, Result};
use std::fs;
use std::time::{Duration, Instant};

/// What a reader of the table needs to know.
pub(crate) struct Facts {
    processor: String,
    cores: usize,
    memory_gib: u64,
    kernel: String,
    file_system: String,
    date: String,
    /// Whether the kernel schedules every session as a group of its own.
    groups_sessions: bool,
    noise: Noise,
}

/// How busy others kept the machine, of which this program is a part.
struct Noise {
    begun: Instant,
    load: String,
    stalled: Option<Duration>,
}

impl Facts {
    /// Looks at the machine, before anything is measured.
    pub(crate) fn gather() -> Result<Self> {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let memory_kib = line_of("/proc/meminfo", "MemTotal:")?;
        let memory_kib = memory_kib.trim_end_matches(" kB").parse::<u64>()?;
        let now = jiff::Timestamp::now().to_string();
        Ok(Self {
            processor: line_of("/proc/cpuinfo", "model name").unwrap_or_else(|_| "unknown".into()),
            cores: std::thread::available_parallelism()?.get(),
            memory_gib: memory_kib.div_ceil(1024 * 1024),
            kernel: kernel.trim().split('-').next().unwrap_or_default().into(),
            file_system: file_system()?,
            date: now.split('T').next().unwrap_or_default().into(),
            groups_sessions: fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled")
                .is_ok_and(|text| text.trim() == "1"),
            noise: Noise::begin(),
        })
    }

    /// The facts as a list.
    pub(crate) fn to_markdown(&self, arguments: &Arguments) -> String {
        let Self {
            processor,
            cores,
            memory_gib,
            kernel,
            file_system,
            date,
            groups_sessions,
            noise,
        } = self;
        let command = arguments.command();
        let rounds = arguments.effort.rounds;
        let sessions = if *groups_sessions { "on" } else { "off" };
        let noise = noise.sentence();
        format!(
            "- command: `{command}`\n\
             - date: {date}; {rounds} rounds\n\
             - machine: {cores} cores ({processor}), {memory_gib} GiB; spools on {file_system}\n\
             - Linux {kernel}, autogroup {sessions}\n\
             - {noise}\n"
        )
    }

    /// How noisy it was.
    pub(crate) fn noise(&self) -> String {
        self.noise.sentence()
    }
}

impl Noise {
    fn begin() -> Self {
        Self {
            begun: Instant::now(),
            load: load(),
            stalled: stalled(),
        }
    }

    fn sentence(&self) -> String {
        let stalled = self.stalled.zip(stalled());
        let share = stalled.map_or("an unknown part".to_owned(), |(before, now)| {
            let share =
                now.saturating_sub(before).as_secs_f64() / self.begun.elapsed().as_secs_f64();
            format!("{:.0} %", share * 100.0)
        });
        let (before, after) = (&self.load, load());
        format!(
            "noise: load {before} before, {after} after; something waited for a core {share} of the time"
        )
    }
}

/// The mean number of processes that ran or wanted to in the last minute.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let figure = text.split_ascii_whitespace().next().unwrap_or("unknown");
    figure.to_owned()
}

/// For how long, since boot, some process was ready to run and had no core.
fn stalled() -> Option<Duration> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let total = text.lines().next()?.rsplit_once("total=")?.1;
    Some(Duration::from_micros(total.trim().parse().ok()?))
}

fn line_of(path: &str, name: &str) -> Result<String> {
    let text = fs::read_to_string(path)?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    let rest = rest.with_context(|| format!("{path} has no {name}"))?;
    Ok(rest.trim_matches([' ', '\t', ':']).to_owned())
}

/// The kind of the file system on which temporary files are.
fn file_system() -> Result<String> {
    let magic = rustix::fs::statfs(std::env::temp_dir().as_path())?.f_type;
    Ok(match magic {
        0xEF53 => "ext4".into(),
        0x0102_1994 => "tmpfs".into(),
        0x794C_7630 => "overlayfs".into(),
        0x9123_683E => "btrfs".into(),
        0x5846_5342 => "xfs".into(),
        other => format!("a file system of type {other:#x}"),
    })
}
