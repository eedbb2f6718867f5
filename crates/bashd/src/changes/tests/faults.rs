//! What others do while a change is applied, or after the death of who applied it: nothing of
//! theirs is lost, and what is left to do is done or told.

use super::{Case, ID, dying, picture, scratch};
use crate::changes::journal::{Stop, TradeWay};
use crate::changes::store::{ChangeFailure, ChangeState, ChangeStore, Moved};
use bashd_keeper::confinement::HeldLayer;
use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// A directory with some files, and a layer over it that a test fills itself.
struct Scene {
    directory: TempDir,
    store: ChangeStore,
}

const FILES: [&str; 5] = ["a", "b", "c", "d", "e"];

impl Scene {
    fn new() -> Self {
        let directory = scratch();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        for name in FILES {
            fs::write(root.join(name), "old").unwrap();
        }
        let store = ChangeStore::in_state(&directory.path().join("state"));
        let scene = Self { directory, store };
        let prepared = scene
            .store
            .prepare((ID, "x"), &root, &[scene.layer()], false);
        drop(prepared.unwrap());
        scene
    }

    /// Likewise, and the command wrote every file.
    fn written() -> Self {
        let scene = Self::new();
        for name in FILES {
            fs::write(scene.upper().join(name), "new!").unwrap();
        }
        scene.store.settle(ID).unwrap();
        scene
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn layer(&self) -> HeldLayer {
        HeldLayer {
            root: self.root(),
            directory: self
                .directory
                .path()
                .join("state/changes")
                .join(ID)
                .join("0"),
        }
    }

    fn upper(&self) -> PathBuf {
        self.layer().upper()
    }

    fn journal(&self) -> PathBuf {
        let state = self.directory.path().join("state");
        state.join("changes/journals").join(ID)
    }

    fn texts(&self) -> Vec<String> {
        let read = |name| fs::read_to_string(self.root().join(name)).unwrap();
        FILES.into_iter().map(read).collect()
    }

    /// Applies it, and dies after so many of its renames.
    fn die_after(&self, renames: u64) {
        let lock = self.store.lock().unwrap();
        // Before the first there are the beginning, and the opening of closed directories.
        let passes = dying(renames + 1);
        let died = self
            .store
            .trade(&lock, (ID, &Moved::default()), TradeWay::Forwards, &passes);
        assert!(died.is_err());
    }
}

/// Replaces a file, as editors do.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("swp");
    fs::write(&new, text).unwrap();
    fs::rename(&new, path).unwrap();
}

