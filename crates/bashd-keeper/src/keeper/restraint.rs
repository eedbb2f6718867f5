//! Enforcing what a command may use and reach: by a control group, or by the limits of each of its
//! processes; and by its confinement.

use super::protocol::FailedMessage;
use crate::confinement::{Confinement, ConfinementInForce, Level, SharedConfinement};
use crate::os::confine::{self, Confined, PreparedView, Trouble};
use crate::os::launch::{Hold, Launch, launch};
use crate::os::network::HeldProxy;
use crate::os::tree::ChildList;
use crate::os::watch::HeldWatcher;
use crate::refusals::Dealings;
use crate::resources::{LimitKind, LimitsInForce, Resources, Restraint};
use crate::runtime::existing;
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::cell::RefCell;
use std::fs;
use std::io;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Prefix of the directories of our groups; the keeper's pid follows.
const PREFIX: &str = "bashd-";

/// Starts a shell, held by what was asked for: the one launch of every kind of shell. `state` is
/// where directories of ours may be, `needs` are those of them that the shell uses; `ahead` is a
/// view that was built before.
pub(super) fn launch_held(
    what: &Launch<'_>,
    (restraint, ahead): (Option<&Restraint>, Option<ViewAhead>),
    (state, needs): (&Path, &[&Path]),
) -> Result<(Pid, Option<Rc<Restrained>>), FailedMessage> {
    let mut restrained = restraint.map(Restrained::new);
    let limits = restrained.as_ref().map(Restrained::of_each_process);
    let held = Hold {
        group: restrained.as_ref().and_then(Restrained::group),
        limits: limits.as_deref().unwrap_or_default(),
        bonds: None,
    };
    let confinement = restraint.and_then(|restraint| restraint.confinement.as_ref());
    let (pid, confined) = if let Some(confinement) = confinement {
        // A view ahead has nothing that only one shell needs.
        let ahead = ahead.filter(|ahead| needs.is_empty() && ahead.suits(confinement, state));
        let (whole, prepared) = match ahead {
            Some(ViewAhead { whole, view, .. }) => (whole, Some(view)),
            None => (with_ours(confinement, &existing(state), needs), None),
        };
        let confined = confine::launch(what, &held, (&whole, prepared), state)
            .map_err(|trouble| refusal(&trouble, confinement))?;
        (confined.pid, Some(confined))
    } else {
        let pid = launch(what, &held)
            .map_err(|error| super::start::failed(&error.doing(what))(error.error))?;
        (pid, None)
    };
    if let Some(restrained) = &mut restrained {
        restrained.confined = confined.map(HeldNamespace::new);
    }
    Ok((pid, restrained.map(Rc::new)))
}

/// A view that was built before its call, of the confinement that the call will probably have.
pub(super) struct ViewAhead {
    /// The confinement as it was told.
    pub(super) asked: SharedConfinement,
    /// The directories of ours that were there.
    ours: Vec<PathBuf>,
    /// The confinement with these.
    whole: SharedConfinement,
    /// What was built.
    pub(super) view: PreparedView,
    /// Whether it was found to be what would be built now, after its call had come.
    pub(super) is_looked_at: bool,
}

impl ViewAhead {
    /// Builds it; if it can't be had, the launch finds out why.
    pub(super) fn build(asked: &SharedConfinement, state: &Path) -> Option<Self> {
        let ours = existing(state);
        let whole = with_ours(asked, &ours, &[]);
        let is_full = asked.most == Level::Full;
        let view = is_full
            .then(|| PreparedView::build(&whole).ok())
            .flatten()?;
        let asked = asked.clone();
        Some(Self {
            asked,
            ours,
            whole,
            view,
            is_looked_at: false,
        })
    }

    /// The one that was built ahead, if it suits; else a new one.
    pub(super) fn for_call(
        asked: &SharedConfinement,
        ahead: Option<Self>,
        state: &Path,
    ) -> Option<Self> {
        let ahead = ahead.filter(|ahead| ahead.suits(asked, state));
        ahead.or_else(|| Self::build(asked, state))
    }

