//! The documents' statements, tried on the binary by a script that anybody can run, and the
//! protocol of it (`docs/acceptance.md`).

use bashd_testkit::{loudly, repeat};
use std::path::Path;
use std::process::Command;

#[test]
fn every_statement_of_the_documents_holds_and_the_protocol_says_so() {
    let python = Command::new("python3")
        .args(["-c", "import tomllib"])
        .output();
    if !python.is_ok_and(|tried| tried.status.success()) {
        loudly("there is no Python 3.11: the documents' statements are NOT tried");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acceptance/accept");
    let mut command = Command::new(script);
    command
        .arg("--check")
        .env("BASHD", env!("CARGO_BIN_EXE_bashd"));
    if repeat::is_soak() {
        command.arg("--slow");
    } else {
        loudly("real limits of 30 s are only waited for by ./soak");
    }
    let done = command.output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(done.status.success(), "{out}{err}");
}
