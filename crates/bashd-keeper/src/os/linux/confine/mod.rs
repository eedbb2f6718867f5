//! Holding a command to its confinement: a view of its own, a ruleset of Landlock, a filter of
//! system calls, no capabilities.
//!
//! `builder` makes the namespaces, `view` is what files look like there, `pins` what of it can't be
//! moved, `mounts` are its steps, `rules` and `filter` are compiled before they are applied, and a
//! `waiter` has all of it applied before it is told what to execute. So a view can be built ahead
//! of its call; a `witness` says whether it is still what would be built now. Nothing here decides
//! what is to hold: that is a [`Confinement`]. Which level can be had is found by doing it; if one
//! can't be, nothing of it stays, and the next lower is tried if the confinement allows that.

mod builder;
mod filter;
mod listening;
mod mounts;
mod pins;
mod real_paths;
mod rules;
mod view;
mod waiter;
mod witness;

use super::launch::{self, Bonds, Hold, Launch, LaunchError, LaunchStep};
use super::network::{self, HeldProxy};
use super::watch::{self, FileScene, HeldWatcher};
use crate::confinement::{Confinement, ConfinementInForce, Level, Network, SharedConfinement};
use crate::file_lock::{LockKind, lock_within};
use crate::runtime::OwnDirectory;
pub use builder::end;
use builder::{DoorsOut, Inhabitants};
pub(super) use filter::name_of;
pub(super) use rules::FileRules;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, WaitOptions};
use std::borrow::Cow;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use view::ConfinedView;
use witness::ViewWitness;

/// What could not be done, and why.
#[derive(Debug)]
pub struct Trouble {
    /// What was being done.
    pub doing: String,
    /// The system's word.
    pub error: io::Error,
    /// Whether the confinement held, and the program itself could not be started.
    pub is_programs: bool,
    /// Whether what fails is that the directory is not a part of what the program sees.
    pub is_hidden: bool,
}

impl Trouble {
    fn new(doing: &str, error: io::Error) -> Self {
        Self {
            doing: doing.to_owned(),
            error,
            is_programs: false,
            is_hidden: false,
        }
    }

    fn at(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::new(doing, error)
    }

    /// `/proc` could not be mounted: where parts of it are covered, the kernel gives no whole one.
    fn of_proc(error: io::Error) -> Self {
        let doing = match error.raw_os_error() {
            Some(libc::EPERM) => {
                "mount /proc, parts of which a container may hide (start it with \
                 `--security-opt unmask=/proc/*`, in docker `systempaths=unconfined`)"
            }
            _ => "mount /proc",
        };
        Self::new(doing, error)
    }

    /// Whether the kernel gives no listener: another sandbox around this one has it.
    fn is_of_watching(&self) -> bool {
        self.error.raw_os_error() == Some(libc::EBUSY)
    }

    fn of_launch(what: &Launch<'_>, failed: LaunchError) -> Self {
        Self {
            doing: failed.doing(what),
            is_programs: failed.step == LaunchStep::Program,
            error: failed.error,
            is_hidden: false,
        }
    }
}

/// A confined program that has been started.
pub struct Confined {
    /// The program.
    pub pid: Pid,
    /// The first process of its pid namespace, which adopts its orphans; it is a child of ours,
    /// too.
    pub init: Option<Pid>,
    /// What holds.
    pub in_force: ConfinementInForce,
    /// Its view, if it has one of its own, and whether that is still what would be built.
    view: Option<(SharedConfinement, ConfinedView, ViewWitness)>,
    /// What connects it to the hosts that it may connect to.
    pub proxy: Option<HeldProxy>,
    /// What watches its calls.
    pub watcher: Option<HeldWatcher>,
    /// Open for as long as its layers are in use.
    _layers: Vec<OwnedFd>,
    /// Open for as long as the namespace may live.
    _lifeline: Option<OwnedFd>,
    /// Where its temporary files are, if it has no view of its own.
    _temporary: Option<OwnDirectory>,
}

impl Confined {
    /// Whether the program may still be given work: what it sees is what a new one would see.
    pub fn is_current(&self) -> bool {
        let view = self.view.as_ref();
        view.is_none_or(|(confinement, view, witness)| witness.confirms(view, confinement))
    }

