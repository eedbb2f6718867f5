//! Slurm with three nodes, of Debian's packages, in namespaces of its own: a controller, munge, and
//! a namespace of processes for each node, so that a node can lose its power.
//!
//! Its clients are in a directory for `PATH`: they enter its network. Everything of it ends with
//! the rig, whatever ends that.

use crate::loud::loudly;
use crate::processes::{self, Process};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

const SCRIPT: &str = include_str!("slurm/cluster.sh");

/// What it takes, beside root.
const PROGRAMS: &[&str] = &[
    "/usr/sbin/slurmctld",
    "/usr/sbin/slurmd",
    "/usr/sbin/munged",
    "/usr/bin/srun",
    "/usr/bin/sbatch",
    "/usr/bin/unshare",
    "/usr/bin/nsenter",
    "/usr/bin/setpriv",
    "/usr/sbin/ip",
    "/usr/sbin/sshd",
    "/usr/bin/ssh",
    "/usr/bin/ssh-keygen",
];

/// Its clients.
const CLIENTS: &[&str] = &[
    "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo", "salloc",
];

/// Job ids that each rig has for itself: groups of processes are named by them.
const IDS: u32 = 1000;

/// How Slurm finds the processes of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proctrack {
    /// By who started whom: what was left by its parent escapes.
    Linuxproc,
    /// By control groups.
    Cgroup,
}

/// A Slurm. Dropping it ends everything of it.
#[derive(Debug)]
pub struct SlurmRig {
    script: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    directory: TempDir,
    /// The names of its nodes.
    pub nodes: [String; 3],
}

impl SlurmRig {
    /// Starts one. Where that can't be, `None`, and loudly.
    pub fn start(track: Proctrack) -> Option<Self> {
        if let Some(why) = why_not(track) {
            loudly(&format!("{why}: Slurm is NOT tested here"));
            return None;
        }
        let directory = TempDir::with_prefix("bashd-slurm-").expect("a temporary directory");
        let own = std::process::id();
        let nodes = ["n1", "n2", "n3"].map(|node| format!("{node}p{own}"));
        let track = match track {
            Proctrack::Linuxproc => "linuxproc",
            Proctrack::Cgroup => "cgroup",
        };
        let first = 1 + own % 60_000 * IDS;
        let mut script = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare", "--mount", "--net"])
            .args(["--pid", "--uts", "--ipc", "--fork", "--kill-child"])
            .args(["sh", "-c", SCRIPT, "slurm"])
            .arg(directory.path())
            .arg(track)
            .args(&nodes)
            .arg(first.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("setpriv can be started");
        let asks = script.stdin.take();
        let answers = BufReader::new(script.stdout.take().expect("a pipe"));
        let mut rig = Self {
            script,
            asks,
            answers,
            directory,
            nodes,
        };
        rig.wait_for("ready");
        rig.write_clients();
        Some(rig)
    }

    fn wait_for(&mut self, what: &str) {
        let mut said = String::new();
        let _ = self.answers.read_line(&mut said);
        assert_eq!(said.trim(), what, "Slurm (its logs: {})", self.logs());
    }

    /// The end of each log.
    pub fn logs(&self) -> String {
        let folder = self.directory.path().join("log");
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let ends = files.map(|file| {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let end = lines.get(lines.len().saturating_sub(8)..);
            let end = end.unwrap_or_default().join("\n");
            format!("{}:\n{end}\n", file.path().display())
        });
        ends.collect::<Vec<_>>().concat()
    }

    /// What its controller has written down so far.
    pub fn controller_log(&self) -> String {
        let log = self.directory.path().join("log/slurmctld.log");
        fs::read_to_string(log).unwrap_or_default()
    }

    fn ask(&mut self, what: &str, which: &str) {
        let asks = self.asks.as_mut().expect("its script listens");
        writeln!(asks, "{what} {which}").expect("its script listens");
        self.wait_for(what);
    }

    /// Kills a part of it: `slurmctld`, `munged`, `slurmd NODE`, `node NODE` with all that runs on
    /// it.
    pub fn kill(&mut self, part: &str) {
        self.ask("kill", part);
    }

    /// Starts that part again.
    pub fn start_again(&mut self, part: &str) {
        self.ask("start", part);
    }

    /// The process in whose namespaces its controller is.
    fn first(&self) -> i32 {
        let all = processes::all();
        let below = |parent: i32| all.iter().find(move |one| one.parent == parent);
        let own = self.script.id() as i32;
        // `setpriv` became `unshare`, whose one child is the script.
        below(own).map_or(own, |script| script.pid)
    }

    fn write_clients(&self) {
        let conf = self.directory.path().join("slurm.conf");
        let before = format!("SLURM_CONF={}\nexport SLURM_CONF\n", conf.display());
        for client in CLIENTS {
            self.write_client(&self.client().join(client), &before, "");
        }
    }

    /// A program of its network that becomes the one of its name here, with these first words.
    fn write_client(&self, path: &Path, before: &str, words: &str) {
        let folder = path.parent().expect("its directory");
        fs::create_dir_all(folder).expect("a directory");
        let (first, name) = (self.first(), path.file_name().expect("its name"));
        let script = format!(
            "#!/bin/sh\n{before}exec nsenter --net=/proc/{first}/ns/net /usr/bin/{}{words} \"$@\"\n",
            name.display()
        );
        fs::write(path, script).expect("a client");
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, all).expect("a client");
    }

