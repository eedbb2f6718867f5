//! A small root directory out of this machine's own programs, with the libraries that they need:
//! what images of containers are made of where nothing can be fetched.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of a root that has everything which tests ask for.
pub const USUAL: &[&str] = &[
    "bash", "sh", "cat", "chmod", "echo", "grep", "gzip", "head", "hostname", "id", "kill", "ls",
    "mkdir", "mv", "rm", "seq", "setsid", "sleep", "sort", "tail", "touch", "true", "uname", "wc",
    "yes",
];

/// Makes one with these programs, and the libraries of `like`. Its users are root and `u` (1000).
pub fn make(root: &Path, programs: &[&str], like: Option<&Path>) {
    for folder in [
        "bin", "usr", "tmp", "var/tmp", "root", "etc", "proc", "dev", "sys", "home/u",
    ] {
        fs::create_dir_all(root.join(folder)).expect("a directory of a small root");
    }
    for folder in ["tmp", "var/tmp"] {
        let all = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(root.join(folder), all).expect("a directory for everybody");
    }
    let _ = chown(root.join("home/u"), Some(1000), Some(1000));
    std::os::unix::fs::symlink("../bin", root.join("usr/bin")).expect("a link");
    let users = "root:x:0:0::/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\n";
    fs::write(root.join("etc/passwd"), users).expect("a list of users");
    fs::write(root.join("etc/group"), "root:x:0:\nu:x:1000:\n").expect("a list of groups");
    for name in programs {
        let found = find(name);
        copy_libraries(root, &found);
        fs::copy(&found, root.join("bin").join(name)).expect("a program of a small root");
    }
    if let Some(like) = like {
        copy_libraries(root, like);
    }
}

/// One with busybox alone, which needs nothing, under these names.
pub fn make_busybox(root: &Path, names: &[&str]) {
    make(root, &[], None);
    let busybox = root.join("bin/busybox");
    fs::copy(find("busybox"), busybox).expect("a busybox");
    for name in names {
        std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).expect("a link");
    }
}

/// A program of this machine.
fn find(name: &str) -> PathBuf {
    let folders = ["/usr/bin", "/bin", "/usr/local/bin"].map(Path::new);
    let found = folders.iter().map(|folder| folder.join(name));
    let found = found.into_iter().find(|path| path.exists());
    let found = found.unwrap_or_else(|| panic!("there is no {name} here"));
    fs::canonicalize(found).expect("a program")
}

/// Copies what a program is linked to.
fn copy_libraries(root: &Path, program: &Path) {
    let told = Command::new("ldd").arg(program).output().expect("ldd");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let paths = told.split_whitespace().filter(|word| word.starts_with('/'));
    for path in paths {
        let there = root.join(path.trim_start_matches('/'));
        if !there.exists() {
            let folder = there.parent().expect("a directory");
            fs::create_dir_all(folder).expect("a directory of a small root");
            fs::copy(path, there).expect("a library");
        }
    }
}