    /// Whether this directory of the machine is a part of what it sees.
    pub fn shows(&self, directory: &Path) -> bool {
        let view = self.view.as_ref();
        view.is_none_or(|(_, view, _)| view.shows(directory))
    }

    /// What would be protected, and was made since it started.
    pub fn made_since(&self) -> Vec<PathBuf> {
        let view = self.view.as_ref();
        view.map_or_else(Vec::new, |(_, view, _)| view.made_since())
    }
}

/// A view that was built ahead, and a process in it that waits for what it is to execute. If it is
/// dropped, both go.
pub struct PreparedView {
    confinement: SharedConfinement,
    view: ConfinedView,
    witness: ViewWitness,
    /// What connects it to the hosts that it may connect to.
    proxy: Option<HeldProxy>,
    /// What watches its calls.
    watcher: Option<HeldWatcher>,
    /// Its layers, locked.
    layers: Vec<OwnedFd>,
    inhabitants: Inhabitants,
}

impl PreparedView {
    /// Builds a view, in namespaces of its own.
    pub fn build(confinement: &SharedConfinement) -> Result<Self, Trouble> {
        pins::check_links(confinement)?;
        let witness = ViewWitness::new(confinement);
        let view = ConfinedView::survey(confinement)
            .map_err(Trouble::at("list the sockets on which somebody listens"))?;
        let layers = lock_layers(confinement).map_err(Trouble::at("lock its layers"))?;
        let is_named = confinement.network == Network::Named;
        let started = is_named.then(|| network::start(confinement)).transpose();
        let (proxy, door) = started.map_err(Trouble::at("start a proxy"))?.unzip();
        let rules = FileRules::in_view(confinement, &view);
        let (watcher, watchers_door) = watch_if_asked(confinement, &rules)?;
        let doors = DoorsOut {
            proxy: door,
            watcher: watchers_door,
        };
        let inhabitants = builder::build(confinement, (&view, &rules), doors)?;
        Ok(Self {
            confinement: confinement.clone(),
            view,
            witness,
            proxy,
            watcher,
            layers,
            inhabitants,
        })
    }

    /// Whether it is what would be built now.
    pub fn is_current(&self) -> bool {
        self.witness.confirms(&self.view, &self.confinement)
    }

    /// Wakes the process that waits in it: what it is to execute will come soon.
    pub fn wake(&self) {
        self.inhabitants.waiter.wake();
    }

    /// Opens a terminal of this view: our end, and the program's.
    pub fn open_terminal(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        let opened = self.inhabitants.waiter.open_terminal();
        opened.map_err(|failed| failed.error)
    }

    /// Has its process become a program.
    fn start(
        self,
        what: &Launch<'_>,
        held: &Hold<'_>,
        mut in_force: ConfinementInForce,
    ) -> Result<Confined, Trouble> {
        let mut env = Cow::Borrowed(what.env);
        if self.proxy.is_some() {
            network::tell(env.to_mut());
        }
        let what = &Launch { env: &env, ..*what };
        let directory = waiter::path_of(what.cwd).map_err(Trouble::at("find its directory"))?;
        let there = rustix::fs::fstat(what.cwd)
            .map_err(|error| Trouble::new("look at its directory", error.into()))?;
        let is_layered = self.view.is_layered(&directory);
        let expected = (!is_layered).then_some((there.st_dev, there.st_ino));
        let waiter = &self.inhabitants.waiter;
        let started = waiter.execute(what, held, &directory, expected);
        started.map_err(|failed| self.trouble(what, &directory, failed))?;
        in_force.hosts_by = self.inhabitants.hosts_by;
        in_force.files_watched = self.watcher.is_some();
        let (init, pid, lifeline) = self.inhabitants.release();
        Ok(Confined {
            pid,
            init: Some(init),
            in_force,
            view: Some((self.confinement, self.view, self.witness)),
            proxy: self.proxy,
            watcher: self.watcher,
            _layers: self.layers,
            _lifeline: lifeline,
            _temporary: None,
        })
    }

