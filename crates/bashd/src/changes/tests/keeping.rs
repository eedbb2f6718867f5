//! How long changes are kept, and how many.

use super::{ID, next_moment, scratch};
use crate::changes::store::{ChangeFailure, ChangeStore, Moved};
use bashd_keeper::confinement::HeldLayer;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Makes a change that writes a file of this size.
fn make(store: &ChangeStore, directory: &Path, id: &str, size: usize) {
    let layer = HeldLayer {
        root: directory.join("root"),
        directory: directory.join("state/changes").join(id).join("0"),
    };
    let layers = [layer.clone()];
    let prepared = store.prepare((id, "x"), &layer.root, &layers, false);
    drop(prepared.unwrap());
    fs::write(layer.upper().join(id), vec![b'x'; size]).unwrap();
    store.settle(id).unwrap();
}

fn ids(store: &ChangeStore) -> Vec<String> {
    let all = store.list().unwrap();
    all.iter().map(|change| change.id().to_owned()).collect()
}

#[test]
fn the_oldest_go_until_there_is_room_and_what_runs_stays() {
    let directory = scratch();
    fs::create_dir(directory.path().join("root")).unwrap();
    let store = ChangeStore::in_state(&directory.path().join("state"));
    for id in ["a", "b", "c"] {
        make(&store, directory.path(), id, 1000);
    }
    assert!(store.prune(None, Some(3000)).unwrap().is_empty());
    assert_eq!(store.prune(None, Some(2999)).unwrap(), ["a"]);
    let layer = HeldLayer {
        root: directory.path().join("root"),
        directory: directory.path().join("state/changes").join(ID).join("0"),
    };
    let root = layer.root.clone();
    let running = store.prepare((ID, "x"), &root, &[layer], false).unwrap();
    assert_eq!(store.prune(None, Some(0)).unwrap(), ["b", "c"]);
    assert_eq!(ids(&store), [ID], "its command runs");
    drop(running);
}

#[test]
fn what_is_old_goes_and_what_was_applied_lately_is_not_old() {
    let directory = scratch();
    fs::create_dir(directory.path().join("root")).unwrap();
    let store = ChangeStore::in_state(&directory.path().join("state"));
    make(&store, directory.path(), "a", 1);
    make(&store, directory.path(), "b", 1);
    // A change that began long ago.
    for id in ["a", "b"] {
        let mut record = store.read(id).unwrap();
        record.began_ms -= 3_600_000;
        let durability = crate::changes::record::Durability::Later;
        store.write(&record, durability).unwrap();
    }
    store.apply("a", &Moved::default()).unwrap();
    assert!(
        store
            .prune(Some(Duration::from_hours(2)), None)
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        store.prune(Some(Duration::from_secs(3599)), None).unwrap(),
        ["b"]
    );
    assert_eq!(ids(&store), ["a"]);
    assert!(store.prune(Some(Duration::ZERO), None).unwrap() == ["a"]);
    assert!(
        directory.path().join("root/a").exists(),
        "what is real stays"
    );
}

#[test]
fn a_change_that_can_not_be_removed_keeps_no_other() {
    let directory = scratch();
    fs::create_dir(directory.path().join("root")).unwrap();
    let store = ChangeStore::in_state(&directory.path().join("state"));
    for id in ["a", "b", "c"] {
        make(&store, directory.path(), id, 10);
    }
    let mut record = store.read("a").unwrap();
    let file = directory.path().join("root/a");
    fs::write(&file, "no directory").unwrap();
    record.layers[0].directory = file.join("layer");
    let durability = crate::changes::record::Durability::Later;
    store.write(&record, durability).unwrap();
    assert_eq!(store.prune(None, Some(20)).unwrap(), ["b"]);
    assert_eq!(store.prune(None, Some(0)).unwrap(), ["c"]);
    let stuck = store.prune(None, Some(0)).unwrap_err().to_string();
    assert!(stuck.contains("remove the change a"), "{stuck}");
}

/// Changes over the same directory, each made after the one before it was applied.
struct Row {
    directory: tempfile::TempDir,
    store: ChangeStore,
}

impl Row {
    fn new() -> Self {
        let directory = scratch();
        fs::create_dir_all(directory.path().join("root/d/e")).unwrap();
        fs::write(directory.path().join("root/file"), "first").unwrap();
        let store = ChangeStore::in_state(&directory.path().join("state"));
        Self { directory, store }
    }

