//! Two calls that share a shell, one that does not, and what `exit` does to a session.
//!
//! `cargo run -p bashd --example session`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd::{Config, Engine, KeeperSource, Request, Surroundings};

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
        for (session, command) in [
            (Some("work"), "greeting=hello; cd /"),
            (Some("work"), "echo \"$greeting from $PWD\""),
            (None, "echo \"${greeting:-nothing} here\""),
            (Some("work"), "exit 3"),
            (Some("work"), "echo \"${greeting:-nothing} is left\""),
        ] {
            let mut request = Request::new(command);
            request.session = session.map(str::to_owned);
            let reply = engine.run(request).await;
            println!("{command}: {}", reply.text.trim_end());
            if let Some(reason) = reply.session_reset {
                println!("  the session was restarted: {reason}");
            }
        }
        Ok(())
    })
}
