//! How long changes are kept, and how many.

use super::{ID, scratch};
use crate::changes::store::ChangeStore;
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
    store.apply("a", &crate::changes::Moved::default()).unwrap();
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
