//! A guard rule of one's own beside two of ours, and their verdict on a few scripts. Nothing runs:
//! reading a script is enough.
//!
//! `cargo run -p bashd-script --example own_rule`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd_script::guard::{Guard, UserRule, Verdict};
use bashd_script::script::Script;

/// As in a user's `config.toml`, where it would be one of `[[rules]]`.
const RULE: &str = r#"
name = "releases_are_for_people"
decision = "ask"
message = "this makes a release"
command = ["cargo", "npm"]
subcommand = "publish"
examples.deny = ["cargo publish", "cd x && npm publish --tag next"]
examples.allow = ["cargo build", "echo cargo publish"]
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rule: UserRule = toml::from_str(RULE)?;
    // A rule that does not do what its examples say must not be trusted with anything else.
    if let Some(problem) = rule.problem() {
        return Err(problem.into());
    }
    let guard = Guard::new(["no_force_push", "no_pipe_to_shell"], &[rule]);
    for text in [
        "cargo build --release",
        "cd crates/x && cargo publish",
        "git push origin main --force",
        "echo 'git push --force'",
    ] {
        let verdict = guard.check(&Script::parse(text), text);
        let (word, objection) = match verdict {
            Verdict::Allow => ("allow", None),
            Verdict::Ask(objection) => ("ask", Some(objection)),
            Verdict::Deny(objection) => ("deny", Some(objection)),
        };
        println!("{word:<5} {text}");
        if let Some(objection) = objection {
            let blamed = objection
                .span
                .and_then(|span| text.get(span.start..span.end));
            let blamed = blamed.unwrap_or(text);
            println!(
                "      {}: {} (`{blamed}`)",
                objection.rule, objection.message
            );
        }
    }
    Ok(())
}
