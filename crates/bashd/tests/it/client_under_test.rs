//! A client with terminals, for tests: runs real processes, and can be deaf, late, forgetful or
//! gone. No tests here.

use bashd::{ClientAnswer, ClientTerminal, NewTerminal, Patience, TerminalExit, TerminalOutput};
use bashd_testkit::Home;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What is wrong with one of a client's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It never comes.
    Hangs,
    /// It is an error.
    Fails,
    /// It is an error once the program has ended.
    FailsOnceEnded,
    /// It comes only when the test says so.
    Late,
    /// It has neither status nor signal.
    SaysNothing,
}

/// A client that runs real processes.
pub(crate) struct Client {
    directory: PathBuf,
    env: Mutex<Vec<(String, String)>>,
    faults: BTreeMap<&'static str, Fault>,
    limit: usize,
    log: Mutex<Vec<String>>,
    made: Mutex<Vec<NewTerminal>>,
    children: Mutex<BTreeMap<String, Terminal>>,
    shown: Mutex<String>,
    looks: AtomicUsize,
    is_lost: AtomicBool,
    late: tokio::sync::Semaphore,
}

struct Terminal {
    child: Child,
    file: PathBuf,
    exit: Option<TerminalExit>,
}

impl Terminal {
    fn exit(&mut self) -> Option<TerminalExit> {
        if self.exit.is_none() {
            let status = self.child.try_wait().expect("waiting for a child")?;
            self.exit = Some(TerminalExit {
                code: status.code(),
                signal: status.signal().map(|signal| format!("signal {signal}")),
            });
        }
        self.exit.clone()
    }

    fn kill(&mut self) {
        if self.exit().is_none() {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
    }
}

impl Client {
    pub(crate) fn new(home: &Home) -> Arc<Self> {
        Self::with(home, &[])
    }

