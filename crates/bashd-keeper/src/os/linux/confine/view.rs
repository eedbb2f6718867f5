//! The view of a confined command: the machine's files, of which it can change only what it was
//! given, and sees only what is not hidden.
//!
//! From below: the machine's tree, read-only; own `/dev`, `/tmp`, `/var/tmp`, `/run`; a layer of
//! its own over the home; what it may write, at its own place; what is protected within that;
//! what is hidden; last, files of ours that it needs. Its own `/proc` is mounted by the first
//! process of its pid namespace.

use super::Trouble;
use super::listening::{listening, places_of};
use super::mounts::{self, READ_ONLY, TAME, at};
use super::pins;
use super::real_paths::RealPaths;
use crate::confinement::{Confinement, HeldLayer, HostAccess, INSIDE};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::mount::MountFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

/// Directories that are empty in the beginning, and the command's own.
const OWN: &[(&str, &str)] = &[
    ("/tmp", "mode=1777"),
    ("/var/tmp", "mode=1777"),
    ("/run", "mode=755"),
];

/// Devices that everybody may use.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: &[(&str, &str)] = &[
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
    ("pts/ptmx", "dev/ptmx"),
];

/// Settings of the kernel: they can be read.
const SETTINGS: &[&str] = &["proc/sys", "proc/irq", "proc/bus", "proc/fs"];

/// What the kernel tells and does for an administrator.
const ADMINISTRATION: &[&str] = &[
    "proc/kcore",
    "proc/keys",
    "proc/key-users",
    "proc/kmsg",
    "proc/sysrq-trigger",
    "proc/timer_list",
    "proc/sched_debug",
    "proc/scsi",
    "proc/acpi",
];

/// The directory of its own, or of the kernel, in which a path is.
fn own_place(path: &Path) -> Option<&'static str> {
    let places = OWN.iter().map(|(place, _)| *place);
    let mut places = places.chain(["/dev", "/proc"]);
    places.find(|place| path.starts_with(place))
}

/// What names the resolver of a network of its own.
const RESOLVER: &str = "nameserver 127.0.0.1\noptions timeout:5 attempts:1\n";

/// What there is to be shown and hidden, with links resolved.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfinedView {
    write: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// What of that goes to a layer that stays, parents first.
    layers: Vec<HeldLayer>,
    /// What is mounted there and has no layer: it can only be read.
    unlayered: Vec<PathBuf>,
    hide: BTreeSet<PathBuf>,
    /// What is a mount of its own within what may be written, and whether it is read-only.
    pinned: BTreeMap<PathBuf, bool>,
    sockets: Vec<PathBuf>,
    /// What may be read in directories that would be empty.
    read: Vec<PathBuf>,
    bring: Vec<PathBuf>,
    /// What would be protected, and is not there.
    not_there: Vec<PathBuf>,
    /// Sockets on which somebody listens, by the names that they were given, and where they are.
    listening: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// The file that names the resolver, if there is one.
    resolver: Option<PathBuf>,
    /// Whether it has the machine's network, so that the sockets of commands are listed as others'.
    shares_network: bool,
}

