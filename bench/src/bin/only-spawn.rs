//! The least that a Rust program which runs a command can do: start bash, wait, exit as it did.

use std::process::{Command, ExitCode};

fn main() -> std::io::Result<ExitCode> {
    let script = std::env::args_os().nth(1).unwrap_or_default();
    let status = Command::new("bash").arg("-c").arg(script).status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