    pub(crate) fn with(home: &Home, faults: &[(&'static str, Fault)]) -> Arc<Self> {
        Arc::new(Self::build(home, faults, usize::MAX))
    }

    /// A client that keeps only the last so many bytes.
    pub(crate) fn forgetting_beyond(home: &Home, limit: usize) -> Arc<Self> {
        Arc::new(Self::build(home, &[], limit))
    }

    fn build(home: &Home, faults: &[(&'static str, Fault)], limit: usize) -> Self {
        let text = |string: std::ffi::OsString| string.into_string().expect("UTF-8");
        let env = home.env().into_iter();
        Self {
            directory: home.workspace(),
            env: Mutex::new(env.map(|(name, value)| (text(name), text(value))).collect()),
            faults: faults.iter().copied().collect(),
            limit,
            log: Mutex::default(),
            made: Mutex::default(),
            children: Mutex::default(),
            shown: Mutex::default(),
            looks: AtomicUsize::new(0),
            is_lost: AtomicBool::new(false),
            late: tokio::sync::Semaphore::new(0),
        }
    }

    /// What was asked for, in order.
    pub(crate) fn log(&self) -> Vec<String> {
        held(&self.log).clone()
    }

    /// The terminals that were asked for.
    pub(crate) fn made(&self) -> Vec<NewTerminal> {
        held(&self.made).clone()
    }

    /// Sets a variable of the client's own environment.
    pub(crate) fn set_variable(&self, name: &str, value: &str) {
        held(&self.env).push((name.into(), value.into()));
    }

    /// Waits until an answer showed this text.
    pub(crate) async fn shown(&self, text: &str) {
        while !held(&self.shown).contains(text) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until the output was asked for once more than now.
    pub(crate) async fn looked_at_again(&self) {
        let now = self.looks.load(Ordering::SeqCst);
        while self.looks.load(Ordering::SeqCst) == now {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) fn let_late_answers_come(&self) {
        self.late.add_permits(1);
    }

    /// From now on every answer is an error.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }

    /// Ends what a client that can't be reached would leave, and forgets what was shown.
    pub(crate) fn end_all(&self) {
        for terminal in held(&self.children).values_mut() {
            terminal.kill();
            let _ = terminal.child.wait();
        }
        held(&self.shown).clear();
    }

    async fn begin(&self, what: &'static str) -> Result<(), String> {
        held(&self.log).push(what.to_owned());
        match self.faults.get(what) {
            Some(Fault::Hangs) => std::future::pending().await,
            Some(Fault::Fails) => return Err(format!("{what}: no, says the client")),
            Some(Fault::Late) => drop(self.late.acquire().await),
            Some(Fault::FailsOnceEnded | Fault::SaysNothing) | None => {}
        }
        self.connected()
    }

    fn connected(&self) -> Result<(), String> {
        if self.is_lost.load(Ordering::SeqCst) {
            return Err("gone, says the connection".into());
        }
        Ok(())
    }

    fn start(&self, new: &NewTerminal) -> std::io::Result<String> {
        let mut children = held(&self.children);
        let id = format!("t{}", children.len() + 1);
        let file = self
            .directory
            .join(format!(".screen-{}-{id}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let open = || -> std::io::Result<File> {
            OpenOptions::new().create(true).append(true).open(&file)
        };
        let child = Command::new(&new.command)
            .args(&new.args)
            .env_clear()
            .envs(held(&self.env).iter().cloned())
            .envs(new.env.iter().cloned())
            .current_dir(&new.cwd)
            .stdin(std::process::Stdio::null())
            .stdout(open()?)
            .stderr(open()?)
            .process_group(0)
            .spawn()?;
        let exit = None;
        children.insert(id.clone(), Terminal { child, file, exit });
        Ok(id)
    }

    fn with_terminal<T>(
        &self,
        id: &str,
        act: impl FnOnce(&mut Terminal) -> T,
    ) -> Result<T, String> {
        let mut children = held(&self.children);
        let terminal = children.get_mut(id).ok_or("no such terminal")?;
        Ok(act(terminal))
    }

    fn look(&self, id: &str) -> Result<TerminalOutput, String> {
        let (text, exit) = self.with_terminal(id, |terminal| {
            let exit = terminal.exit();
            (std::fs::read_to_string(&terminal.file), exit)
        })?;
        if exit.is_some() && self.faults.get("output") == Some(&Fault::FailsOnceEnded) {
            return Err("output: no, says the client".into());
        }
        let text = text.map_err(|error| error.to_string())?;
        let from = text.ceil_char_boundary(text.len().saturating_sub(self.limit));
        let text = text.get(from..).unwrap_or_default().to_owned();
        held(&self.shown).clone_from(&text);
        self.looks.fetch_add(1, Ordering::SeqCst);
        let truncated = from > 0;
        Ok(TerminalOutput {
            text,
            truncated,
            exit,
        })
    }
}

impl ClientTerminal for Client {
    fn create(&self, new: NewTerminal) -> ClientAnswer<'_, String> {
        Box::pin(async move {
            self.begin("create").await?;
            held(&self.made).push(new.clone());
            self.start(&new).map_err(|error| error.to_string())
        })
    }

    fn output<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalOutput> {
        Box::pin(async move {
            self.begin("output").await?;
            self.look(id)
        })
    }

    fn output_again<'a>(&'a self, id: &'a str, limit: u64) -> ClientAnswer<'a, TerminalOutput> {
        Box::pin(async move {
            held(&self.log).push(format!("limit {limit}"));
            self.output(id).await
        })
    }

    fn wait_for_exit<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalExit> {
        Box::pin(async move {
            self.begin("wait").await?;
            loop {
                self.connected()?;
                if let Some(exit) = self.with_terminal(id, Terminal::exit)? {
                    let says_nothing = self.faults.get("wait") == Some(&Fault::SaysNothing);
                    return Ok(if says_nothing {
                        TerminalExit::default()
                    } else {
                        exit
                    });
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
    }

    fn kill<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()> {
        Box::pin(async move {
            self.begin("kill").await?;
            self.with_terminal(id, Terminal::kill)
        })
    }

    fn release<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()> {
        Box::pin(async move {
            self.begin("release").await?;
            self.with_terminal(id, |terminal| {
                terminal.kill();
                let _ = terminal.child.wait();
            })
        })
    }

    fn patience(&self) -> Patience {
        let is_faulty = |what| matches!(self.faults.get(what), Some(Fault::Hangs | Fault::Late));
        let short = Duration::from_millis(300);
        let long = Duration::from_secs(20);
        let is_deaf = ["output", "wait", "kill", "release"]
            .into_iter()
            .any(is_faulty);
        Patience {
            create: if is_faulty("create") { short } else { long },
            answer: if is_deaf { short } else { long },
            poll: Duration::from_millis(10),
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic while it is held")
}