impl ConfinedView {
    /// Looks at the machine, before any namespace is made.
    pub(super) fn survey(confinement: &Confinement) -> io::Result<Self> {
        let mut real = RealPaths::default();
        let mut all = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| real.of(path)).collect()
        };
        let mut write = all(&confinement.write);
        write.sort();
        write.dedup();
        let home = all(confinement.home.as_slice()).pop();
        let is_written = |path: &Path| write.iter().any(|written| path.starts_with(written));
        let home = home.filter(|home| home.parent().is_some() && !is_written(home));
        let hide: BTreeSet<PathBuf> = all(&confinement.hide).into_iter().collect();
        let (layers, unlayered) = layers(confinement);
        let sockets = all(&confinement.sockets);
        let shown = all(&confinement.read).into_iter();
        let bring = all(&confinement.bring);
        let resolver = all(&["/etc/resolv.conf".into()]).pop();
        let mut view = Self {
            not_there: pins::not_there(confinement, &mut real),
            pinned: pins::pins(confinement, &write, &mut real),
            home,
            hide,
            layers,
            unlayered,
            sockets,
            read: shown
                .filter(|path| own_place(path).is_some_and(|own| own != "/proc"))
                .collect(),
            bring,
            listening: BTreeMap::new(),
            resolver,
            shares_network: !confinement.network.is_own(),
            write,
        };
        view.listening = (listening()?.into_iter())
            .map(|path| (path.clone(), places_of(&path)))
            .collect();
        Ok(view)
    }

    /// What a command may write in it.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let own = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
        let ours = self.bring.iter().filter(|path| path.is_dir());
        let given = self.write.iter().chain(&self.home).chain(ours).cloned();
        own.into_iter().chain(given).collect()
    }

    /// Whether nobody listens on a socket that was not there when this was surveyed, and nobody has
    /// ceased to. Only those count that are seen there, unless they are hidden.
    pub(super) fn knows_sockets(&self) -> bool {
        let Ok(now) = listening() else { return false };
        let now: BTreeSet<PathBuf> = now.into_iter().collect();
        let are_seen = |places: &[PathBuf]| places.iter().any(|place| self.reaches(place));
        let mut known = self.listening.iter();
        let mut new = now
            .iter()
            .filter(|path| !self.listening.contains_key(*path));
        known.all(|(path, places)| now.contains(path) || !are_seen(places))
            && !new.any(|path| are_seen(&places_of(path)))
    }

    /// What would be protected, and was made since this was surveyed.
    pub(super) fn made_since(&self) -> Vec<PathBuf> {
        pins::made_since(&self.not_there)
    }

    /// Whether what is at this path of the machine is at the same path there, unless it is hidden.
    fn reaches(&self, path: &Path) -> bool {
        let given = self.write.iter().chain(&self.read).chain(&self.bring);
        let mut given = given.chain(&self.home);
        own_place(path).is_none() || given.any(|place| path.starts_with(place))
    }

    /// Whether the machine's directory at this path is seen there.
    pub(super) fn shows(&self, path: &Path) -> bool {
        let is_hidden = self.hide.iter().any(|hidden| path.starts_with(hidden));
        let is_ours = || self.bring.iter().any(|ours| path.starts_with(ours));
        self.reaches(path) && (!is_hidden || is_ours())
    }

    /// Whether what is at a path there is in a layer, and not the machine's.
    pub(super) fn is_layered(&self, path: &CStr) -> bool {
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        if self
            .layers
            .iter()
            .any(|layer| path.starts_with(&layer.root))
        {
            return true;
        }
        let given = self.write.iter().chain(&self.bring);
        self.home
            .as_ref()
            .is_some_and(|home| path.starts_with(home))
            && !given.into_iter().any(|given| path.starts_with(given))
    }

    /// Builds it, in a mount namespace of its own, except for `/proc`. The current directory is its
    /// root then.
    pub(super) fn build(&self, hosts_by: Option<HostAccess>) -> Result<(), Trouble> {
        mounts::make_private().map_err(Trouble::at("keep its mounts from the machine's"))?;
        let root = mounts::copy(Path::new("/")).map_err(Trouble::at("copy the view"))?;
        mounts::set(&root, READ_ONLY | TAME).map_err(Trouble::at("make the view read-only"))?;
        let (given, ours) = (self.given()?, self.ours()?);
        let mut devices = Vec::new();
        for name in DEVICES {
            let device = mounts::copy(&Path::new("/dev").join(name));
            devices.push((*name, device.map_err(Trouble::at("copy a device"))?));
        }
        mounts::put(&root, Path::new("/")).map_err(Trouble::at("show the view"))?;
        rustix::process::fchdir(&root)
            .map_err(|error| Trouble::new("go to the view", error.into()))?;
        for (place, options) in OWN {
            let place = at(Path::new(place));
            if place.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                mounts::empty(&place, options)
                    .map_err(Trouble::at("make a directory of its own"))?;
            }
        }
        let mut ways = Ways::default();
        let masks = Masks::make(self, &mut ways).map_err(Trouble::at("prepare what hides"))?;
        make_devices(&devices).map_err(Trouble::at("make /dev"))?;
        let _ = fs::write(at(Path::new(INSIDE)), "");
        show(&given, ways)?;
        self.pin()?;
        let around = self.hide_around_ours()?;
        show(&ours, Ways::default())?;
        self.hide(&masks, &around)?;
        if hosts_by == Some(HostAccess::Transparent) {
            self.name_resolver(&masks)
                .map_err(Trouble::at("name its resolver"))?;
        }
        for place in ["dev", "run"] {
            mounts::seal(Path::new(place)).map_err(Trouble::at("close a directory"))?;
        }
        Ok(())
    }

    /// Mounts what only a member of the new pid namespace can mount, and makes the view the root.
    pub(super) fn finish() -> Result<(), Trouble> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mounts::mount("proc", Path::new("proc"), flags, "").map_err(Trouble::of_proc)?;
        let present = |list: &'static [&str]| {
            let places = list.iter().map(Path::new);
            places.filter(|place| place.symlink_metadata().is_ok())
        };
        for place in present(SETTINGS) {
            mounts::pin(place, READ_ONLY)
                .map_err(Trouble::at("make the kernel's settings read-only"))?;
        }
        for place in present(ADMINISTRATION) {
            let made = if place.is_dir() {
                mounts::empty(place, "mode=000,size=4k").and_then(|()| mounts::seal(place))
            } else {
                let nothing = mounts::copy(Path::new("dev/null"));
                nothing.and_then(|nothing| mounts::put(&nothing, place))
            };
            made.map_err(Trouble::at("hide what is for an administrator"))?;
        }
        mounts::enter().map_err(Trouble::at("enter the view"))
    }

    /// What is shown at its own place: all that may be written, and read where nothing would be.
    fn given(&self) -> Result<Vec<(PathBuf, OwnedFd)>, Trouble> {
        let is_layered = |path: &PathBuf| self.layers.iter().any(|layer| layer.root == *path);
        let written = self.write.iter().filter(|path| !is_layered(path));
        let written = written.chain(&self.sockets).map(|path| (path, TAME));
        let read = self.read.iter().filter(|path| !is_layered(path));
        let read = read.map(|path| (path, TAME | READ_ONLY));
        let below = self.unlayered.iter();
        let below = below.map(|path| (path, TAME | READ_ONLY));
        let layers = self.layers.iter().map(|layer| {
            let doing = format!("hold the changes of {}", layer.root.display());
            let tree = mounts::layered(layer);
            let tree = tree.map_err(|error| Trouble::new(&doing, error))?;
            Ok((layer.root.clone(), tree))
        });
        let all = read.chain(written).map(copy_to_show).chain(layers);
        all.chain(below.map(copy_to_show)).collect()
    }

    /// What is ours, and shown even in something hidden.
    fn ours(&self) -> Result<Vec<(PathBuf, OwnedFd)>, Trouble> {
        let ours = self.bring.iter().map(|path| {
            if path.is_dir() {
                (path, TAME)
            } else {
                (path, TAME | READ_ONLY)
            }
        });
        ours.map(copy_to_show).collect()
    }

    /// Gives the home a layer that goes with the run. Where the kernel has no such layers, the home
    /// is read-only.
    fn lay_over_home(&self, ways: &mut Ways) -> io::Result<()> {
        let Some((home, lower)) = self
            .home
            .as_ref()
            .and_then(|home| Some((home, layer(home)?)))
        else {
            return Ok(());
        };
        for name in ["dev/upper", "dev/work"] {
            fs::DirBuilder::new().mode(0o755).create(name)?;
        }
        ways.make(home, true)?;
        let options = format!("userxattr,lowerdir={lower},upperdir=dev/upper,workdir=dev/work");
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let _ = mounts::mount("overlay", &at(home), flags, &options);
        Ok(())
    }

    /// Hides directories that hold files of ours: what is seen of them is the way to these files.
    fn hide_around_ours(&self) -> Result<BTreeSet<&PathBuf>, Trouble> {
        let mut around = BTreeSet::new();
        for hidden in self.hide.iter().filter(|hidden| self.holds_ours(hidden)) {
            let place = at(hidden);
            if place.is_dir() {
                mounts::empty(&place, "mode=755,size=64k")
                    .map_err(Trouble::at("hide what holds files of ours"))?;
                around.insert(hidden);
            }
        }
        Ok(around)
    }

    fn holds_ours(&self, hidden: &Path) -> bool {
        self.bring.iter().any(|path| path.starts_with(hidden))
    }

    /// Has names looked up at the resolver of its own network.
    fn name_resolver(&self, masks: &Masks) -> io::Result<()> {
        // Where there is no such file, libraries ask at this address anyway.
        let Some(place) = self.resolver.as_ref().map(|path| at(path)) else {
            return Ok(());
        };
        if place.symlink_metadata().is_err() {
            mounts::make_place(&place, false)?;
        }
        mounts::put(&mounts::copy_of(&masks.resolver)?, &place)
    }

    /// Pins what is protected, and the way to it.
    fn pin(&self) -> Result<(), Trouble> {
        for (path, is_read_only) in &self.pinned {
            let attributes = if *is_read_only { READ_ONLY } else { 0 };
            mounts::pin(&at(path), attributes)
                .map_err(|error| Trouble::new(&format!("protect {}", path.display()), error))?;
        }
        Ok(())
    }

    /// Hides what is hidden, and sockets that were not given.
    fn hide(&self, masks: &Masks, around: &BTreeSet<&PathBuf>) -> Result<(), Trouble> {
        // Also in what it may write: of a command's own, in a network of its own, none is listed.
        let is_given = |path: &PathBuf| {
            let is_own = self.shares_network && self.write.iter().any(|own| path.starts_with(own));
            let is_named = self.write.contains(path);
            let mut given = self.sockets.iter().chain(&self.bring);
            is_own || is_named || given.any(|place| path.starts_with(place))
        };
        let sockets = self.listening.values().flatten();
        let sockets = sockets.filter(|path| self.reaches(path) && !is_given(path));
        for path in self.hide.iter().chain(sockets) {
            let place = at(path);
            // What is in a directory of its own, or in something hidden, is not there any more.
            let Ok(found) = place.symlink_metadata() else {
                continue;
            };
            let doing = |error| Trouble::new(&format!("hide {}", path.display()), error);
            if around.contains(path) {
                mounts::seal(&place).map_err(doing)?;
            } else if !self.holds_ours(path) {
                let mask = if found.is_dir() {
                    &masks.directory
                } else {
                    &masks.file
                };
                let mask = mounts::copy_of(mask).map_err(doing)?;
                mounts::put(&mask, &place).map_err(doing)?;
            }
        }
        Ok(())
    }
}

