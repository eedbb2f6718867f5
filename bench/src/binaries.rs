//! The programs that are measured as processes, which stand beside this one.
//!
//! `cargo run` builds only the program that it runs. So that one command measures what the sources
//! say, and not what was built last week, the others are built here, by the same cargo.
//!
//! Measured is a copy, as an installation makes one. A linker writes a file page by page through a
//! mapping, and the system keeps it in memory as it was written: mapping such a `bashd` took 0.4 ms
//! longer at every start, until it was read from the disk again.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the copies are, beside what cargo built.
const INSTALLED: &str = "installed";

/// Builds one program of the workspace, copies it, and says where the copy is.
pub(crate) fn build(package: &str, name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let directory = own.parent().context("this program is nowhere")?;
    if let Some(cargo) = std::env::var_os("CARGO") {
        run_cargo(Path::new(&cargo), package, name, directory)?;
    } else {
        eprintln!("*** not run by cargo: {name} IS NOT BUILT AGAIN, and may be old");
    }
    let program = directory.join(name);
    ensure!(
        program.is_file(),
        "{name} is missing: cargo build --profile {} -p {package} --bin {name}",
        profile_of(directory)?
    );
    install(&program, &directory.join(INSTALLED).join(name))
}

/// The profile whose programs are in this directory: cargo names one after the other.
fn profile_of(directory: &Path) -> Result<&str> {
    let name = directory.file_name().and_then(|name| name.to_str());
    Ok(match name.context("cargo's directory has no name")? {
        "debug" => "dev",
        name => name,
    })
}

/// Whether this program was built as what is shipped is: only such figures count.
pub(crate) fn is_dist() -> bool {
    let own = std::env::current_exe().ok();
    let profile = own.as_deref().and_then(Path::parent).map(profile_of);
    matches!(profile, Some(Ok("dist")))
}

fn install(program: &Path, copy: &Path) -> Result<PathBuf> {
    fs::create_dir_all(copy.parent().context("a copy has a directory")?)?;
    if copy.exists() {
        // Another file: the old one may be running.
        fs::remove_file(copy)?;
    }
    fs::copy(program, copy)?;
    Ok(copy.to_owned())
}

fn run_cargo(cargo: &Path, package: &str, name: &str, directory: &Path) -> Result<()> {
    let target = directory.parent().context("there is no target directory")?;
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("cargo names no manifest")?;
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", package, "--bin", name]);
    command.arg("--target-dir").arg(target);
    command.args(["--profile", profile_of(directory)?]);
    let status = command.current_dir(manifest).status()?;
    ensure!(status.success(), "{name} could not be built ({status})");
    Ok(())
}