    fn root(&self) -> std::path::PathBuf {
        self.directory.path().join("root")
    }

    /// A change in whose layer something is written, applied.
    fn apply(&self, id: &str, write: impl FnOnce(&Path)) {
        let layer = HeldLayer {
            root: self.root(),
            directory: self
                .directory
                .path()
                .join("state/changes")
                .join(id)
                .join("0"),
        };
        let layers = [layer.clone()];
        let prepared = self.store.prepare((id, "x"), &layer.root, &layers, false);
        drop(prepared.unwrap());
        write(&layer.upper());
        self.store.settle(id).unwrap();
        self.store.apply(id, &Moved::default()).unwrap();
        next_moment();
    }

    fn undo(&self, id: &str) -> Result<(), String> {
        match self.store.undo(id, &Moved::default()) {
            Ok(_) => Ok(()),
            Err(ChangeFailure::Conflicts(conflicts)) => Err(conflicts[0].why.to_string()),
            Err(ChangeFailure::Failed(error)) => panic!("{error}"),
        }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.root().join("file")).unwrap()
    }
}

#[test]
fn changes_of_the_same_file_are_undone_and_applied_one_after_the_other() {
    let row = Row::new();
    for id in ["a", "b", "c"] {
        row.apply(id, |upper| fs::write(upper.join("file"), id).unwrap());
    }
    assert_eq!(
        row.undo("a").unwrap_err(),
        "was changed by c since: undo that first"
    );
    for _ in 0..3 {
        for (id, left) in [("c", "b"), ("b", "a"), ("a", "first")] {
            row.undo(id).unwrap();
            assert_eq!(row.text(), left);
        }
        for id in ["a", "b", "c"] {
            row.store.apply(id, &Moved::default()).unwrap();
            assert_eq!(row.text(), id);
        }
    }
    // One that was taken back is not missed by the others, if it is gone.
    row.undo("c").unwrap();
    row.store.discard("c").unwrap();
    row.undo("b").unwrap();
    row.undo("a").unwrap();
    assert_eq!(row.text(), "first");
}

#[test]
fn a_directory_in_which_a_later_change_was_undone_can_be_undone() {
    let row = Row::new();
    row.apply("a", |upper| {
        fs::create_dir_all(upper.join("new/deep")).unwrap();
        fs::write(upper.join("new/deep/one"), "1").unwrap();
    });
    row.apply("b", |upper| {
        fs::create_dir_all(upper.join("new/deep")).unwrap();
        fs::write(upper.join("new/deep/two"), "2").unwrap();
        fs::write(upper.join("new/deep/one"), "another").unwrap();
    });
    assert_eq!(
        row.undo("a").unwrap_err(),
        "was changed by b since: undo that first"
    );
    row.undo("b").unwrap();
    row.undo("a").unwrap();
    assert!(!row.root().join("new").exists());
}

#[test]
fn what_somebody_changed_beside_an_undone_change_is_still_a_conflict() {
    const SOMEBODY: &str = "was changed by somebody else meanwhile";
    for meddle in [
        // Of the same length, and with the time that it had.
        |root: &Path| {
            let file = root.join("file");
            fs::write(&file, "A").unwrap();
        },
        |root: &Path| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(root.join("file"), mode).unwrap();
        },
        |root: &Path| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(root.join("file"), "user.mine", b"x", flags).unwrap();
        },
    ] {
        let row = Row::new();
        row.apply("a", |upper| fs::write(upper.join("file"), "a").unwrap());
        row.apply("b", |upper| fs::write(upper.join("file"), "b").unwrap());
        row.undo("b").unwrap();
        next_moment();
        meddle(&row.root());
        assert_eq!(row.undo("a").unwrap_err(), SOMEBODY);
    }
    // What a change did that nobody knows any more is somebody's.
    let row = Row::new();
    row.apply("a", |upper| {
        fs::create_dir(upper.join("new")).unwrap();
        fs::write(upper.join("new/one"), "1").unwrap();
    });
    row.apply("b", |upper| {
        fs::create_dir(upper.join("new")).unwrap();
        fs::write(upper.join("new/one"), "2").unwrap();
    });
    row.store.discard("b").unwrap();
    assert_eq!(row.undo("a").unwrap_err(), SOMEBODY);
}
