//! Tells what happens while it happens. This host has no hook: its keepers come from an installed
//! bashd.
//!
//! `cargo run -p bashd --example stream -- "$(command -v bashd)" 'for i in 1 2; do echo $i; done'`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd::{Config, Engine, Event, KeeperSource, Request, Surroundings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let bashd = arguments.next().ok_or("say where bashd is installed")?;
    let command = arguments.next().unwrap_or_else(|| "echo hello".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let config = Config::new(std::env::temp_dir().join("bashd-example"));
        let surroundings = Surroundings {
            cwd: std::env::current_dir()?,
            #[expect(clippy::disallowed_methods, reason = "a host may read its environment")]
            env: std::env::vars_os().collect(),
        };
        let engine = Engine::new(config, surroundings, KeeperSource::Path(bashd.into()))?;
        let mut running = engine.stream(Request::new(command));
        while let Some(event) = running.next().await {
            match event {
                Event::Started { pid } => println!("started: process {pid}"),
                Event::Output { text, .. } => print!("{text}"),
                Event::Finished(reply) => println!("finished: exit code {:?}", reply.exit_code),
                _ => {}
            }
        }
        Ok(())
    })
}
