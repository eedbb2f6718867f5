//! A front end: each line on stdin is a command, each reply goes to stdout. Ctrl-D ends the command
//! that is running; without one it ends the program. Lines that are typed meanwhile wait.
//!
//! `cargo run -p bashd --example front_end`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd::{Call, CancellationToken, Config, Engine, KeeperSource, Request, Surroundings};
use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::pin::pin;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What a user does.
enum Typed {
    Line(String),
    CtrlD,
}

/// Reads stdin to its end. A thread of its own does so, because reading blocks.
fn read_lines(typed: &UnboundedSender<Typed>) -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        let mut line = String::new();
        let what = match stdin.read_line(&mut line)? {
            // After Ctrl-D a terminal can be read on. A pipe is at its end, which is no wish to
            // cancel.
            0 if stdin.is_terminal() => Typed::CtrlD,
            0 => return Ok(()),
            _ => Typed::Line(line),
        };
        if typed.send(what).is_err() {
            return Ok(());
        }
    }
}

/// Runs one line after the other until there are no more.
async fn serve(engine: &Engine, mut typed: UnboundedReceiver<Typed>) {
    let mut waiting = VecDeque::new();
    loop {
        let line = match waiting.pop_front() {
            Some(line) => line,
            None => match typed.recv().await {
                Some(Typed::Line(line)) => line,
                Some(Typed::CtrlD) | None => return,
            },
        };
        if line.trim().is_empty() {
            continue;
        }
        let cancel = CancellationToken::new();
        let call = Call::from(Request::new(line)).cancel_by(cancel.clone());
        let mut running = pin!(engine.run(call));
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut running => break reply,
                Some(what) = typed.recv() => match what {
                    Typed::Line(line) => waiting.push_back(line),
                    // The call still answers, with what the command wrote until then.
                    Typed::CtrlD => cancel.cancel(),
                },
            }
        };
        println!("{}", reply.text.trim_end());
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
        let (sender, typed) = unbounded_channel();
        std::thread::spawn(move || read_lines(&sender));
        serve(&engine, typed).await;
        Ok(())
    })
}