/// What is seen instead of something hidden: nobody may open it, as a file of somebody else.
struct Masks {
    directory: OwnedFd,
    file: OwnedFd,
    /// Not a mask: what names the resolver of a network of its own.
    resolver: OwnedFd,
}

impl Masks {
    /// Makes them in a place that is covered afterwards.
    fn make(view: &ConfinedView, ways: &mut Ways) -> io::Result<Self> {
        mounts::empty(Path::new("dev"), "mode=700")?;
        fs::DirBuilder::new().mode(0o000).create("dev/directory")?;
        let mut options = fs::OpenOptions::new();
        options
            .write(true)
            .create_new(true)
            .mode(0o000)
            .open("dev/file")?;
        fs::write("dev/resolver", RESOLVER)?;
        view.lay_over_home(ways)?;
        mounts::seal(Path::new("dev"))?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let open = |name| rustix::fs::open(name, flags, Mode::empty());
        Ok(Self {
            directory: open("dev/directory")?,
            file: open("dev/file")?,
            resolver: open("dev/resolver")?,
        })
    }
}

/// A directory of devices with what everybody may use, and terminals of its own.
fn make_devices(devices: &[(&str, OwnedFd)]) -> io::Result<()> {
    mounts::empty(Path::new("dev"), "mode=755,size=64k")?;
    for (name, tree) in devices {
        let place = Path::new("dev").join(name);
        mounts::make_place(&place, false)?;
        mounts::put(tree, &place)?;
    }
    for (target, link) in LINKS {
        symlink(target, link)?;
    }
    fs::create_dir("dev/pts")?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mounts::mount(
        "devpts",
        Path::new("dev/pts"),
        flags,
        "newinstance,ptmxmode=0666,mode=0620",
    )?;
    fs::create_dir("dev/shm")?;
    mounts::empty(Path::new("dev/shm"), "mode=1777")
}

