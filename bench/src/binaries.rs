//! The programs that are measured as processes, which stand beside this one.
//!
//! `cargo run` builds only the program that it runs. So that one command measures what the sources
//! say, and not what was built last week, the others are built here, by the same cargo.
//!
//! Measured is a copy, as an installation makes one. A linker writes a file page by page through a
//! mapping, and the system keeps it in memory as it was written: mapping such a `bashd` took 0.4 ms
//! longer at every start, until it was read from the disk again.

use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
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

/// The program that is sent to hosts, built as `./dist` builds it, but with the profile of this
/// program: static, of musl where that can be had here. `BASHD_TEST_STATIC` names one that was
/// built before.
pub(crate) fn outpost() -> Result<PathBuf> {
    if let Some(built) = std::env::var_os("BASHD_TEST_STATIC") {
        return Ok(built.into());
    }
    let own = std::env::current_exe()?;
    let directory = own.parent().context("this program is nowhere")?;
    let target = directory.parent().context("there is no target directory")?;
    let triple = triple();
    let profile = profile_of(directory)?;
    if let Some(cargo) = std::env::var_os("CARGO") {
        let upper = triple.replace('-', "_").to_uppercase();
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--package", "bashd-outpost"]);
        command.args(["--target", &triple, "--profile", profile]);
        command.arg("--target-dir").arg(target);
        let flags = "-C target-feature=+crt-static";
        command.env(format!("CARGO_TARGET_{upper}_RUSTFLAGS"), flags);
        if triple.ends_with("musl") {
            command.env(format!("CARGO_TARGET_{upper}_LINKER"), "cc");
            command.env(format!("CC_{}", triple.replace('-', "_")), "musl-gcc");
        }
        let status = command.current_dir(manifest()?).status()?;
        ensure!(
            status.success(),
            "bashd-outpost could not be built ({status})"
        );
    } else {
        eprintln!("*** not run by cargo: bashd-outpost IS NOT BUILT AGAIN, and may be old");
    }
    let folder = directory.file_name().context("cargo's directory")?;
    let program = target.join(&triple).join(folder).join("bashd-outpost");
    ensure!(
        program.is_file(),
        "{} is missing (BASHD_TEST_STATIC can name it)",
        program.display()
    );
    Ok(program)
}

/// For which machine and C library it is built: with musl only where cargo can.
fn triple() -> String {
    let arch = std::env::consts::ARCH;
    let musl = format!("{arch}-unknown-linux-musl");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_compiler = std::env::split_paths(&path).any(|at| at.join("musl-gcc").is_file());
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output();
    let root = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let library = root.map(|root| Path::new(&root).join("lib/rustlib").join(&musl));
    if has_compiler && library.is_ok_and(|library| library.is_dir()) {
        musl
    } else {
        format!("{arch}-unknown-linux-gnu")
    }
}

fn manifest() -> Result<OsString> {
    std::env::var_os("CARGO_MANIFEST_DIR").context("cargo names no manifest")
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
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", package, "--bin", name]);
    command.arg("--target-dir").arg(target);
    command.args(["--profile", profile_of(directory)?]);
    let status = command.current_dir(manifest()?).status()?;
    ensure!(status.success(), "{name} could not be built ({status})");
    Ok(())
}
