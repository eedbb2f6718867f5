//! Recorded outputs of real tools hold no secrets: none may be found there.

use bashd_keeper::secrets::Secrets;
use std::fs;
use std::path::{Path, PathBuf};

/// Recordings that there are at least, so that a moved directory is noticed.
const RECORDINGS: usize = 1000;

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn no_recorded_output_of_a_tool_has_a_secret() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bashd-minimize/tests");
    let mut recorded = Vec::new();
    files(&corpus, &mut recorded);
    assert!(recorded.len() >= RECORDINGS, "{} files", recorded.len());
    let secrets = Secrets::default();
    let mut alarms = Vec::new();
    for path in recorded {
        let bytes = fs::read(&path).unwrap();
        for run in secrets.find(&bytes, true) {
            let text = bytes.get(run.range.clone()).unwrap_or_default();
            let text = String::from_utf8_lossy(text).into_owned();
            alarms.push(format!("{}: {}: {text}", path.display(), run.name));
        }
    }
    assert!(alarms.is_empty(), "{alarms:#?}");
}