/// Directories that had to be made, in one of its own, on the way to something that is shown. They
/// can't be written: what a command put there would be gone with the run.
#[derive(Default)]
struct Ways(BTreeSet<PathBuf>);

impl Ways {
    /// Makes a place, and the way to it.
    fn make(&mut self, path: &Path, is_directory: bool) -> io::Result<()> {
        let missing = |path: &&Path| at(path).symlink_metadata().is_err();
        let first = path.ancestors().skip(1).take_while(missing).last();
        self.0.extend(first.map(Path::to_owned));
        mounts::make_place(&at(path), is_directory)
    }

    fn close(self) -> io::Result<()> {
        self.0.iter().try_for_each(|path| {
            mounts::pin(&at(path), 0)?;
            mounts::seal(&at(path))
        })
    }
}

/// A copy of what is at a path, to be shown at its own place.
fn copy_to_show((path, attributes): (&PathBuf, u64)) -> Result<(PathBuf, OwnedFd), Trouble> {
    let doing = |error| Trouble::new(&format!("show {}", path.display()), error);
    let tree = mounts::copy(path).map_err(doing)?;
    mounts::set(&tree, attributes).map_err(doing)?;
    Ok((path.clone(), tree))
}

/// Shows what is given at its own place.
fn show(given: &[(PathBuf, OwnedFd)], mut ways: Ways) -> Result<(), Trouble> {
    for (path, tree) in given {
        let doing = |error| Trouble::new(&format!("show {}", path.display()), error);
        let is_directory = rustix::fs::fstat(tree)
            .map(|found| FileType::from_raw_mode(found.st_mode).is_dir())
            .map_err(|error| doing(error.into()))?;
        ways.make(path, is_directory).map_err(doing)?;
    }
    ways.close()
        .map_err(Trouble::at("close the way to the workspace"))?;
    for (path, tree) in given {
        mounts::put(tree, &at(path))
            .map_err(|error| Trouble::new(&format!("show {}", path.display()), error))?;
    }
    Ok(())
}

/// The layers of a confinement, parents first, and what else is mounted in them: an overlay does
/// not show it.
fn layers(confinement: &Confinement) -> (Vec<HeldLayer>, Vec<PathBuf>) {
    let mut layers = confinement.layers.clone();
    layers.sort_by(|one, other| one.root.cmp(&other.root));
    if layers.is_empty() {
        return (layers, Vec::new());
    }
    let is_root = |path: &PathBuf| layers.iter().any(|layer| layer.root == *path);
    let is_below = |path: &PathBuf| layers.iter().any(|layer| path.starts_with(&layer.root));
    let mounted = crate::mounted::points().into_iter();
    let mounted = mounted.map(|point| point.path);
    let unlayered = mounted.filter(|path| is_below(path) && !is_root(path));
    let unlayered = unlayered.collect::<BTreeSet<_>>().into_iter().collect();
    (layers, unlayered)
}

/// A path as an option of an overlay; `None` if it can't be one.
fn layer(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let is_special = |c: char| matches!(c, ':' | ',' | '\\');
    (!text.contains(is_special)).then(|| text.to_owned())
}
