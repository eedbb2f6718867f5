//! Processes that even SIGKILL does not end: the call returns, and says which.

use super::scene::{Answer, GRACE, SLACK, Scene, is_root, request, wait_until};
use bashd::LeftReason;
use bashd_testkit::loudly;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A filesystem that never answers some requests; it ends with this, and so does every wait for it.
struct HungFilesystem {
    server: Child,
    place: PathBuf,
    log: PathBuf,
}

impl HungFilesystem {
    /// Mounts it where nobody else sees it; `None` where that can't be done.
    fn mount(scene: &Scene) -> Option<Self> {
        let (place, log) = (scene.file("hung"), scene.file("unanswered"));
        std::fs::create_dir(&place).expect("a directory");
        let mut server = Command::new("unshare")
            .args(["--mount", "python3", "-c"])
            .arg(include_str!("hung_filesystem.py"))
            .args([&place, &log])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let mut lines = BufReader::new(server.stdout.take().expect("its stdout"));
        lines.read_line(&mut line).expect("a line");
        let this = Self { server, place, log };
        (line == "mounted\n").then_some(this)
    }

    /// A file of it, as others reach it.
    fn file(&self, name: &str) -> String {
        let place = self.place.display();
        format!("/proc/{}/root{place}/{name}", self.server.id())
    }
}

impl Drop for HungFilesystem {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn with_hung_filesystem(test: impl FnOnce(&Scene, &HungFilesystem)) {
    if !is_root() {
        return loudly("not root: processes that SIGKILL does not end are NOT tested here");
    }
    let scene = Scene::new();
    let Some(hung) = HungFilesystem::mount(&scene) else {
        return loudly("no FUSE here: processes that SIGKILL does not end are NOT tested");
    };
    test(&scene, &hung);
    drop(hung);
    scene.everything_ends();
    scene.still_works();
}

#[test]
fn what_sleeps_uninterruptibly_is_listed_and_delays_nobody() {
    with_hung_filesystem(|scene, hung| {
        let (file, log) = (hung.file("unread"), hung.log.display());
        let command =
            format!("cat {file} & until [ -s {log} ]; do sleep 0.02; done; echo up; wait");
        let Answer { reply, took } = scene.run_and_cancel(request(command));
        assert!(reply.cancelled, "{reply:?}");
        assert!(took < GRACE + SLACK, "{took:?}");
        let [left] = reply.left_behind.as_slice() else {
            panic!("not one: {reply:?}")
        };
        assert_eq!(left.reason, LeftReason::Unkillable, "{left:?}");
        assert_eq!(left.command, format!("cat {file}"));
    });
}

#[test]
fn what_is_exiting_is_not_listed_whatever_that_waits_for() {
    with_hung_filesystem(|scene, hung| {
        let program = "import sys, time; file = open(sys.argv[1]); print(); time.sleep(300)";
        let command = format!("python3 -uc '{program}' {}; :", hung.file("unflushed"));
        let Answer { reply, took } = scene.run_and_cancel(request(command));
        assert!(reply.cancelled, "{reply:?}");
        assert!(took < GRACE + SLACK, "{took:?}");
        assert!(reply.left_behind.is_empty(), "{reply:?}");
        // It still is: closing its file is not answered.
        wait_until("the file is being closed", || hung.log.exists());
    });
}