#[test]
fn what_somebody_replaced_after_a_death_stays_and_the_rest_is_taken_back() {
    let scene = Scene::written();
    scene.die_after(2);
    assert_eq!(scene.texts(), ["new!", "new!", "old", "old", "old"]);
    replace(&scene.root().join("d"), "mine");
    assert!(scene.store.recover().unwrap().is_empty());
    assert_eq!(scene.texts(), ["old", "old", "old", "mine", "old"]);
    let change = scene.store.find(ID).unwrap();
    assert_eq!(change.state(), ChangeState::Held);
    let refused = scene.store.apply(ID, &Moved::default());
    let Err(ChangeFailure::Conflicts(conflicts)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(conflicts[0].path, scene.root().join("d"));
    assert_eq!(scene.texts(), ["old", "old", "old", "mine", "old"]);
}

#[test]
fn what_somebody_wrote_into_what_was_applied_before_a_death_stays() {
    let scene = Scene::written();
    scene.die_after(2);
    // One that has its new text, and one that has not: it can go neither way as a whole.
    fs::write(scene.root().join("a"), "mine, longer").unwrap();
    replace(&scene.root().join("d"), "mine");
    assert!(scene.store.recover().unwrap().is_empty());
    assert_eq!(scene.texts(), ["mine, longer", "old", "old", "mine", "old"]);
    // Its former text is kept, and is not put over what somebody wrote.
    let change = scene.store.find(ID).unwrap();
    assert_eq!(change.state(), ChangeState::InPart);
    let paths = [scene.root().join("a")];
    let one = Moved {
        paths: &paths,
        force: false,
    };
    assert!(matches!(
        scene.store.undo(ID, &one),
        Err(ChangeFailure::Conflicts(_))
    ));
    scene.store.undo(ID, &Moved { force: true, ..one }).unwrap();
    assert_eq!(scene.texts()[0], "old");
}

#[test]
fn what_was_written_after_the_last_rename_stays_and_the_change_is_applied() {
    let scene = Scene::written();
    scene.die_after(5);
    fs::write(scene.root().join("a"), "mine, longer").unwrap();
    assert!(scene.store.recover().unwrap().is_empty());
    assert_eq!(
        scene.texts(),
        ["mine, longer", "new!", "new!", "new!", "new!"]
    );
    let refused = scene.store.undo(ID, &Moved::default());
    assert!(
        matches!(refused, Err(ChangeFailure::Conflicts(_))),
        "{refused:?}"
    );
}

#[test]
fn nothing_is_moved_into_a_directory_that_took_the_place_of_the_real_one() {
    let scene = Scene::new();
    fs::write(scene.upper().join("made"), "new").unwrap();
    fs::write(scene.upper().join("made too"), "new").unwrap();
    scene.store.settle(ID).unwrap();
    scene.die_after(1);
    let (root, away) = (scene.root(), scene.directory.path().join("away"));
    fs::rename(&root, &away).unwrap();
    fs::create_dir(&root).unwrap();
    let stuck = scene.store.recover().unwrap();
    assert_eq!(stuck.len(), 1);
    assert!(
        stuck[0].1.to_string().contains("moved or replaced"),
        "{}",
        stuck[0].1
    );
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    // Nobody else is kept from working by it.
    assert_eq!(scene.store.list().unwrap().len(), 1);
    let other = HeldLayer {
        root: away.clone(),
        directory: scene.directory.path().join("state/changes/other/0"),
    };
    let prepared = scene
        .store
        .prepare(("other", "y"), &away, std::slice::from_ref(&other), false);
    drop(prepared.unwrap());
    fs::write(other.upper().join("third"), "3").unwrap();
    scene.store.settle("other").unwrap();
    scene.store.apply("other", &Moved::default()).unwrap();
    assert_eq!(fs::read_to_string(away.join("third")).unwrap(), "3");
    // When the directory is back, it is taken back as a whole, and can be applied.
    fs::remove_dir(&root).unwrap();
    fs::rename(&away, &root).unwrap();
    assert!(scene.store.recover().unwrap().is_empty());
    assert!(!root.join("made").exists() && !root.join("made too").exists());
    scene.store.apply(ID, &Moved::default()).unwrap();
    assert_eq!(fs::read_to_string(root.join("made")).unwrap(), "new");
    assert_eq!(fs::read_to_string(root.join("made too")).unwrap(), "new");
}

#[test]
fn a_rename_that_is_refused_takes_the_others_back() {
    let scene = Scene::written();
    let before = picture(&scene.root());
    // Somebody puts another file there between the look and the rename.
    let passed = Cell::new(0);
    let root = scene.root();
    let meddle = || -> Result<(), Stop> {
        passed.set(passed.get() + 1);
        if passed.get() == 4 {
            replace(&root.join("e"), "mine");
        }
        Ok(())
    };
    let lock = scene.store.lock().unwrap();
    let refused = scene
        .store
        .trade(&lock, (ID, &Moved::default()), TradeWay::Forwards, &meddle);
    let Err(ChangeFailure::Failed(error)) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("nothing was changed"), "{error}");
    drop(lock);
    assert_eq!(scene.texts(), ["old", "old", "old", "old", "mine"]);
    assert!(!scene.journal().exists());
    replace(&scene.root().join("e"), "old");
    assert_eq!(picture(&scene.root()).len(), before.len());
}

#[test]
fn a_journal_that_was_not_written_to_its_end_does_nothing() {
    let case = (1..1000).map(Case::new).find(Case::settle).unwrap();
    let journals = case.directory.path().join("state/changes/journals");
    fs::create_dir(&journals).unwrap();
    let torn = journals.join(ID).with_extension("new");
    for bytes in [&b""[..], b"\0\0\0\0", b"\x83\xa6record"] {
        fs::write(&torn, bytes).unwrap();
        assert!(case.store.recover().unwrap().is_empty());
        assert!(!torn.exists());
        assert_eq!(picture(&case.root()), case.before);
    }
    case.store.apply(ID, &Moved::default()).unwrap();
    assert_eq!(picture(&case.root()), case.after);
}

