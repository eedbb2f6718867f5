//! The programs that are measured as processes, which stand beside this one.
//!
//! `cargo run` builds only the program that it runs. So that one command measures what the sources
//! say, and not what was built last week, the others are built here, by the same cargo.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds one program of the workspace, and says where it is.
pub(crate) fn build(package: &str, name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let directory = own.parent().context("this program is nowhere")?;
    if let Some(cargo) = std::env::var_os("CARGO") {
        run_cargo(Path::new(&cargo), package, name, directory)?;
    } else {
        eprintln!("*** not run by cargo: {name} IS NOT BUILT AGAIN, and may be old");
    }
    let program = directory.join(name);
    let profile = if cfg!(debug_assertions) {
        ""
    } else {
        " --release"
    };
    ensure!(
        program.is_file(),
        "{name} is missing: cargo build{profile} -p {package} --bin {name}"
    );
    Ok(program)
}

fn run_cargo(cargo: &Path, package: &str, name: &str, directory: &Path) -> Result<()> {
    let target = directory.parent().context("there is no target directory")?;
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("cargo names no manifest")?;
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", package, "--bin", name]);
    command.arg("--target-dir").arg(target);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let status = command.current_dir(manifest).status()?;
    ensure!(status.success(), "{name} could not be built ({status})");
    Ok(())
}
