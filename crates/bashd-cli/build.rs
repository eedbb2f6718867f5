//! Links the unwinder into the program, where the compiler has one to link.
//!
//! The standard library asks for `libgcc_s.so`, a shared library that is loaded at every start for
//! what only a panic needs: a tenth of the time that a short `bashd run` takes. The linker looks
//! here first, and finds the same code as an archive.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(unwinder_is_linked)");
    let is_native = env::var("HOST")? == env::var("TARGET")?;
    let is_glibc = env::var("CARGO_CFG_TARGET_ENV")? == "gnu" && cfg!(target_os = "linux");
    if let Some(archive) = unwinder().filter(|_| is_native && is_glibc) {
        let directory = env::var("OUT_DIR")?;
        let script = format!("INPUT(\"{}\")\n", archive.display());
        fs::write(Path::new(&directory).join("libgcc_s.so"), script)?;
        println!("cargo::rustc-link-search=native={directory}");
        println!("cargo::rustc-cfg=unwinder_is_linked");
    }
    Ok(())
}

/// The unwinder's archive; without one the program uses the shared library.
fn unwinder() -> Option<PathBuf> {
    let asked = Command::new("cc")
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    let answer = String::from_utf8(asked.ok()?.stdout).ok()?;
    // Only the name comes back where there is no such file.
    let archive = PathBuf::from(answer.trim_end());
    archive.is_absolute().then_some(archive)
}