#[test]
fn a_journal_that_can_not_be_read_is_kept_and_told() {
    let scene = Scene::written();
    scene.die_after(2);
    let whole = fs::read(scene.journal()).unwrap();
    fs::write(scene.journal(), b"of a later version").unwrap();
    assert_eq!(scene.store.recover().unwrap().len(), 1);
    assert!(scene.store.apply(ID, &Moved::default()).is_err());
    assert!(scene.journal().exists());
    fs::write(scene.journal(), whole).unwrap();
    assert!(scene.store.recover().unwrap().is_empty());
    assert_eq!(scene.texts(), ["new!"; 5]);
}

#[test]
fn a_change_of_which_a_half_was_removed_is_none() {
    let scene = Scene::written();
    scene.store.apply(ID, &Moved::default()).unwrap();
    // Who discarded it died, before or after the first file.
    let own = scene.directory.path().join("state/changes").join(ID);
    fs::remove_file(scene.upper().join("c")).unwrap();
    let refused = scene.store.undo(ID, &Moved::default());
    let Err(ChangeFailure::Conflicts(conflicts)) = refused else {
        panic!("{refused:?}");
    };
    assert!(conflicts[0].why.contains("lost"), "{conflicts:?}");
    assert_eq!(scene.texts(), ["new!"; 5]);
    fs::rename(own.join("record"), own.join("removed")).unwrap();
    assert!(scene.store.list().unwrap().is_empty());
    scene.store.prune(None, None).unwrap();
    assert!(!own.exists());
}

#[test]
fn an_attribute_that_somebody_changed_meanwhile_is_a_conflict() {
    let scene = Scene::new();
    let shared = scene.root().join("shared");
    fs::create_dir(&shared).unwrap();
    // As the kernel does it when a file is made in it.
    let copied = scene.upper().join("shared");
    fs::create_dir(&copied).unwrap();
    fs::set_permissions(&copied, shared.metadata().unwrap().permissions()).unwrap();
    fs::write(copied.join("new"), "x").unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).unwrap();
    scene.store.settle(ID).unwrap();
    let refused = scene.store.apply(ID, &Moved::default());
    let Err(ChangeFailure::Conflicts(conflicts)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(conflicts[0].path, shared);
    assert_eq!(
        shared.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn two_who_look_at_once_find_the_same() {
    for _ in 0..40 {
        let scene = Scene::new();
        for name in FILES {
            fs::write(scene.upper().join(name), "new!").unwrap();
        }
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    drop(scene.store.list().unwrap());
                }
            });
            scene.store.apply(ID, &Moved::default()).unwrap();
            is_over.store(true, Ordering::Relaxed);
            looking.join().unwrap();
        });
        assert_eq!(scene.store.find(ID).unwrap().state(), ChangeState::Applied);
        scene.store.undo(ID, &Moved::default()).unwrap();
        assert_eq!(scene.texts(), ["old"; 5]);
    }
}

#[test]
fn layers_that_a_command_is_about_to_use_are_not_taken_for_those_of_one_that_ended() {
    let scene = Scene::new();
    scene.store.discard(ID).unwrap();
    let root = scene.root();
    let prepared = scene
        .store
        .prepare((ID, "x"), &root, &[scene.layer()], false);
    assert_eq!(scene.store.list().unwrap()[0].state(), ChangeState::Running);
    drop(prepared.unwrap());
    assert!(scene.store.list().unwrap().is_empty());
}

#[test]
fn what_can_not_be_noted_is_taken_back() {
    let scene = Scene::written();
    let own = scene.directory.path().join("state/changes").join(ID);
    // As on a full disk: there is no room for the new record.
    fs::create_dir(own.join("record.new")).unwrap();
    let refused = scene.store.apply(ID, &Moved::default());
    let Err(ChangeFailure::Failed(error)) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("nothing was changed"), "{error}");
    assert_eq!(scene.texts(), ["old"; 5]);
    assert!(!scene.journal().exists());
    fs::remove_dir(own.join("record.new")).unwrap();
    let force = Moved {
        force: true,
        paths: &[],
    };
    scene.store.apply(ID, &force).unwrap();
    assert_eq!(scene.texts(), ["new!"; 5]);
}