    /// Whether it is what would be built for this now.
    pub(super) fn suits(&self, asked: &SharedConfinement, state: &Path) -> bool {
        self.asked == *asked && (self.is_looked_at || self.is_current(state))
    }

    /// Whether it is what would be built now.
    pub(super) fn is_current(&self, state: &Path) -> bool {
        self.ours == existing(state) && self.view.is_current()
    }
}

/// A confinement with directories of ours: none of them is seen but those that the shell needs.
fn with_ours(asked: &SharedConfinement, ours: &[PathBuf], needs: &[&Path]) -> SharedConfinement {
    let mut whole = Confinement::clone(asked);
    whole.hide.extend_from_slice(ours);
    whole
        .bring
        .extend(needs.iter().map(|path| path.to_path_buf()));
    whole.into()
}

/// What the engine is told if nothing was started.
fn refusal(trouble: &Trouble, confinement: &Confinement) -> FailedMessage {
    let doing = if trouble.is_hidden {
        format!(
            "{}, which a confined command does not see: run it in the workspace {}, or add the \
             directory to `confinement.read` or `confinement.write`",
            trouble.doing,
            confinement.workspace.display()
        )
    } else if trouble.is_programs {
        trouble.doing.clone()
    } else {
        format!(
            "confine the command at level `{}`, so it did not run: {}",
            confinement.require, trouble.doing
        )
    };
    FailedMessage {
        doing,
        errno: trouble.error.raw_os_error().unwrap_or(libc::EINVAL),
    }
}

/// What a confined shell was given, and the first process of its pid namespace.
struct HeldNamespace {
    confined: Confined,
    /// Its children, if the kernel lists them.
    orphans: Option<ChildList>,
}

impl HeldNamespace {
    fn new(confined: Confined) -> Self {
        Self {
            orphans: confined.init.and_then(ChildList::open),
            confined,
        }
    }
}

/// What holds one shell.
pub(super) struct Restrained {
    /// Its limits, if it has any.
    pub(super) in_force: Option<LimitsInForce>,
    group: Option<ControlGroup>,
    resources: Resources,
    confined: Option<HeldNamespace>,
    /// What is known of it, as of the last look.
    known: RefCell<Dealings>,
    /// What was told of it already.
    told: RefCell<Dealings>,
}

impl Restrained {
    /// Prepares to enforce the requested limits; by the processes' own limits if no group can be
    /// created.
    pub(super) fn new(restraint: &Restraint) -> Self {
        let Restraint {
            resources, parent, ..
        } = restraint;
        let group = parent
            .as_ref()
            .and_then(|parent| ControlGroup::make(parent, resources).ok());
        let kind = match &group {
            Some(_) => LimitKind::Cgroup,
            None => LimitKind::Rlimits,
        };
        Self {
            in_force: (!resources.is_unlimited()).then(|| LimitsInForce::new(kind, *resources)),
            group,
            resources: *resources,
            confined: None,
            known: RefCell::default(),
            told: RefCell::default(),
        }
    }

    /// What an earlier run in it told: what came since is the next one's.
    pub(super) fn told(&self) -> Dealings {
        self.told.borrow().clone()
    }

    /// A run has told what was known at the last look.
    pub(super) fn tell(&self) {
        self.told.replace(self.known.borrow().clone());
    }

    /// The confinement that holds, if there is one.
    pub(super) fn confinement(&self) -> Option<ConfinementInForce> {
        let held = self.confined.as_ref();
        held.map(|held| held.confined.in_force.clone())
    }

    /// Whether a shell that waited sees what a new one would see.
    pub(super) fn is_current(&self) -> bool {
        let held = self.confined.as_ref();
        held.is_none_or(|held| held.confined.is_current())
    }

    /// Whether the shell sees the machine's directory at this path.
    pub(super) fn shows(&self, directory: &Path) -> bool {
        let held = self.confined.as_ref();
        held.is_none_or(|held| held.confined.shows(directory))
    }

