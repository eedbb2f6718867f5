//! The line at the end of a job's file, in the words of the document that asks for it.

use crate::profile::Profile;
use bashd_keeper::exit::{EndedBy, Exit};
use bashd_keeper::job::end_line::{end_line, limit_text};
use std::time::Duration;

fn line(exit: Exit, ended_by: Option<EndedBy>) -> String {
    let phoenix = Profile::builtin("phoenix").unwrap().unwrap();
    let lines = phoenix.background.file_ends.unwrap();
    end_line(&lines, exit, ended_by, Duration::from_hours(24))
}

#[test]
fn p_17_p_18_the_end_in_the_documents_words() {
    assert_eq!(
        line(Exit::Code(0), None),
        "\n\n[background process completed]\n"
    );
    assert_eq!(
        line(Exit::Code(3), None),
        "\n\n[background process failed: exit status: 3]\n"
    );
    assert_eq!(
        line(Exit::Signal(9), None),
        "\n\n[background process failed: signal: 9 (SIGKILL)]\n"
    );
}

#[test]
fn p_19_a_wait_that_fails_is_told_with_its_error() {
    assert_eq!(
        line(Exit::Unknown, None),
        "\n\n[background process error: it was killed without reporting a status]\n"
    );
}

#[test]
fn p_06_the_limit_is_named() {
    assert_eq!(
        line(Exit::Signal(15), Some(EndedBy::Timeout)),
        "\n\n[background process killed: timed out after 24h]\n"
    );
    assert_eq!(limit_text(Duration::from_mins(15)), "15m");
    assert_eq!(limit_text(Duration::from_millis(1500)), "1.5s");
}
