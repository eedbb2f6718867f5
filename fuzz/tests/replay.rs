//! Calls every fuzz target with its committed corpus: what was found once is looked for on every
//! machine, without a fuzzer.

use bashd_fuzz::TARGETS;
use std::path::Path;

#[test]
fn every_target_holds_for_its_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, try_bytes) in TARGETS {
        let mut count = 0;
        for entry in std::fs::read_dir(corpora.join(name)).expect("a corpus") {
            let path = entry.expect("an entry").path();
            eprintln!("{}", path.display());
            try_bytes(&std::fs::read(path).expect("a readable file"));
            count += 1;
        }
        assert!(count >= 10, "the corpus of {name} has {count} files");
    }
}
