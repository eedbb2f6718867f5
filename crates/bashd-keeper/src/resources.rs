//! What a command may use besides time, and how that is enforced.
//!
//! A control group (version 2) covers all processes of a command together, but needs a group that
//! was delegated to this user. Without one there are the limits that every process has: they apply
//! to each process by itself, the one on processes counts all of the user's, and they do not bind
//! root. The reply says which of the two is used ([`LimitsInForce`]).

use crate::confinement::SharedConfinement;
use rustix::fs::Access;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// What a command may use besides time; `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Seconds of processor time per process.
    pub cpu_seconds: Option<u64>,
    /// Processor share: 100 is one processor. Only a control group can enforce it.
    pub cpu_percent: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Processes at a time.
    pub processes: Option<u64>,
}

impl Resources {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// These limits, or the others' where these are not set.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds.or(others.cpu_seconds),
            cpu_percent: self.cpu_percent.or(others.cpu_percent),
            memory_bytes: self.memory_bytes.or(others.memory_bytes),
            processes: self.processes.or(others.processes),
        }
    }

    /// Limits the processor time of each process, in seconds.
    #[must_use]
    pub fn cpu_seconds(mut self, limit: u64) -> Self {
        self.cpu_seconds = Some(limit);
        self
    }

    /// Limits the processor share; 100 is one processor.
    #[must_use]
    pub fn cpu_percent(mut self, limit: u64) -> Self {
        self.cpu_percent = Some(limit);
        self
    }

    /// Limits memory, in bytes.
    #[must_use]
    pub fn memory_bytes(mut self, limit: u64) -> Self {
        self.memory_bytes = Some(limit);
        self
    }

    /// Limits how many processes there are at a time.
    #[must_use]
    pub fn processes(mut self, limit: u64) -> Self {
        self.processes = Some(limit);
        self
    }

    /// The controllers that a control group needs for these.
    fn controllers(&self) -> Vec<&'static str> {
        let wanted = [
            (self.cpu_percent, "cpu"),
            (self.memory_bytes, "memory"),
            (self.processes, "pids"),
        ];
        let wanted = wanted.into_iter().filter(|(limit, _)| limit.is_some());
        wanted.map(|(_, controller)| controller).collect()
    }
}

/// Where control groups for commands may be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cgroups {
    /// Below our own, or beside it, if we may.
    #[default]
    Found,
    /// Below this one.
    Under(PathBuf),
    /// Nowhere.
    Unused,
}

/// How limits are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// A control group: all processes of the command together.
    Cgroup,
    /// Each process by itself.
    Rlimits,
}

/// The limits in force for a command. Null means no limit, or one that cannot be enforced here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsInForce {
    /// How they are enforced.
    pub kind: LimitKind,
    /// Seconds of processor time, per process in either case.
    pub cpu_seconds: Option<u64>,
    /// Processor share; 100 is one processor.
    pub cpu_percent: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Processes at a time: of the command, or of the user.
    pub processes: Option<u64>,
    /// Whether the kernel killed a process of the command for lack of memory; known for control
    /// groups only.
    pub out_of_memory: bool,
}

impl LimitsInForce {
    /// Those of `resources` that can be enforced by these means.
    pub fn new(kind: LimitKind, resources: Resources) -> Self {
        let is_group = kind == LimitKind::Cgroup;
        // The kernel does not count root's processes.
        let counts_processes = is_group || !rustix::process::geteuid().is_root();
        Self {
            kind,
            cpu_seconds: resources.cpu_seconds,
            cpu_percent: resources.cpu_percent.filter(|_| is_group),
            memory_bytes: resources.memory_bytes,
            processes: resources.processes.filter(|_| counts_processes),
            out_of_memory: false,
        }
    }
}

/// What holds a command: its limits, where a control group for them may be created, and its
/// confinement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restraint {
    /// The limits.
    pub resources: Resources,
    /// Below this control group; `None` if each process is limited by itself.
    pub parent: Option<PathBuf>,
    /// What it may reach; `None` if that is everything that its user may.
    #[serde(default)]
    pub confinement: Option<SharedConfinement>,
}

