//! Runs of the built `bashd` binary: hermetic, bounded in time, shown as one block of text.

use crate::home::Home;
use crate::keeper_hook::MARK;
use crate::processes::with_variable;
use crate::redact::Redactor;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long one run may take before the test fails; far above what any takes.
const LIMIT: Duration = Duration::from_mins(1);

/// How long the streams may stay open after the binary has ended.
const STREAMS_CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// A run of the binary in a home, before it is started.
#[derive(Debug)]
pub struct Binary<'home> {
    home: &'home Home,
    program: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    directory: PathBuf,
    stdin: Option<Vec<u8>>,
    limit: Duration,
    user: Option<u32>,
}

/// What a run showed: stdout, stderr and status.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// The bytes of stdout.
    pub stdout: Vec<u8>,
    /// The bytes of stderr.
    pub stderr: Vec<u8>,
    /// How the binary ended.
    pub status: ExitStatus,
    /// How long it ran.
    pub took: Duration,
    redactor: Redactor,
}

impl<'home> Binary<'home> {
    /// A run of `program`, which in tests of the binary's crate is `env!("CARGO_BIN_EXE_bashd")`.
    pub fn new(program: impl AsRef<Path>, home: &'home Home) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            variables: home.env(),
            directory: home.workspace(),
            stdin: None,
            limit: LIMIT,
            user: None,
            home,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter();
        self.arguments
            .extend(arguments.map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable, beside the home's own.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets the directory that it runs in; the home's workspace otherwise.
    #[must_use]
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Gives it something to read; `/dev/null` otherwise.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Sets how long it may run before the test fails.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs it as this user and group; the caller must be root, and the home must be readable to
    /// that user.
    #[must_use]
    pub fn user(mut self, user: u32) -> Self {
        self.user = Some(user);
        self
    }

    /// Starts it, for tests that signal it while it runs; its streams are pipes.
    pub fn spawn(&self) -> Child {
        self.command().spawn().unwrap_or_else(|error| {
            panic!("{} could not be started: {error}", self.program.display())
        })
    }

    /// Runs it to its end.
    pub fn run(&self) -> Transcript {
        let started = Instant::now();
        let mut child = self.spawn();
        if let (Some(bytes), Some(mut pipe)) = (self.stdin.clone(), child.stdin.take()) {
            // A binary that does not read its input closes the pipe: that is its right.
            std::thread::spawn(move || pipe.write_all(&bytes));
        }
        let stdout = read_aside(child.stdout.take().expect("stdout is a pipe"));
        let stderr = read_aside(child.stderr.take().expect("stderr is a pipe"));
        let status = self.wait(&mut child, started + self.limit);
        let took = started.elapsed();
        let finished = |stream: &Receiver<Vec<u8>>, name| {
            stream
                .recv_timeout(STREAMS_CLOSE_WITHIN)
                .unwrap_or_else(|_| panic!("{name} was still open after bashd had ended"))
        };
        Transcript {
            stdout: finished(&stdout, "stdout"),
            stderr: finished(&stderr, "stderr"),
            status,
            took,
            redactor: self.redactor(),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.variables.iter().cloned())
            .current_dir(&self.directory)
            .stdin(if self.stdin.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn wait(&self, child: &mut Child, deadline: Instant) -> ExitStatus {
        loop {
            if let Some(status) = child.try_wait().expect("waiting for a child") {
                return status;
            }
            if Instant::now() >= deadline {
                let running = with_variable(MARK, self.home.mark());
                let _ = child.kill();
                let _ = child.wait();
                panic!(
                    "bashd {:?} did not end within {:?}; running: {running:#?}",
                    self.arguments, self.limit
                );
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn redactor(&self) -> Redactor {
        let root = self.home.root();
        let real = root.canonicalize().expect("the home exists");
        Redactor::new()
            .replace(real.to_string_lossy(), "[TEMP]")
            .replace(root.to_string_lossy(), "[TEMP]")
    }
}

impl Transcript {
    /// stdout as text.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// stderr as text.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The exit status, or `None` after a signal.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// stdout, stderr and status as one block for a snapshot, with volatile parts redacted.
    pub fn block(&self) -> String {
        self.block_with(&Redactor::new())
    }

    /// Likewise, redacted further.
    pub fn block_with(&self, redactor: &Redactor) -> String {
        let ended = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown".to_owned(),
        };
        let section = |name: &str, text: &str| match text.strip_suffix('\n') {
            Some(lines) => format!("--- {name}\n{lines}\n"),
            None if text.is_empty() => format!("--- {name}\n"),
            None => format!("--- {name}\n{text}[no newline]\n"),
        };
        let show = |text: String| redactor.redact(&self.redactor.redact(&text));
        section("stdout", &show(self.out()))
            + &section("stderr", &show(self.err()))
            + "--- status\n"
            + &ended
            + "\n"
    }
}

fn read_aside(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until an error is still shown.
        let _ = stream.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}
