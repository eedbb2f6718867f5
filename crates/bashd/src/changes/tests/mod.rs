//! Random trees and random changes: applied they are what the command left, undone what was before,
//! and a death at any step of either leaves one or the other.

mod faults;
mod keeping;

use super::journal::{Passes, Stop, TradeWay};
use super::store::{Change, ChangeFailure, ChangeState, ChangeStore, Moved};
use super::tree;
use bashd_keeper::confinement::HeldLayer;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn name(&mut self) -> OsString {
        let names: [&[u8]; 7] = [b"a", b"b", b"A", b"c d", b"e\n", b"\xff\xfe", b"long-name"];
        OsString::from_vec(names[self.below(7) as usize].to_vec())
    }
}

/// Waits until the file system tells another moment: changes of the same one have the same time.
fn next_moment() {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    while super::own_moves::moment() <= (now.tv_sec, now.tv_nsec) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// In memory, where syncing costs nothing.
fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = tempfile::Builder::new().tempdir_in(memory);
    made.unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Everything that is to be the same: type, mode, content, attributes.
fn picture(root: &Path) -> BTreeMap<PathBuf, String> {
    fn add(path: &Path, root: &Path, all: &mut BTreeMap<PathBuf, String>) {
        let found = fs::symlink_metadata(path).unwrap();
        let content = if found.is_symlink() {
            format!("{:?}", fs::read_link(path).unwrap())
        } else if found.is_file() {
            format!("{:?} {:?}", fs::read(path).unwrap(), found.mtime_nsec())
        } else {
            String::new()
        };
        let extended = tree::extended(path).unwrap();
        let text = format!("{:o} {content} {extended:?}", found.mode());
        all.insert(path.strip_prefix(root).unwrap().to_owned(), text);
        if found.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                add(&entry.unwrap().path(), root, all);
            }
        }
    }
    let mut all = BTreeMap::new();
    add(root, root, &mut all);
    all
}

