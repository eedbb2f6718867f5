//! A filter of one's own: data in TOML, checked by its own test, applied to the output of a run.
//!
//! `cargo run -p bashd-minimize --example own_filter`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd_minimize::user::UserFilters;
use bashd_minimize::{FilterSettings, Subject, minimize};
use std::fmt::Write;

/// As in a user's file of filters. The test runs whenever the file is read.
const FILTERS: &str = r#"
schema_version = 1

[filters.deploy]
match_command = "^deploy$"
strip_lines_matching = ["^waiting for "]

[[tests.deploy]]
name = "waiting is noise"
input = "waiting for web1\nweb1: done\n"
expected = "web1: done"
"#;

/// What a made-up tool prints: one line of noise, and one of news, for each host.
fn output() -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for host in 1..=30 {
        writeln!(text, "waiting for web{host}.example.org to answer")?;
        writeln!(text, "web{host}: done")?;
    }
    Ok(text)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let loaded = UserFilters::load(FILTERS);
    if !loaded.problems.is_empty() {
        return Err(loaded.problems.join("\n").into());
    }
    let settings = FilterSettings {
        user_filters: loaded.filters,
        ..FilterSettings::default()
    };
    let text = output()?;
    for command in ["deploy --all", "deploy --all --format json"] {
        let subject = Subject {
            command,
            exit: Some(0),
            text: &text,
        };
        println!("$ {command}");
        match minimize(subject, &settings) {
            Ok(digest) => {
                let (before, after) = (text.len(), digest.text.len());
                println!("{}", digest.text.trim_end());
                println!("({before} bytes, {after} by `{}`)", digest.filter);
            }
            Err(unchanged) => println!("(unchanged: {})", unchanged.reason()),
        }
    }
    Ok(())
}