    /// The first process of the shell's pid namespace, if it has one.
    pub(super) fn init(&self) -> Option<Pid> {
        self.confined.as_ref().and_then(|held| held.confined.init)
    }

    /// Processes of ours that serve it: what connects it to hosts, and what watches its calls.
    pub(super) fn servants(&self) -> Vec<Pid> {
        let Some(HeldNamespace { confined, .. }) = &self.confined else {
            return Vec::new();
        };
        let proxy = confined.proxy.as_ref().map(HeldProxy::pid);
        let watcher = confined.watcher.as_ref().map(HeldWatcher::pid);
        proxy.into_iter().chain(watcher).collect()
    }

    /// What everything in it was refused so far, whom it spoke to, and what it made that will be
    /// protected.
    pub(super) fn dealings(&self) -> Dealings {
        let Some(HeldNamespace { confined, .. }) = &self.confined else {
            return Dealings::default();
        };
        let network = confined.proxy.as_ref().map(HeldProxy::dealings);
        let files = confined.watcher.as_ref().map(HeldWatcher::dealings);
        let mut dealings = network.unwrap_or_default().with(files.unwrap_or_default());
        // Something of it may not be there any more.
        dealings.made = mem::take(&mut self.known.borrow_mut().made);
        for path in confined.made_since() {
            let path = path.to_string_lossy().into_owned();
            if !dealings.made.contains(&path) {
                dealings.made.push(path);
            }
        }
        self.known.replace(dealings.clone());
        dealings
    }

    /// Whether nothing was orphaned in the shell's pid namespace. `false` also if the kernel does
    /// not say.
    pub(super) fn has_no_orphans(&self) -> bool {
        let orphans = self
            .confined
            .as_ref()
            .and_then(|held| held.orphans.as_ref());
        self.init().is_none() || orphans.is_some_and(|orphans| orphans.is(&[]))
    }

    /// The file into which the shell writes itself.
    pub(super) fn group(&self) -> Option<BorrowedFd<'_>> {
        self.group.as_ref().map(|group| group.processes.as_fd())
    }

    /// The limits of each process: which one, soft, hard.
    pub(super) fn of_each_process(&self) -> Vec<(u32, u64, u64)> {
        let Resources {
            cpu_seconds,
            memory_bytes,
            processes,
            ..
        } = self.resources;
        let is_alone = self.group.is_none();
        // Each C library has its own type for which one it is.
        let limit = |which: u32, soft: u64, hard: u64| (which, soft, hard);
        // A program may end itself in the second between the two.
        let cpu = cpu_seconds.map(|most| limit(libc::RLIMIT_CPU as _, most, most + 1));
        // Memory that is reserved and never used does not count, as it would with the address
        // space.
        let memory = memory_bytes.map(|most| limit(libc::RLIMIT_DATA as _, most, most));
        let processes = processes.map(|most| limit(libc::RLIMIT_NPROC as _, most, most));
        let alone = [memory, processes].into_iter().filter(|_| is_alone);
        [cpu].into_iter().chain(alone).flatten().collect()
    }

    /// How often the kernel killed one of its processes for lack of memory.
    pub(super) fn deaths(&self) -> u64 {
        self.group.as_ref().map_or(0, ControlGroup::deaths)
    }
}

/// A control group of our own, removed when it is dropped.
struct ControlGroup {
    path: PathBuf,
    processes: OwnedFd,
}