    /// Has its login be a host that is only reached by ssh, as `login`; a directory for `PATH` with
    /// that ssh, and none of Slurm's programs.
    pub fn login(&mut self) -> PathBuf {
        self.start_again("sshd");
        let folder = self.directory.path().join("ssh");
        let words = format!(" -F {}", folder.join("config").display());
        self.write_client(&folder.join("bin/ssh"), "", &words);
        folder.join("bin")
    }

    /// The directory with its clients, for `PATH`.
    pub fn client(&self) -> PathBuf {
        self.directory.path().join("bin")
    }

    /// A directory that all nodes and the login see.
    pub fn shared(&self) -> PathBuf {
        let shared = self.directory.path().join("shared");
        fs::create_dir_all(&shared).expect("a directory");
        shared
    }

    /// This environment, with its clients first.
    pub fn env(&self, env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        Self::env_with(env, &self.client())
    }

    /// This environment, with the programs of a directory first.
    pub fn env_with(mut env: Vec<(OsString, OsString)>, first: &Path) -> Vec<(OsString, OsString)> {
        for (name, value) in &mut env {
            if name == "PATH" {
                let mut path = first.as_os_str().to_owned();
                path.push(":");
                path.push(&*value);
                *value = path;
            }
        }
        env
    }

    /// Runs a client, which must succeed; what it says.
    pub fn client_says(&self, words: &[&str]) -> String {
        let (client, rest) = words.split_first().expect("a client");
        let told = Command::new(self.client().join(client))
            .args(rest)
            .stdin(Stdio::null())
            .output()
            .expect("a client can be started");
        let why = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.status.success(), "{words:?}: {why}");
        String::from_utf8_lossy(&told.stdout).trim().to_owned()
    }

    /// What runs on its nodes, but for Slurm itself and their first processes.
    pub fn on_nodes(&self) -> Vec<Process> {
        let all = processes::all();
        let mut family = vec![self.first()];
        let mut found: Vec<Process> = Vec::new();
        let mut at = 0;
        while let Some(parent) = family.get(at).copied() {
            at += 1;
            let children = all.iter().filter(|one| one.parent == parent);
            for child in children {
                family.push(child.pid);
                found.push(child.clone());
            }
        }
        let own = [
            "slurmd",
            "slurmctld",
            "slurmscriptd",
            "munged",
            "slurmstepd",
            "sshd",
            "sleep 1000000",
            "unshare --pid",
            "sh -c hostname",
        ];
        let is_own = |one: &Process| own.iter().any(|name| one.command.contains(name));
        found.retain(|one| one.state != 'Z' && !is_own(one));
        found
    }
}

fn why_not(track: Proctrack) -> Option<String> {
    let is_missing = |program: &&&str| !Path::new(program).exists();
    if let Some(missing) = PROGRAMS.iter().find(is_missing) {
        return Some(format!("{missing} is missing"));
    }
    if !rustix::process::getuid().is_root() {
        return Some("not root".to_owned());
    }
    let freezer = Path::new("/sys/fs/cgroup/freezer/release_agent");
    if track == Proctrack::Cgroup && !freezer.exists() {
        return Some("there is no freezer of control groups".to_owned());
    }
    None
}

impl Drop for SlurmRig {
    fn drop(&mut self) {
        // Its script ends everything once nobody asks any more.
        drop(self.asks.take());
        let _ = self.script.wait();
    }
}
