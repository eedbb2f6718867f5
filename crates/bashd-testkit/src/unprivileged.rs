//! Runs a test again, as a user without rights.
//!
//! As root, mode bits, EPERM, pipe quotas and `RLIMIT_NPROC` never show. So a fault test hands its
//! body to [`as_each_user`], which runs it here and then, where here is root, starts this very test
//! program again as [`NOBODY`], for this one test. std's own `uid` and `gid` do it: no helper
//! program is needed, supplementary groups are dropped, and the capabilities go with the uid.

use crate::loud::{PREFIX, loudly};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The user and group without rights, by convention of Linux.
pub const NOBODY: u32 = 65534;

/// Set in the program that was started again.
const STARTED_AGAIN: &str = "BASHD_TEST_AS_NOBODY";

/// Runs a test's whole body as the caller and, if that is root, once more as [`NOBODY`].
///
/// Call it as the only thing in a test. Make directories inside the body, so that they belong to
/// whoever runs it. The paths of the source tree may be closed to that user; hold open what the
/// body needs of them.
pub fn as_each_user<Body: FnOnce()>(body: Body) {
    if is_second_run() {
        assert!(
            is_nobody(),
            "started again, but not as the user without rights"
        );
        return body();
    }
    body();
    let test = test_of::<Body>();
    if !rustix::process::getuid().is_root() {
        loudly(&format!("{test}: not root, so tested as this user only"));
        return;
    }
    start_again_as_nobody(&test);
}

/// Whether this process was started again, for the run without rights.
pub fn is_second_run() -> bool {
    std::env::var_os(STARTED_AGAIN).is_some()
}

/// Whether this process has no rights.
pub fn is_nobody() -> bool {
    rustix::process::getuid().as_raw() == NOBODY
}

fn start_again_as_nobody(test: &str) {
    // By descriptor: the directories above the program may be closed to that user.
    let program = File::open("/proc/self/exe").expect("this program can be read");
    rustix::io::fcntl_setfd(&program, rustix::io::FdFlags::empty())
        .expect("a flag of a descriptor");
    let started = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
        .args([
            "--exact",
            test,
            "--nocapture",
            "--test-threads=1",
            "--include-ignored",
        ])
        .env(STARTED_AGAIN, "1")
        .env_remove("BASHD_TEST_REMARKS")
        // The caller's may be closed to that user.
        .env_remove("TMPDIR")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .stdin(Stdio::null())
        .output();
    let output = match started {
        Ok(output) => output,
        Err(error) => {
            loudly(&format!(
                "{test}: NOT tested as an unprivileged user: {error}"
            ));
            return;
        }
    };
    let shown = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    for remark in shown.lines().filter_map(|line| line.strip_prefix(PREFIX)) {
        loudly(remark);
    }
    assert!(output.status.success(), "as uid {NOBODY}:\n{shown}");
    assert!(
        shown.contains("1 passed"),
        "the test did not run as uid {NOBODY}:\n{shown}"
    );
}

/// The test that a body's type belongs to, as the harness calls it: the type's path, without crate
/// and closures.
fn test_of<Body>() -> String {
    let path = std::any::type_name::<Body>();
    let (_crate, path) = path.split_once("::").expect("a closure has a path");
    path.split("::")
        .take_while(|part| !part.starts_with("{{"))
        .collect::<Vec<_>>()
        .join("::")
}
