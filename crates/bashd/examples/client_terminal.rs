//! A host with terminals of its own: commands are its processes, and bashd asks it for their output
//! and their end. Guard, limits, reply and ledger are those of any other call.
//!
//! The terminals of this one are files that nobody looks at. An editor would show them.
//!
//! `cargo run -p bashd --example client_terminal`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd::{
    Call, ClientAnswer, ClientTerminal, Config, Engine, KeeperSource, NewTerminal, Request,
    Surroundings, TerminalExit, TerminalOutput,
};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::HashMap;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// One terminal: a process, and the file that it writes to.
struct Screen {
    child: Child,
    file: PathBuf,
}

impl Screen {
    fn exit(&mut self) -> io::Result<Option<TerminalExit>> {
        Ok(self
            .child
            .try_wait()?
            .map(|status: ExitStatus| TerminalExit {
                code: status.code(),
                signal: status.signal().map(|number| format!("signal {number}")),
            }))
    }

    fn kill(&mut self) -> io::Result<()> {
        // Only what still runs: the number of a process that was waited for may be another's by
        // now.
        if self.exit()?.is_none() {
            kill_process_group(Pid::from_child(&self.child), Signal::KILL)?;
        }
        Ok(())
    }
}

/// The terminals by their ids.
struct Screens {
    directory: tempfile::TempDir,
    open: Mutex<HashMap<String, Screen>>,
}

impl Screens {
    fn start(&self, new: &NewTerminal) -> io::Result<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("terminal-{}", open.len() + 1);
        let file = self.directory.path().join(&id);
        let out = std::fs::File::create(&file)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "these are the host's, not bashd's"
        )]
        let child = Command::new(&new.command)
            .args(&new.args)
            .envs(new.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&new.cwd)
            .stdin(Stdio::null())
            .stderr(out.try_clone()?)
            .stdout(out)
            // A group of its own, so that `kill` also reaches what the program started.
            .process_group(0)
            .spawn()?;
        println!("{id}: {} {:?}", new.command, new.args);
        open.insert(id.clone(), Screen { child, file });
        Ok(id)
    }

    fn with<T>(
        &self,
        id: &str,
        act: impl FnOnce(&mut Screen) -> io::Result<T>,
    ) -> Result<T, String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let screen = open.get_mut(id).ok_or("there is no such terminal")?;
        act(screen).map_err(|error| error.to_string())
    }
}

impl ClientTerminal for Screens {
    fn create(&self, new: NewTerminal) -> ClientAnswer<'_, String> {
        Box::pin(async move { self.start(&new).map_err(|error| error.to_string()) })
    }

    fn output<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalOutput> {
        Box::pin(async move {
            self.with(id, |screen| {
                // First the exit: what a program writes before its end is then in the text.
                let exit = screen.exit()?;
                let text = String::from_utf8_lossy(&std::fs::read(&screen.file)?).into_owned();
                Ok(TerminalOutput {
                    text,
                    truncated: false, // all of it is in the file
                    exit,
                })
            })
        })
    }

    fn wait_for_exit<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalExit> {
        Box::pin(async move {
            loop {
                if let Some(exit) = self.with(id, Screen::exit)? {
                    return Ok(exit);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
    }

    fn kill<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()> {
        Box::pin(async move { self.with(id, Screen::kill) })
    }

    fn release<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()> {
        Box::pin(async move {
            self.with(id, |screen| {
                screen.kill()?;
                screen.child.wait().map(drop)
            })
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    bashd::run_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let surroundings = Surroundings {
            cwd: std::env::current_dir()?,
            #[expect(clippy::disallowed_methods, reason = "a host may read its environment")]
            env: std::env::vars_os().collect(),
        };
        let config = Config::new(std::env::temp_dir().join("bashd-example"));
        let engine = Engine::new(config, surroundings, KeeperSource::Hook)?;
        let screens = Arc::new(Screens {
            directory: tempfile::tempdir()?,
            open: Mutex::default(),
        });
        for command in ["echo hello; exit 3", "echo working; sleep 60"] {
            let request = Request::new(command).timeout(Duration::from_secs(1));
            let call = Call::from(request).in_terminal_of(Arc::clone(&screens) as _);
            let reply = engine.run(call).await;
            println!("{command} in {:?}:", reply.terminal);
            println!("{}", reply.text.trim_end());
        }
        Ok(())
    })
}
