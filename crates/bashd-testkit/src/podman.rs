//! podman, with a storage of its own: as a user without rights, whom only this rig knows, or as
//! root. Its images are made of this machine's own files, so nothing is fetched from anywhere.
//!
//! A directory of the rig has a `podman` that is first in `PATH`. Where the test is root, that
//! enters a mount namespace in which the user exists; it ends with the rig, and all containers
//! before it.

use crate::loud::loudly;
use crate::small_root;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// The user that podman runs as, if the test is root.
const USER: u32 = 4000;

/// What it takes.
const PROGRAMS: &[&str] = &["podman", "runc", "newuidmap", "nsenter", "setpriv", "ldd"];

/// No right to raise limits is needed for it, and no manager of services.
const SETTINGS: &str = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n\
    [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\n";

/// In a mount namespace of its own: who the user is, and which others it has.
const HOLD: &str = "mount --make-rshared / && for file in passwd group subuid subgid; do \
    [ -e /etc/$file ] || touch /etc/$file; mount --bind \"$1/$file\" /etc/$file || exit 1; done; \
    echo ready; exec sleep infinity";

/// As whom containers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodmanUser {
    /// Somebody without rights.
    Rootless,
    /// root.
    Root,
}

/// A podman of a test's own. Dropping it removes all that it has.
#[derive(Debug)]
pub struct PodmanRig {
    holder: Option<Child>,
    directory: TempDir,
}

impl PodmanRig {
    /// Sets one up. Where that can't be, `None`, and loudly.
    pub fn start(user: PodmanUser) -> Option<Self> {
        let is_there = |name: &&&str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut folders = std::env::split_paths(&path);
            !folders.any(|folder| folder.join(name).exists())
        };
        if let Some(missing) = PROGRAMS.iter().find(is_there) {
            loudly(&format!(
                "{missing} is missing: containers are NOT tested here"
            ));
            return None;
        }
        let is_root = rustix::process::getuid().is_root();
        if user == PodmanUser::Root && !is_root {
            loudly("not root: containers that root runs are NOT tested here");
            return None;
        }
        let directory = TempDir::with_prefix("bashd-podman-").expect("a temporary directory");
        let mut rig = Self {
            holder: None,
            directory,
        };
        rig.write_settings(user);
        let is_foreign = user == PodmanUser::Rootless && is_root;
        if is_foreign {
            rig.hold();
        }
        rig.write_program(is_foreign);
        let told = rig.podman(&["info"]);
        if !told.status.success() {
            let why = String::from_utf8_lossy(&told.stderr).into_owned();
            loudly(&format!(
                "podman does not work ({why}): containers are NOT tested here"
            ));
            return None;
        }
        Some(rig)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The directory with its `podman`, for `PATH`.
    pub fn client(&self) -> PathBuf {
        self.path("bin")
    }

