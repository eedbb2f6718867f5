//! A rule of one's own, and somebody who is asked when it says so. Nothing that is denied runs.
//!
//! `cargo run -p bashd --example guard_rule`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd::approval::{ApprovalAnswer, Approver};
use bashd::config::{ConfigFile, Sources, resolve};
use bashd::{Engine, KeeperSource, Request, Surroundings};
use std::sync::Arc;

/// As in a user's `config.toml`. The examples are checked when it is read.
const RULES: &str = r#"
[[rules]]
name = "releases_are_for_people"
decision = "ask"
message = "this makes a release"
command = "cargo"
subcommand = "publish"
examples.deny = ["cargo publish", "cd x && cargo publish --dry-run"]
examples.allow = ["cargo build", "echo cargo publish"]

[[rules]]
name = "no_printer"
decision = "deny"
message = "the printer is on fire"
command = ["lp", "lpr"]
examples.deny = ["lp x", "cat x | lpr"]
examples.allow = ["grep lp x"]
"#;

/// Approves rehearsals; a real host would ask its user here.
fn approver() -> Approver {
    Arc::new(|approval| {
        Box::pin(async move {
            println!(
                "asked: {} ({})",
                approval.objection.message, approval.command
            );
            if approval.command.contains("--dry-run") {
                ApprovalAnswer::Once
            } else {
                ApprovalAnswer::Refused
            }
        })
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    bashd::run_if_asked();
    let file = ConfigFile {
        path: "rules.toml".into(),
        text: RULES.to_owned(),
    };
    let sources = Sources {
        state_dir: std::env::temp_dir().join("bashd-example"),
        file: Some(file),
        ..Sources::default()
    };
    let (config, _) = resolve(&sources)?;
    let surroundings = Surroundings {
        cwd: std::env::temp_dir(),
        #[expect(clippy::disallowed_methods, reason = "a host may read its environment")]
        env: std::env::vars_os().collect(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let engine = Engine::new(config, surroundings, KeeperSource::Hook)?;
        engine.ask(approver());
        for command in [
            "echo harmless",
            "cat /dev/null | lpr",
            "cargo publish",
            "cargo() { echo rehearsed; }; cargo publish --dry-run",
        ] {
            let reply = engine.run(Request::new(command)).await;
            println!("{command}: {}", reply.text.trim_end());
        }
        Ok(())
    })
}
