//! What could not be tested here, said where people see it.
//!
//! Test runners hide the output of tests that pass. So such a remark also goes to the file that
//! `./test` names in `BASHD_TEST_REMARKS` and prints at its end.

use std::fs::OpenOptions;
use std::io::Write;

/// What a remark's line begins with.
pub const PREFIX: &str = "*** ";

/// Says that something was not tested, and why.
pub fn loudly(remark: &str) {
    let line = format!("{PREFIX}{remark}\n");
    eprint!("{line}");
    let Some(file) = std::env::var_os("BASHD_TEST_REMARKS") else {
        return;
    };
    let file = OpenOptions::new().append(true).open(file);
    // One write, so that tests which say something at the same time do not mix their lines.
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("the file that BASHD_TEST_REMARKS names can be written");
}