    /// Why a program did not start. Where it was to run may not be a part of the view.
    fn trouble(&self, what: &Launch<'_>, directory: &CStr, failed: LaunchError) -> Trouble {
        let is_directory = failed.step == LaunchStep::Directory;
        let mut trouble = Trouble::of_launch(what, failed);
        if is_directory {
            let place = |path: &CStr| Path::new(OsStr::from_bytes(path.to_bytes())).to_owned();
            let goal = what.goes_to.map_or_else(|| place(directory), place);
            // A second try at a lower level would not be what was asked for.
            trouble.is_programs = true;
            trouble.is_hidden = !self.view.shows(&goal);
            trouble.doing = format!("run in {}", goal.display());
        }
        trouble
    }
}

/// Starts a program confined, at the highest level that can be had here: in a view that was built
/// ahead, if there is one that suits. `state` is where directories of ours are made if there is no
/// better place.
pub fn launch(
    what: &Launch<'_>,
    held: &Hold<'_>,
    (confinement, mut prepared): (&SharedConfinement, Option<PreparedView>),
    state: &Path,
) -> Result<Confined, Trouble> {
    let mut reason = None;
    let levels = Level::ALL.into_iter().rev();
    for level in levels.skip_while(|level| *level > confinement.most) {
        if level < confinement.require {
            break;
        }
        let in_force = ConfinementInForce {
            level,
            preset: confinement.preset.clone(),
            network: confinement.network,
            hosts: confinement.hosts.clone(),
            hosts_by: None,
            files_watched: false,
            reason: reason.as_ref().map(reason_text),
        };
        let started = match level {
            Level::Full => prepared
                .take()
                .map_or_else(|| PreparedView::build(confinement), Ok)
                .and_then(|prepared| prepared.start(what, held, in_force)),
            Level::Landlock => in_machine(what, held, (confinement, state), in_force),
            Level::None => free(what, held, in_force),
        };
        match started {
            Err(trouble) if confinement.watches_files && trouble.is_of_watching() => {
                let mut unwatched = confinement.clone();
                unwatched.to_mut().watches_files = false;
                return launch(what, held, (&unwatched, None), state);
            }
            // The first trouble says why the level that was wanted most can't be had.
            Err(trouble) if !trouble.is_programs => reason = reason.or(Some(trouble)),
            done => return done,
        }
    }
    Err(reason.unwrap_or_else(|| Trouble::new("confine the command", io::ErrorKind::Other.into())))
}

/// The highest level that can be had here, found by starting something at it; and why it is not the
/// highest there is. Needs a process with one thread.
pub fn level(state: &Path) -> Result<ConfinementInForce, Trouble> {
    super::fork::check_single_thread().map_err(Trouble::at("fork"))?;
    let opened = |path: &str, flags| -> io::Result<OwnedFd> {
        let open = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?;
        // A launch wants descriptors above 2.
        Ok(rustix::io::fcntl_dupfd_cloexec(open, 3)?)
    };
    let null = opened("/dev/null", OFlags::RDWR).map_err(Trouble::at("open /dev/null"))?;
    let root = opened("/", OFlags::PATH).map_err(Trouble::at("open /"))?;
    let what = Launch {
        program: c"/bin/sh",
        argv: &[c"sh".to_owned(), c"-c".to_owned(), c":".to_owned()],
        env: &crate::variables::Variables::default(),
        cwd: root.as_fd(),
        goes_to: None,
        stdio: [null.as_fd(); 3],
        extra: &[],
        controls: super::launch::Controls::Nothing,
    };
    let confinement = Confinement {
        preset: "read-only".to_owned(),
        workspace: "/".into(),
        write: Vec::new(),
        read: vec!["/".into()],
        hide: Vec::new(),
        protect: Vec::new(),
        sockets: Vec::new(),
        network: Network::None,
        hosts: Vec::new(),
        resolve: Vec::new(),
        home: None,
        layers: Vec::new(),
        bring: Vec::new(),
        require: Level::None,
        most: Level::Full,
        watches_files: false,
    };
    let confined = launch(&what, &Hold::default(), (&confinement.into(), None), state)?;
    let _ = rustix::process::waitpid(Some(confined.pid), WaitOptions::empty());
    let (init, in_force) = (confined.init, confined.in_force.clone());
    drop(confined); // and with it the lifeline
    let _ = init.map(|init| rustix::process::waitpid(Some(init), WaitOptions::empty()));
    Ok(in_force)
}