    /// A directory of that user's, which is seen from here, too.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.path("home").join(name);
        fs::create_dir_all(&folder).expect("a directory");
        if self.holder.is_some() {
            chown(&folder, Some(USER), Some(USER)).expect("a directory of the user's");
        }
        folder
    }

    /// This environment, with its podman first.
    pub fn env(&self, mut env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        for (name, value) in &mut env {
            if name == "PATH" {
                let mut path = self.client().into_os_string();
                path.push(":");
                path.push(&*value);
                *value = path;
            }
        }
        env
    }

    fn write_settings(&self, user: PodmanUser) {
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.directory.path(), all).expect("a directory to look into");
        for folder in ["bin", "home", "home/run", "home/tmp"] {
            fs::create_dir(self.path(folder)).expect("a directory");
        }
        fs::write(self.path("containers.conf"), SETTINGS).expect("settings");
        let driver = match user {
            PodmanUser::Rootless => "vfs",
            PodmanUser::Root => "overlay",
        };
        let root = self.path("home/storage");
        let root = root.display();
        let run = self.path("home/run/containers");
        let storage = format!(
            "[storage]\ndriver = \"{driver}\"\ngraphroot = \"{root}\"\nrunroot = \"{}\"\n\
             rootless_storage_path = \"{root}\"\n",
            run.display()
        );
        fs::write(self.path("storage.conf"), storage).expect("settings");
    }

    /// Makes the user exist, somewhere.
    fn hold(&mut self) {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let home = self.path("home");
        let passwd = format!("bashdtest:x:{USER}:{USER}::{}:/bin/sh\n", home.display());
        fs::write(self.path("passwd"), read("/etc/passwd") + &passwd).expect("users");
        let group = format!("bashdtest:x:{USER}:\n");
        fs::write(self.path("group"), read("/etc/group") + &group).expect("groups");
        for file in ["subuid", "subgid"] {
            fs::write(self.path(file), "bashdtest:100000:65536\n").expect("further users");
        }
        for folder in ["home", "home/run", "home/tmp"] {
            let folder = self.path(folder);
            chown(folder, Some(USER), Some(USER)).expect("a home of the user's");
        }
        let mut holder = Command::new("setpriv")
            .args([
                "--pdeathsig",
                "KILL",
                "unshare",
                "--mount",
                "sh",
                "-c",
                HOLD,
                "hold",
            ])
            .arg(self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare can be started");
        let mut said = String::new();
        let out = holder.stdout.take().expect("a pipe");
        let _ = BufReader::new(out).read_line(&mut said);
        assert_eq!(said, "ready\n", "the user of a podman can't be made");
        self.holder = Some(holder);
    }

    fn write_program(&self, is_foreign: bool) {
        let at = self.directory.path().display();
        let variables = format!(
            "HOME={at}/home TMPDIR={at}/home/tmp XDG_RUNTIME_DIR={at}/home/run CONTAINERS_CONF={at}/containers.conf \
             CONTAINERS_STORAGE_CONF={at}/storage.conf"
        );
        let enter = match &self.holder {
            Some(holder) if is_foreign => format!(
                "nsenter --target {} --mount setpriv --reuid={USER} --regid={USER} --clear-groups ",
                holder.id()
            ),
            _ => String::new(),
        };
        // Not this script once more.
        let path = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
        let script = format!("#!/bin/sh\ncd /\nexec {enter}env {path} {variables} podman \"$@\"\n");
        let program = self.path("bin/podman");
        fs::write(&program, script).expect("a podman");
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(program, all).expect("a program");
    }

    /// Runs podman.
    pub fn podman(&self, words: &[&str]) -> Output {
        Command::new(self.path("bin/podman"))
            .args(words)
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .expect("podman can be started")
    }

    /// Runs podman, which must succeed; what it says.
    pub fn done(&self, words: &[&str]) -> String {
        let told = self.podman(words);
        let why = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.status.success(), "podman {words:?}: {why}");
        String::from_utf8_lossy(&told.stdout).trim().to_owned()
    }

    /// Makes an image of a directory.
    pub fn import(&self, root: &Path, name: &str) {
        let archive = self.path("home/image.tar");
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(root).arg("-cf").arg(&archive).arg(".");
        let made = tar.status().expect("tar");
        assert!(made.success(), "tar: {made}");
        self.done(&["import", "--quiet", &archive.display().to_string(), name]);
        fs::remove_file(archive).expect("the archive is not needed any more");
    }

    /// Makes an image with the usual programs, in which this program runs, too.
    pub fn import_usual(&self, name: &str, program: &Path) {
        let root = TempDir::with_prefix("bashd-root-").expect("a temporary directory");
        small_root::make(root.path(), small_root::USUAL, Some(program));
        self.import(root.path(), name);
    }

    /// A copy of a program that the user can read, without what only debuggers want.
    pub fn program(&self, program: &Path) -> PathBuf {
        let copy = self.folder("program").join("bashd");
        if !copy.exists() {
            let mut strip = Command::new("strip");
            strip.arg("-o").arg(&copy).arg(program);
            if !strip.status().is_ok_and(|status| status.success()) {
                fs::copy(program, &copy).expect("a copy of the program");
            }
            let all = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&copy, all).expect("a program");
        }
        copy
    }
}

impl Drop for PodmanRig {
    fn drop(&mut self) {
        self.podman(&["rm", "--all", "--force", "--time=0"]);
        if self.holder.is_some() {
            // Its files belong to users whom only its namespaces know.
            let storage = self.path("home/storage").display().to_string();
            self.podman(&["unshare", "rm", "-rf", &storage]);
        } else {
            let mounted = self.path("home/storage/overlay");
            let _ = Command::new("umount").arg(mounted).output();
        }
        if let Some(mut holder) = self.holder.take() {
            end_pause(&self.path("home/run"));
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

/// podman leaves a process for its user's namespace.
fn end_pause(run: &Path) {
    let file = run.join("libpod/tmp/pause.pid");
    let pid = fs::read_to_string(file).unwrap_or_default();
    let pid = pid
        .trim()
        .parse()
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
