//! A program that runs as root, no matter who starts it: for tests of processes that nobody else
//! may look at or end.

use crate::unprivileged::NOBODY;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A set-id copy of a program; made by root, in a place that only root and [`NOBODY`] can enter,
/// and removed at the end. The run without rights ([`as_each_user`](crate::as_each_user)) finds it
/// by its parent.
#[derive(Debug)]
pub struct SetId(PathBuf);

impl SetId {
    /// Where the programs of that run as root are.
    fn place(of: u32) -> PathBuf {
        PathBuf::from(format!("/tmp/bashd-test-set-id-{of}"))
    }

    /// Makes one; only root can.
    pub fn copy_of(program: &str) -> Self {
        let this = Self(Self::place(std::process::id()));
        fs::create_dir(&this.0).expect("a directory");
        let only_nobody = |path: &Path, mode| {
            std::os::unix::fs::chown(path, Some(0), Some(NOBODY)).expect("an owner");
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        };
        only_nobody(&this.0, 0o710);
        let program = Path::new(program);
        let copy = this
            .0
            .join(program.file_name().expect("the name of a program"));
        fs::copy(program, &copy).expect("a copy of the program");
        only_nobody(&copy, 0o4710);
        this
    }

    /// The copy of that name which the run as root made for the run without rights.
    pub fn made_for_this_run(name: &str) -> PathBuf {
        let parent = rustix::process::getppid().expect("the run as root");
        Self::place(parent.as_raw_nonzero().get().unsigned_abs()).join(name)
    }
}

impl Drop for SetId {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