/// Others lock a layer only for a moment, to see whether it is in use.
const LAYER_PATIENCE: Duration = Duration::from_secs(1);

/// Locks the layers of a confinement, so that nobody applies or removes one that is in use, and no
/// second view has it: the kernel would let two of them write into one.
fn lock_layers(confinement: &Confinement) -> io::Result<Vec<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut locked = Vec::new();
    for layer in &confinement.layers {
        let own = [
            (layer.directory.clone(), LockKind::Shared),
            (layer.work(), LockKind::Exclusive),
        ];
        for (path, kind) in own {
            let directory = rustix::fs::open(&path, flags, Mode::empty())?;
            lock_within(&directory, kind, LAYER_PATIENCE)?;
            locked.push(directory);
        }
    }
    Ok(locked)
}

fn reason_text(trouble: &Trouble) -> String {
    format!("can't {}: {}", trouble.doing, trouble.error)
}

/// Starts what watches the calls of a command, if that is wanted; also returns where it expects the
/// listener.
fn watch_if_asked(
    confinement: &Confinement,
    rules: &FileRules,
) -> Result<(Option<HeldWatcher>, Option<OwnedFd>), Trouble> {
    if !confinement.watches_files {
        return Ok((None, None));
    }
    let hidden = confinement.hide.iter();
    let scene = FileScene {
        rules: rules.clone(),
        hidden: hidden.filter_map(|path| path.canonicalize().ok()).collect(),
        network: confinement.network,
    };
    let started = watch::start(scene).map_err(Trouble::at("start a watcher"))?;
    Ok((Some(started.0), Some(started.1)))
}

/// In the machine's view, of which it can use only what it was given.
fn in_machine(
    what: &Launch<'_>,
    held: &Hold<'_>,
    (confinement, state): (&Confinement, &Path),
    mut in_force: ConfinementInForce,
) -> Result<Confined, Trouble> {
    pins::check_links(confinement)?;
    if in_force.network == Network::Named {
        // A proxy is reached through a network of its own, which there is not.
        (in_force.network, in_force.hosts) = (Network::None, Vec::new());
    }
    let temporary = OwnDirectory::create(state, "tmp-")
        .map_err(Trouble::at("make a directory for temporary files"))?;
    let rules = FileRules::in_machine(confinement, temporary.path());
    let ruleset = rules.ruleset();
    let ruleset = ruleset.map_err(Trouble::at("make a Landlock ruleset"))?;
    let (watcher, door) = watch_if_asked(confinement, &rules)?;
    in_force.files_watched = watcher.is_some();
    let program = filter::program(confinement, Level::Landlock)
        .map_err(Trouble::at("make a filter of system calls"))?;
    let mut env = what.env.clone();
    env.set("TMPDIR", temporary.path());
    let what = Launch { env: &env, ..*what };
    let bonds = Bonds {
        ruleset: ruleset.as_fd(),
        program: &program,
        watcher: door.as_ref().map(AsFd::as_fd),
    };
    let held = Hold {
        bonds: Some(bonds),
        ..*held
    };
    let pid = launch::launch(&what, &held).map_err(|failed| Trouble::of_launch(&what, failed))?;
    Ok(Confined {
        pid,
        init: None,
        in_force,
        view: None,
        proxy: None,
        watcher,
        _layers: Vec::new(),
        _lifeline: None,
        _temporary: Some(temporary),
    })
}

/// By nothing, for somebody who said that this will do.
fn free(
    what: &Launch<'_>,
    held: &Hold<'_>,
    in_force: ConfinementInForce,
) -> Result<Confined, Trouble> {
    let pid = launch::launch(what, held).map_err(|failed| Trouble::of_launch(what, failed))?;
    Ok(Confined {
        pid,
        init: None,
        in_force,
        view: None,
        proxy: None,
        watcher: None,
        _layers: Vec::new(),
        _lifeline: None,
        _temporary: None,
    })
}
