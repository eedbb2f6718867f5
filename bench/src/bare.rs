//! The limits: what the same work takes without bashd, by the shortest way that the system has.

use anyhow::{Context, Result, ensure};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Size of the pipe from which is read into nowhere: the largest that any user may ask for.
const PIPE_BYTES: usize = 1024 * 1024;

/// Bytes of one read: as many as stay in the processor's cache.
const READ_BYTES: usize = 256 * 1024;

/// A process with stdout and stderr on one pipe, and nothing to read.
pub(crate) struct Spawned {
    child: Child,
    output: PipeReader,
}

/// Starts a program; the standard library does it by `posix_spawn`.
pub(crate) fn spawn<A: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = A>,
    env: &[(OsString, OsString)],
) -> Result<Spawned> {
    let (output, writer) = std::io::pipe()?;
    // The command, and with it our copies of the writing end, is gone when this returns.
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()
        .with_context(|| format!("start {}", program.display()))?;
    Ok(Spawned { child, output })
}

impl Spawned {
    /// Reads to the end of the output and waits; the status must be 0.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        let mut output = Vec::new();
        self.output.read_to_end(&mut output)?;
        let status = self.child.wait()?;
        let shown = String::from_utf8_lossy(&output);
        ensure!(
            status.success(),
            "a bare process ended with {status}: {shown}"
        );
        Ok(output)
    }

    /// Hands out each line as it comes, to the end; the status must be 0.
    pub(crate) fn each_line(mut self, mut show: impl FnMut(&str)) -> Result<()> {
        for line in BufReader::new(&mut self.output).lines() {
            show(&line?);
        }
        let status = self.child.wait()?;
        ensure!(status.success(), "a bare process ended with {status}");
        Ok(())
    }

    /// Reads everything and keeps nothing; returns how many bytes there were.
    fn drain(mut self, buffer: &mut [u8]) -> Result<u64> {
        let mut total = 0;
        loop {
            match self.output.read(buffer)? {
                0 => break,
                count => total += count as u64,
            }
        }
        let status = self.child.wait()?;
        ensure!(status.success(), "a bare process ended with {status}");
        Ok(total)
    }
}

/// How long a script takes whose output, of this many bytes, is read into nowhere.
pub(crate) fn into_nowhere(
    bash: &Path,
    script: &str,
    env: &[(OsString, OsString)],
    expected: u64,
) -> Result<Duration> {
    let mut buffer = vec![0; READ_BYTES];
    let begun = Instant::now();
    let spawned = spawn(bash, ["-c", script], env)?;
    rustix::pipe::fcntl_setpipe_size(&spawned.output, PIPE_BYTES).context("enlarge a pipe")?;
    let total = spawned.drain(&mut buffer)?;
    let took = begun.elapsed();
    ensure!(
        total == expected,
        "read {total} bytes instead of {expected}"
    );
    Ok(took)
}

/// How long a program takes from its start to its end, its output read.
pub(crate) fn process<A: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = A>,
    env: &[(OsString, OsString)],
) -> Result<Duration> {
    let begun = Instant::now();
    spawn(program, arguments, env)?.finish()?;
    Ok(begun.elapsed())
}
