//! Runs one command. The program is its own keeper: it calls the hook first in `main`.
//!
//! `cargo run -p bashd --example run_once -- 'echo hello'`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd::{Config, Engine, KeeperSource, Request, Surroundings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    bashd::run_if_asked();
    let command = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "echo hello".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let state = std::env::temp_dir().join("bashd-example");
        let surroundings = Surroundings {
            cwd: std::env::current_dir()?,
            #[expect(clippy::disallowed_methods, reason = "a host may read its environment")]
            env: std::env::vars_os().collect(),
        };
        let engine = Engine::new(Config::new(state), surroundings, KeeperSource::Hook)?;
        let reply = engine.run(Request::new(command)).await;
        println!("{}", reply.text);
        Ok(())
    })
}
