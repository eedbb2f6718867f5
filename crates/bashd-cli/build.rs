//! Links the release binary without shared libraries, at a fixed address, where the machine can.
//!
//! `bashd run` is started for one command, and finding, mapping and relocating libraries took a good
//! part of its time. It uses nothing of the C library that needs them. A machine without the archives
//! (`libc.a`, `libgcc_eh.a`) gets an ordinary binary, and so do development builds.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Libraries that the standard library asks for by name, and the archives that stand in for them.
const LIBRARIES: [(&str, &str); 7] = [
    ("gcc_s", "GROUP(-l:libgcc_eh.a -l:libgcc.a)"),
    ("c", "GROUP(-l:libc.a -l:libgcc_eh.a -l:libgcc.a)"),
    ("util", "INPUT(-l:libutil.a)"),
    ("rt", "INPUT(-l:librt.a)"),
    ("pthread", "INPUT(-l:libpthread.a)"),
    ("m", "INPUT(-l:libm.a)"),
    ("dl", "INPUT(-l:libdl.a)"),
];

/// What the linker must find.
const ARCHIVES: [&str; 8] = [
    "libc.a",
    "libgcc_eh.a",
    "libgcc.a",
    "libutil.a",
    "librt.a",
    "libpthread.a",
    "libm.a",
    "libdl.a",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    if !is_wanted() || !ARCHIVES.into_iter().all(is_there) {
        return Ok(());
    }
    // By the name of the shared library the linker finds a script that names the archive.
    let directory = env::var("OUT_DIR")?;
    for (name, script) in LIBRARIES {
        fs::write(Path::new(&directory).join(format!("lib{name}.so")), script)?;
    }
    println!("cargo::rustc-link-search=native={directory}");
    println!("cargo::rustc-link-arg-bins=-static");
    println!("cargo::rustc-link-arg-bins=-no-pie");
    Ok(())
}

/// A release build with the GNU C library, for the machine that it is made on.
fn is_wanted() -> bool {
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var("HOST") == env::var("TARGET")
}

/// Whether the linker's driver knows where an archive is: it then answers with a path.
fn is_there(archive: &str) -> bool {
    let asked = Command::new("cc")
        .arg(format!("-print-file-name={archive}"))
        .output();
    asked.is_ok_and(|answer| {
        let path = String::from_utf8_lossy(&answer.stdout);
        Path::new(path.trim()).is_absolute()
    })
}