impl ControlGroup {
    fn make(parent: &Path, resources: &Resources) -> io::Result<Self> {
        sweep(parent);
        let own = rustix::process::getpid().as_raw_nonzero();
        let path = parent.join(format!("{PREFIX}{own}"));
        match fs::create_dir(&path) {
            // Left by another process with the same pid, long ago.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path.join("cgroup.procs"), flags, Mode::empty());
        let made = opened.map(|processes| Self {
            path: path.clone(),
            processes,
        });
        let group = made.inspect_err(|_| drop(fs::remove_dir(&path)))?;
        group.limit(resources)?;
        Ok(group)
    }

    fn limit(&self, resources: &Resources) -> io::Result<()> {
        let write = |name: &str, value: String| fs::write(self.path.join(name), value);
        if let Some(percent) = resources.cpu_percent {
            // Microseconds per tenth of a second.
            write("cpu.max", format!("{} 100000", percent * 1000))?;
        }
        if let Some(bytes) = resources.memory_bytes {
            write("memory.max", bytes.to_string())?;
            // Swapped-out memory is still in use; not every kernel has this file.
            let _ = write("memory.swap.max", "0".to_owned());
        }
        if let Some(count) = resources.processes {
            write("pids.max", count.to_string())?;
        }
        Ok(())
    }

    fn deaths(&self) -> u64 {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        oom_kills(&events)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

fn oom_kills(events: &str) -> u64 {
    let lines = events.lines().filter_map(|line| line.split_once(' '));
    let mut kills = lines.filter(|(name, _)| *name == "oom_kill");
    kills
        .next()
        .and_then(|(_, count)| count.parse().ok())
        .unwrap_or(0)
}

/// Removes groups left by keepers that were killed. A group with processes cannot be removed.
fn sweep(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if let Some(pid) = pid
            && pid.parse::<u32>().is_ok()
            && !Path::new("/proc").join(pid).exists()
        {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::launch::Controls;

    #[test]
    fn kills_are_counted_by_the_kernels_word() {
        assert_eq!(oom_kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n"), 2);
        assert_eq!(oom_kills("max 12\n"), 0);
        assert_eq!(oom_kills(""), 0);
    }

    #[test]
    fn without_a_group_each_process_has_all_limits() {
        let restraint = Restraint {
            resources: Resources::default()
                .memory_bytes(4096)
                .processes(7)
                .cpu_seconds(5),
            parent: Some("/nowhere".into()),
            confinement: None,
        };
        let restrained = Restrained::new(&restraint);
        let kind = restrained.in_force.as_ref().map(|limits| limits.kind);
        assert_eq!(kind, Some(LimitKind::Rlimits));
        let expected = vec![
            (libc::RLIMIT_CPU, 5, 6),
            (libc::RLIMIT_DATA, 4096, 4096),
            (libc::RLIMIT_NPROC, 7, 7),
        ];
        assert_eq!(restrained.of_each_process(), expected);
        assert!(restrained.group().is_none());
    }

    #[test]
    fn a_group_is_made_entered_and_removed() {
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
        let root = roots
            .map(Path::new)
            .into_iter()
            .find(|root| root.join("cgroup.procs").exists());
        // Without controllers nothing is limited, but the code path is the same.
        let made = root.map(|root| ControlGroup::make(root, &Resources::default()));
        let Some(Ok(group)) = made else {
            bashd_testkit::loudly("no control group can be made here: entering one is NOT tested");
            return;
        };
        let child = sleeper(&group);
        let text = fs::read_to_string(group.path.join("cgroup.procs")).unwrap();
        assert_eq!(text.trim(), child.as_raw_nonzero().to_string());
        let path = group.path.clone();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()).unwrap();
        drop(group);
        assert!(!path.exists());
    }

    fn sleeper(group: &ControlGroup) -> rustix::process::Pid {
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        // The launcher wants descriptors above 2.
        let null = rustix::io::fcntl_dupfd_cloexec(null.unwrap(), 3).unwrap();
        let what = Launch {
            program: c"/bin/sleep",
            argv: &[c"sleep".to_owned(), c"300".to_owned()],
            env: &crate::variables::Variables::default(),
            cwd: root.as_fd(),
            goes_to: None,
            stdio: [null.as_fd(); 3],
            extra: &[],
            controls: Controls::Nothing,
        };
        let held = Hold {
            group: Some(group.processes.as_fd()),
            limits: &[],
            bonds: None,
        };
        launch(&what, &held).unwrap()
    }
}
