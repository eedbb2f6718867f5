//! Holding a command to its confinement: a view of its own, a ruleset of Landlock, a filter of
//! system calls, no capabilities.
//!
//! `builder` makes the namespaces and starts the shell in them, `view` is what files look like
//! there, `mounts` are its steps, `rules` and `filter` are compiled ahead of the launch, which only
//! applies them. Nothing here decides what is to hold: that is a [`Confinement`]. Which level can
//! be had is found by doing it; if one can't be, nothing of it stays, and the next lower is tried
//! if the confinement allows that.

mod builder;
mod filter;
mod mounts;
mod rules;
mod view;

use super::launch::{self, Bonds, Hold, Launch};
use crate::confinement::{Confinement, ConfinementInForce, Level};
use crate::runtime::OwnDirectory;
use builder::Inhabitants;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, WaitOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// What could not be done, and why.
#[derive(Debug)]
pub struct Trouble {
    /// What was being done.
    pub doing: String,
    /// The system's word.
    pub error: io::Error,
    /// Whether the confinement held, and the program itself could not be started.
    pub is_programs: bool,
}

impl Trouble {
    fn new(doing: &str, error: io::Error) -> Self {
        Self {
            doing: doing.to_owned(),
            error,
            is_programs: false,
        }
    }

    fn at(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::new(doing, error)
    }

    fn of_program(what: &Launch<'_>, error: io::Error) -> Self {
        Self {
            doing: what.program.to_string_lossy().into_owned(),
            error,
            is_programs: true,
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
    /// Open for as long as the namespace may live.
    _lifeline: Option<OwnedFd>,
    /// Where its temporary files are, if it has no view of its own.
    _temporary: Option<OwnDirectory>,
}

/// Starts a program confined, at the highest level that can be had here. `state` is where
/// directories of ours are made if there is no better place.
pub fn launch(
    what: &Launch<'_>,
    held: &Hold<'_>,
    confinement: &Confinement,
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
            reason: reason.as_ref().map(reason_text),
        };
        let started = match level {
            Level::Full => in_view(what, held, confinement, in_force),
            Level::Landlock => in_machine(what, held, (confinement, state), in_force),
            Level::None => free(what, held, in_force),
        };
        match started {
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
        network: crate::confinement::Network::None,
        home: None,
        bring: Vec::new(),
        require: Level::None,
        most: Level::Full,
    };
    let confined = launch(&what, &Hold::default(), &confinement, state)?;
    let _ = rustix::process::waitpid(Some(confined.pid), WaitOptions::empty());
    let (init, in_force) = (confined.init, confined.in_force.clone());
    drop(confined); // and with it the lifeline
    let _ = init.map(|init| rustix::process::waitpid(Some(init), WaitOptions::empty()));
    Ok(in_force)
}

fn reason_text(trouble: &Trouble) -> String {
    format!("can't {}: {}", trouble.doing, trouble.error)
}

/// In namespaces of its own.
fn in_view(
    what: &Launch<'_>,
    held: &Hold<'_>,
    confinement: &Confinement,
    in_force: ConfinementInForce,
) -> Result<Confined, Trouble> {
    let Inhabitants {
        init,
        program,
        lifeline,
    } = builder::start(what, held, confinement)?;
    Ok(Confined {
        pid: program,
        init: Some(init),
        in_force,
        _lifeline: Some(lifeline),
        _temporary: None,
    })
}

/// In the machine's view, of which it can use only what it was given.
fn in_machine(
    what: &Launch<'_>,
    held: &Hold<'_>,
    (confinement, state): (&Confinement, &Path),
    in_force: ConfinementInForce,
) -> Result<Confined, Trouble> {
    let temporary = OwnDirectory::create(state, "tmp-")
        .map_err(Trouble::at("make a directory for temporary files"))?;
    let ruleset = rules::in_machine(confinement, temporary.path())
        .map_err(Trouble::at("make a Landlock ruleset"))?;
    let program = filter::program(confinement, Level::Landlock)
        .map_err(Trouble::at("make a filter of system calls"))?;
    let mut env = what.env.clone();
    env.set("TMPDIR", temporary.path());
    let what = Launch { env: &env, ..*what };
    let bonds = Bonds {
        ruleset: ruleset.as_fd(),
        program: &program,
        directory: None,
    };
    let held = Hold {
        bonds: Some(bonds),
        ..*held
    };
    let pid = launch::launch(&what, &held).map_err(|error| Trouble::of_program(&what, error))?;
    Ok(Confined {
        pid,
        init: None,
        in_force,
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
    let pid = launch::launch(what, held).map_err(|error| Trouble::of_program(what, error))?;
    Ok(Confined {
        pid,
        init: None,
        in_force,
        _lifeline: None,
        _temporary: None,
    })
}