impl Restraint {
    /// Whether it limits what a command may use up.
    pub fn is_limited(&self) -> bool {
        !self.resources.is_unlimited()
    }
}

/// Decides how limits are enforced; `None` if nothing is limited and nothing confined.
pub fn restraint(
    resources: Resources,
    groups: &Cgroups,
    confinement: Option<SharedConfinement>,
) -> Option<Restraint> {
    (!resources.is_unlimited() || confinement.is_some()).then(|| Restraint {
        resources,
        parent: parent_group(&resources, groups),
        confinement,
    })
}

/// The group below which one for these could be created; `None` if each process is limited by
/// itself.
pub fn parent_group(resources: &Resources, groups: &Cgroups) -> Option<PathBuf> {
    let controllers = resources.controllers();
    // Asked first: it takes several files to find out where a group could be.
    if controllers.is_empty() {
        return None;
    }
    let candidates = match groups {
        Cgroups::Unused => return None,
        Cgroups::Under(path) => vec![path.clone()],
        Cgroups::Found => own_groups(),
    };
    candidates
        .into_iter()
        .find(|path| hands_down(path, &controllers))
}

/// Our own group in the unified hierarchy, and its parent: a group that has processes cannot
/// delegate controllers, but we may have been given the parent.
fn own_groups() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(group) = text.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Vec::new();
    };
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
    let root = roots
        .into_iter()
        .find(|root| root.join("cgroup.controllers").exists());
    let Some(root) = root else {
        return Vec::new();
    };
    let own = root.join(group);
    let above = own.parent().filter(|above| above.starts_with(root));
    let above = above.map(Path::to_owned);
    [Some(own), above].into_iter().flatten().collect()
}

/// Whether groups with these controllers can be created below this one, and entered.
fn hands_down(path: &Path, controllers: &[&str]) -> bool {
    let handed = fs::read_to_string(path.join("cgroup.subtree_control")).unwrap_or_default();
    let may_write = |path: &Path| rustix::fs::access(path, Access::WRITE_OK).is_ok();
    controllers
        .iter()
        .all(|wanted| handed.split_ascii_whitespace().any(|one| one == *wanted))
        && may_write(path)
        && may_write(&path.join("cgroup.procs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Resources = Resources {
        cpu_seconds: None,
        cpu_percent: None,
        memory_bytes: Some(1),
        processes: Some(2),
    };

    #[test]
    fn a_group_must_hand_down_every_controller_that_is_needed() {
        let group = tempfile::tempdir().unwrap();
        let control = group.path().join("cgroup.subtree_control");
        fs::write(group.path().join("cgroup.procs"), "").unwrap();
        let groups = Cgroups::Under(group.path().to_owned());
        assert_eq!(parent_group(&SOME, &groups), None);
        fs::write(&control, "cpu memory\n").unwrap();
        assert_eq!(parent_group(&SOME, &groups), None);
        fs::write(&control, "cpu memory pids\n").unwrap();
        assert_eq!(parent_group(&SOME, &groups).as_deref(), Some(group.path()));
        assert_eq!(parent_group(&SOME, &Cgroups::Unused), None);
        assert_eq!(parent_group(&Resources::default(), &groups), None);
    }

    #[test]
    fn what_can_not_be_held_is_not_said_to_be() {
        let all = Resources {
            cpu_seconds: Some(3),
            cpu_percent: Some(50),
            ..SOME
        };
        let group = LimitsInForce::new(LimitKind::Cgroup, all);
        assert_eq!((group.cpu_percent, group.processes), (Some(50), Some(2)));
        let each = LimitsInForce::new(LimitKind::Rlimits, all);
        assert_eq!((each.cpu_percent, each.memory_bytes), (None, Some(1)));
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(each.processes, (!is_root).then_some(2));
        assert!(restraint(Resources::default(), &Cgroups::Found, None).is_none());
        assert_eq!(Resources::default().or(SOME), SOME);
    }
}