fn copy(from: &Path, to: &Path) {
    let found = fs::symlink_metadata(from).unwrap();
    if found.is_symlink() {
        return symlink(fs::read_link(from).unwrap(), to).unwrap();
    }
    if found.is_file() {
        fs::copy(from, to).unwrap();
        let times = fs::FileTimes::new().set_modified(found.modified().unwrap());
        let opened = fs::File::open(to).unwrap();
        opened.set_times(times).unwrap();
    } else {
        fs::create_dir(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    }
    fs::set_permissions(to, found.permissions()).unwrap();
}

fn directories(root: &Path) -> Vec<PathBuf> {
    let mut all = vec![root.to_owned()];
    let mut next = 0;
    while next < all.len() {
        let entries = fs::read_dir(&all[next]).unwrap().flatten();
        let mut found: Vec<_> = entries
            .filter(|entry| entry.file_type().unwrap().is_dir())
            .map(|entry| entry.path())
            .collect();
        found.sort();
        all.extend(found);
        next += 1;
    }
    all
}

/// One thing that a command might do.
fn act(root: &Path, dice: &mut Dice) {
    let all = directories(root);
    let place = all[dice.below(all.len() as u64) as usize].join(dice.name());
    let mode = [0o644, 0o600, 0o755, 0o444][dice.below(4) as usize];
    let kind = fs::symlink_metadata(&place).map(|found| found.file_type());
    match dice.below(8) {
        0 | 1 => {
            if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                return;
            }
            let _ = fs::remove_file(&place);
            fs::write(&place, format!("{}", dice.below(9))).unwrap();
            fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        }
        2 | 3 => {
            if kind.is_err() {
                fs::create_dir(&place).unwrap();
            }
        }
        4 => match kind {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(&place).unwrap(),
            Ok(_) => fs::remove_file(&place).unwrap(),
            Err(_) => {}
        },
        5 => {
            if kind.is_err() {
                symlink(format!("to{}", dice.below(3)), &place).unwrap();
            }
        }
        6 => {
            if kind.is_ok_and(|kind| kind.is_dir()) {
                let mode = [0o755, 0o700, 0o555][dice.below(3) as usize];
                fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        _ => {
            let to = all[dice.below(all.len() as u64) as usize].join(dice.name());
            if kind.is_ok() && to.symlink_metadata().is_err() && !to.starts_with(&place) {
                fs::rename(&place, &to).unwrap();
            }
        }
    }
}

/// Makes a layer of the difference between two trees, as the kernel would.
fn lay(upper: &Path, before: &Path, after: &Path, dice: &mut Dice) {
    let names = |path: &Path| -> Vec<OsString> {
        let entries = fs::read_dir(path).unwrap().flatten();
        entries.map(|entry| entry.file_name()).collect()
    };
    for name in names(before) {
        if after.join(&name).symlink_metadata().is_err() {
            let kind = rustix::fs::FileType::CharacterDevice;
            let mode = rustix::fs::Mode::empty();
            rustix::fs::mknodat(rustix::fs::CWD, upper.join(&name), kind, mode, 0).unwrap();
        }
    }
    for name in names(after) {
        let (old, new) = (before.join(&name), after.join(&name));
        let found = fs::symlink_metadata(&new).unwrap();
        let was = fs::symlink_metadata(&old).ok();
        let place = upper.join(&name);
        if was.as_ref().is_some_and(fs::Metadata::is_dir) && found.is_dir() {
            if picture(&old) == picture(&new) {
                continue;
            }
            if dice.below(3) == 0 {
                copy(&new, &place);
                let flags = rustix::fs::XattrFlags::empty();
                rustix::fs::lsetxattr(&place, "user.overlay.opaque", b"y", flags).unwrap();
            } else {
                fs::create_dir(&place).unwrap();
                lay(&place, &old, &new, dice);
                fs::set_permissions(&place, found.permissions()).unwrap();
            }
        } else if was.is_none() || picture(&old) != picture(&new) {
            copy(&new, &place);
        }
    }
}

/// A tree, what a command made of it, and the change in between.
struct Case {
    directory: TempDir,
    store: ChangeStore,
    before: BTreeMap<PathBuf, String>,
    after: BTreeMap<PathBuf, String>,
}

const ID: &str = "change";

impl Case {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let directory = scratch();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("root")).unwrap();
        for _ in 0..12 + dice.below(20) {
            act(&at("root"), &mut dice);
        }
        let before = picture(&at("root"));
        copy(&at("root"), &at("after"));
        for _ in 0..=dice.below(12) {
            act(&at("after"), &mut dice);
        }
        let after = picture(&at("after"));
        let store = ChangeStore::in_state(&at("state"));
        let layer = HeldLayer {
            root: at("root"),
            directory: at("state").join("changes").join(ID).join("0"),
        };
        let layers = [layer.clone()];
        let prepared = store.prepare((ID, "command"), &at("root"), &layers, false);
        drop(prepared.unwrap());
        lay(&layer.upper(), &at("root"), &at("after"), &mut dice);
        Self {
            directory,
            store,
            before,
            after,
        }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    /// Applies it or undoes it, passing these points.
    fn trade(&self, is_undo: bool, passes: Passes<'_>) -> Result<Change, ChangeFailure> {
        let way = if is_undo {
            TradeWay::Backwards
        } else {
            TradeWay::Forwards
        };
        let lock = self.store.lock().unwrap();
        self.store
            .trade(&lock, (ID, &Moved::default()), way, passes)
    }

    /// Recovers as whoever comes next, passing these points.
    fn recover(&self, passes: Passes<'_>) {
        let lock = self.store.lock().unwrap();
        drop(self.store.recover_locked(&lock, passes));
    }

    /// Whether something changed at all.
    fn settle(&self) -> bool {
        let summary = self.store.settle(ID).unwrap();
        assert_eq!(summary.id.is_some(), self.before != self.after);
        summary.id.is_some()
    }
}

#[test]
fn what_is_applied_is_what_the_command_left_and_what_is_undone_what_was_before() {
    let rounds = if bashd_testkit::repeat::is_soak() {
        10_000
    } else {
        200
    };
    for seed in 1..=rounds {
        let case = Case::new(seed);
        let root = case.root();
        if !case.settle() {
            continue;
        }
        let all = Moved::default();
        assert_eq!(picture(&root), case.before, "held, {seed}");
        let change = case.store.apply(ID, &all).unwrap();
        assert_eq!(change.state(), ChangeState::Applied);
        assert_eq!(picture(&root), case.after, "applied, {seed}");
        let change = case.store.undo(ID, &all).unwrap();
        assert_eq!(change.state(), ChangeState::Undone);
        assert_eq!(picture(&root), case.before, "undone, {seed}");
        case.store.apply(ID, &all).unwrap();
        assert_eq!(picture(&root), case.after, "applied again, {seed}");
        case.store.discard(ID).unwrap();
        assert!(case.store.list().unwrap().is_empty());
        assert_eq!(picture(&root), case.after, "discarded, {seed}");
    }
}

/// Lets the process die when it passes this many points.
fn dying(after: u64) -> impl Fn() -> Result<(), Stop> {
    let left = Cell::new(after);
    move || match left.get().checked_sub(1) {
        Some(less) => {
            left.set(less);
            Ok(())
        }
        None => Err(Stop::Died),
    }
}

#[test]
fn a_death_at_any_step_leaves_all_or_nothing() {
    let cases = bashd_testkit::repeat::repetitions(400) as u64;
    let mut deaths = 0;
    for seed in 1..=cases {
        for is_undo in [false, true] {
            for at in 0.. {
                let case = Case::new(seed);
                if !case.settle() {
                    break;
                }
                let (from, to) = if is_undo {
                    case.store.apply(ID, &Moved::default()).unwrap();
                    (&case.after, &case.before)
                } else {
                    (&case.before, &case.after)
                };
                if case.trade(is_undo, &dying(at)).is_ok() {
                    break;
                }
                deaths += 1;
                // The one who comes after dies as well, a little later.
                case.recover(&dying(at / 2));
                assert!(case.store.recover().unwrap().is_empty());
                let found = picture(&case.root());
                assert_eq!(found, *to, "seed {seed}, step {at}, undo {is_undo}");
                assert_ne!(found, *from);
                let change = case.store.find(ID).unwrap();
                let expected = if is_undo {
                    ChangeState::Undone
                } else {
                    ChangeState::Applied
                };
                assert_eq!(change.state(), expected);
            }
        }
    }
    assert!(deaths > 100, "{deaths}");
}

/// A change whose tree somebody else changes: nothing is applied, and the path is named.
fn conflicts(seed: u64, meddle: impl Fn(&Path)) -> Option<Vec<PathBuf>> {
    let case = Case::new(seed);
    if !case.settle() {
        return None;
    }
    next_moment();
    let change = case.store.find(ID).unwrap();
    let top = change.steps().next().unwrap();
    meddle(&top.path);
    let meddled = picture(&case.root());
    match case.store.apply(ID, &Moved::default()) {
        Err(ChangeFailure::Conflicts(conflicts)) => {
            assert_eq!(picture(&case.root()), meddled, "{seed}");
            let which = Moved {
                force: true,
                paths: &[],
            };
            if case.store.apply(ID, &which).is_ok() {
                case.store.undo(ID, &Moved::default()).unwrap();
                assert_eq!(picture(&case.root()), meddled, "nothing is lost, {seed}");
            }
            Some(
                conflicts
                    .into_iter()
                    .map(|conflict| conflict.path)
                    .collect(),
            )
        }
        Ok(_) => None,
        Err(ChangeFailure::Failed(error)) => panic!("{error}"),
    }
}

#[test]
fn what_somebody_else_changed_is_found_before_anything_is_touched() {
    let mut found = 0;
    for seed in 1..=60 {
        let meddle = |path: &Path| match path.symlink_metadata() {
            Ok(_) => {
                let _ = fs::rename(path, path.with_extension("moved"));
                fs::write(path, "mine").unwrap();
            }
            Err(_) => fs::write(path, "mine").unwrap(),
        };
        // The attributes of the whole directory are no file to be replaced.
        let is_root = Case::new(seed);
        let root = is_root.root();
        if is_root.settle() && is_root.store.find(ID).unwrap().steps().next().unwrap().path == root
        {
            continue;
        }
        found += usize::from(conflicts(seed, meddle).is_some());
    }
    assert!(found > 30, "{found}");
}

#[test]
fn parts_are_applied_and_undone_by_their_paths() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("root/d")).unwrap();
    fs::write(at("root/one"), "1").unwrap();
    fs::write(at("root/two"), "2").unwrap();
    let store = ChangeStore::in_state(&at("state"));
    let layer = HeldLayer {
        root: at("root"),
        directory: at("state/changes/change/0"),
    };
    let layers = std::slice::from_ref(&layer);
    let prepared = store.prepare((ID, "x"), &at("root"), layers, false);
    drop(prepared.unwrap());
    fs::write(layer.upper().join("one"), "new 1").unwrap();
    fs::write(layer.upper().join("two"), "new 2").unwrap();
    fs::create_dir(layer.upper().join("made")).unwrap();
    fs::write(layer.upper().join("made/x"), "x").unwrap();
    let summary = store.settle(ID).unwrap();
    assert_eq!(
        (summary.created, summary.modified, summary.deleted),
        (2, 2, 0)
    );
    // A path that is named twice, or with what is around it, is named.
    let paths = [at("root/one"), at("root/one")];
    let one = Moved {
        paths: &paths,
        force: false,
    };
    let change = store.apply(ID, &one).unwrap();
    assert_eq!(change.state(), ChangeState::InPart);
    assert_eq!(fs::read_to_string(at("root/one")).unwrap(), "new 1");
    assert_eq!(fs::read_to_string(at("root/two")).unwrap(), "2");
    let paths = [at("root/made/x")];
    let inside = store.apply(
        ID,
        &Moved {
            paths: &paths,
            force: false,
        },
    );
    let Err(ChangeFailure::Failed(error)) = inside else {
        panic!()
    };
    assert!(error.to_string().contains("a part of"), "{error}");
    store.apply(ID, &Moved::default()).unwrap();
    assert_eq!(fs::read_to_string(at("root/made/x")).unwrap(), "x");
    store.undo(ID, &one).unwrap();
    assert_eq!(fs::read_to_string(at("root/one")).unwrap(), "1");
    assert_eq!(fs::read_to_string(at("root/two")).unwrap(), "new 2");
    // The directory is another one by now: nothing is moved into it.
    fs::rename(at("root"), at("elsewhere")).unwrap();
    fs::create_dir(at("root")).unwrap();
    let moved = store.undo(ID, &Moved::default());
    assert!(matches!(moved, Err(ChangeFailure::Conflicts(_))));
    assert_eq!(fs::read_dir(at("root")).unwrap().count(), 0);
}
