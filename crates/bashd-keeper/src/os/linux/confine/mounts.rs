//! Mounts, as the view of a confined command needs them. Targets are relative to the current
//! directory, which is the view's root while it is built.

use crate::confinement::HeldLayer;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
    fsopen,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Nothing below can be changed.
pub(super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// Nobody becomes another user by a program, and no file is a device.
pub(super) const TAME: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// A path of the view that is being built.
pub(super) fn at(path: &Path) -> PathBuf {
    Path::new(".").join(path.strip_prefix("/").unwrap_or(path))
}

/// Keeps mounts that are made here from the rest of the machine, and its from here.
pub(super) fn make_private() -> io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(rustix::mount::mount_change("/", flags)?)
}

/// A copy of what is mounted at a path and below, not in any view yet.
pub(super) fn copy(path: &Path) -> io::Result<OwnedFd> {
    copy_as(path, OpenTreeFlags::empty())
}

fn copy_as(path: &Path, how: OpenTreeFlags) -> io::Result<OwnedFd> {
    let recursive = OpenTreeFlags::AT_RECURSIVE;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | recursive;
    Ok(rustix::mount::open_tree(CWD, path, flags | how)?)
}

/// Likewise, of what is open.
pub(super) fn copy_of(open: &OwnedFd) -> io::Result<OwnedFd> {
    let empty = OpenTreeFlags::AT_EMPTY_PATH;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | empty;
    Ok(rustix::mount::open_tree(open, "", flags)?)
}

/// A directory whose changes go to a layer, not in any view yet.
pub(super) fn layered(layer: &HeldLayer) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let parts = [
        ("lowerdir", layer.root.clone()),
        ("upperdir", layer.upper()),
        ("workdir", layer.work()),
    ];
    let mut open = Vec::new();
    for (name, path) in parts {
        let directory = rustix::fs::open(&path, flags, Mode::empty())?;
        // Named by its descriptor: no character of a path has a meaning then.
        let text = format!("/proc/self/fd/{}", directory.as_raw_fd());
        fsconfig_set_string(&context, name, text.as_str())?;
        open.push(directory);
    }
    // What the kernel notes in the layer is the user's to read.
    fsconfig_set_flag(&context, "userxattr")?;
    // Otherwise the end of every command would wait until all that anybody wrote to that file
    // system is on the disk. Nothing of a layer is real; who applies it has it written first.
    // Kernels before 5.10 do not know it.
    let _ = fsconfig_set_flag(&context, "volatile");
    forget_volatile(&layer.work());
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        attributes,
    )?)
}

/// The kernel refuses a layer that was mounted so before, as that of a session whose shell ended
/// is: after a crash its files may not be whole. Their sizes and times are compared before they
/// move.
fn forget_volatile(work: &Path) {
    let marks = work.join("work/incompat");
    let _ = fs::remove_file(marks.join("volatile/dirty"));
    let _ = fs::remove_dir(marks.join("volatile"));
    let _ = fs::remove_dir(marks);
}

/// Sets attributes of a copy and of every mount in it.
pub(super) fn set(tree: &OwnedFd, attributes: u64) -> io::Result<()> {
    set_attributes(tree, libc::AT_RECURSIVE, attributes)
}

/// Makes a mount read-only, and none that is below it.
pub(super) fn seal(target: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::open(target, flags, Mode::empty())?;
    set_attributes(&root, 0, READ_ONLY)
}

fn set_attributes(tree: &OwnedFd, how: libc::c_int, attributes: u64) -> io::Result<()> {
    let wanted = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: a plain system call; the path is a constant, and `wanted` outlives it.
    #[expect(unsafe_code, reason = "mount_setattr has no safe wrapper")]
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | how,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Puts a copy where it is to be seen.
pub(super) fn put(tree: &OwnedFd, target: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(
        tree.as_fd(),
        "",
        CWD,
        target,
        flags,
    )?)
}

/// Puts something onto itself, so that it is a mount of its own: it can be neither renamed nor
/// removed, and has attributes of its own. A link is pinned itself, and leads where it led.
pub(super) fn pin(target: &Path, attributes: u64) -> io::Result<()> {
    let tree = copy_as(target, OpenTreeFlags::AT_SYMLINK_NOFOLLOW)?;
    if attributes != 0 {
        set(&tree, attributes)?;
    }
    put(&tree, target)
}

/// An empty file system in memory.
pub(super) fn empty(target: &Path, options: &str) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", target, flags, options)
}

/// A file system of the kernel's.
pub(super) fn mount(kind: &str, target: &Path, flags: MountFlags, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(rustix::mount::mount(
        kind,
        target,
        kind,
        flags,
        options.as_c_str(),
    )?)
}

/// Makes what can be mounted upon: a directory, or a file.
pub(super) fn make_place(target: &Path, is_directory: bool) -> io::Result<()> {
    if target.symlink_metadata().is_ok() {
        return Ok(());
    }
    if is_directory {
        return fs::create_dir_all(target);
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::File::create(target).map(drop)
}

/// Makes the current directory the root, and leaves nothing of the old one.
pub(super) fn enter() -> io::Result<()> {
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}
