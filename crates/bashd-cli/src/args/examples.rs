//! Two examples for every command: shown by `--help` and in the manual pages.

use clap::Command;

/// What is typed, by the command that it is for.
const EXAMPLES: &[(&str, [&str; 2])] = &[
    (
        "run",
        [
            "bashd run 'make 2>&1 | tail -n 20'",
            "bashd run --timeout 600 cargo test --workspace",
        ],
    ),
    (
        "map",
        [
            "ls *.png | bashd map --jobs 8 'optipng -quiet {}'",
            "bashd map --on gpu --name sweep ./train.sh < seeds",
        ],
    ),
    (
        "mcp",
        ["bashd mcp", "bashd mcp --profile claude-code --http 8080"],
    ),
    (
        "check",
        [
            "bashd check 'rm -rf build'",
            "bashd check --json --profile phoenix 'git push --force'",
        ],
    ),
    ("rules", ["bashd rules", "bashd rules no_force_push"]),
    (
        "rpc",
        ["bashd rpc", "bashd rpc --socket /run/user/1000/bashd.sock"],
    ),
    (
        "acp",
        ["bashd acp", "bashd acp --profile pi --session shared:main"],
    ),
    (
        "hook",
        [
            "bashd hook claude-code",
            "bashd hook cursor --profile phoenix",
        ],
    ),
    ("init", ["bashd init", "bashd init codex --yes"]),
    ("jobs", ["bashd jobs", "bashd jobs --all --json"]),
    ("jobs list", ["bashd jobs list", "bashd jobs list --all"]),
    (
        "jobs attach",
        ["bashd jobs attach bg_1", "bashd jobs attach dev-server"],
    ),
    (
        "jobs show",
        ["bashd jobs show bg_1", "bashd jobs show bg_1 --json"],
    ),
    (
        "jobs output",
        [
            "bashd jobs output bg_1 --tail 50",
            "bashd jobs output bg_1 --grep 'error|warning'",
        ],
    ),
    (
        "jobs follow",
        ["bashd jobs follow bg_1", "bashd jobs follow bg_1 --tail 20"],
    ),
    (
        "jobs screen",
        [
            "bashd jobs screen bg_1",
            "bashd jobs screen bg_1 --regex 'Password:' --timeout 10",
        ],
    ),
    (
        "jobs wait",
        [
            "bashd jobs wait bg_1 bg_2",
            "bashd jobs wait bg_1 --http http://localhost:3000 --timeout 60",
        ],
    ),
    (
        "jobs send",
        [
            "bashd jobs send bg_1 yes --enter",
            "bashd jobs send bg_1 --key C-c",
        ],
    ),
    (
        "jobs kill",
        ["bashd jobs kill bg_1", "bashd jobs kill bg_1 bg_2 --json"],
    ),
    (
        "jobs rename",
        [
            "bashd jobs rename bg_1 dev-server",
            "bashd jobs rename dev-server old-server",
        ],
    ),
    ("jobs rm", ["bashd jobs rm bg_1", "bashd jobs rm bg_1 bg_2"]),
    (
        "log",
        ["bashd log --failed --since today", "bashd log --follow"],
    ),
    (
        "log show",
        ["bashd log show", "bashd log show 01m7pm5f --json"],
    ),
    (
        "replay",
        [
            "bashd replay 01m7pm5f",
            "bashd replay bg_1 --speed 2 --idle 1s",
        ],
    ),
    (
        "export",
        [
            "bashd export 01m7pm5f --html -o run.html",
            "bashd export bg_1 --cast --v3 -o run.cast",
        ],
    ),
    (
        "tape",
        [
            "bashd tape record run.tape -- claude -p 'run the tests'",
            "bashd tape play run.tape -- claude -p 'run the tests'",
        ],
    ),
    (
        "tape record",
        [
            "bashd tape record run.tape -- python agent.py",
            "bashd tape record run.tape -- claude -p 'run the tests'",
        ],
    ),
    (
        "tape play",
        [
            "bashd tape play run.tape -- python agent.py",
            "bashd tape play --match run.tape -- python agent.py",
        ],
    ),
    (
        "minimize",
        [
            "cargo test 2>&1 | bashd minimize --command 'cargo test'",
            "git diff | bashd minimize --command 'git diff' --json",
        ],
    ),
    (
        "minimize test",
        ["bashd minimize test", "bashd minimize test filters.toml"],
    ),
    ("stats", ["bashd stats --since 7d", "bashd stats --graph"]),
    (
        "console",
        ["bashd console", "bashd --set profile=pi console"],
    ),
    ("top", ["bashd top", "bashd top --json cargo"]),
    #[cfg(feature = "web")]
    (
        "web",
        [
            "bashd web --open",
            "bashd web --socket /run/user/1000/bashd-web.sock",
        ],
    ),
    (
        "artifact",
        ["bashd artifact list", "bashd artifact read 3 --tail 50"],
    ),
    (
        "artifact list",
        ["bashd artifact list", "bashd artifact list --json"],
    ),
    (
        "artifact read",
        [
            "bashd artifact read 3 --lines 100-200",
            "bashd artifact read 3 --grep error -C 3",
        ],
    ),
    (
        "artifact rm",
        ["bashd artifact rm 3", "bashd artifact rm 3 4 5"],
    ),
    ("grants", ["bashd grants", "bashd grants --json"]),
    (
        "grants list",
        ["bashd grants list", "bashd grants list --json"],
    ),
    ("grants rm", ["bashd grants rm 3", "bashd grants rm 1 2"]),
    ("places", ["bashd places", "bashd places --json"]),
    (
        "places check",
        ["bashd places check big", "bashd places check big --json"],
    ),
    (
        "try",
        [
            "bashd try 'make install DESTDIR=out'",
            "bashd try --confine workspace+net 'npm install'",
        ],
    ),
    ("changes", ["bashd changes", "bashd changes --json"]),
    (
        "changes list",
        ["bashd changes list", "bashd changes list --json"],
    ),
    (
        "changes show",
        [
            "bashd changes show --diff",
            "bashd changes show 01m7pm5f --stat",
        ],
    ),
    (
        "changes apply",
        [
            "bashd changes apply 01m7pm5f",
            "bashd changes apply 01m7pm5f src/main.rs",
        ],
    ),
    (
        "changes discard",
        [
            "bashd changes discard 01m7pm5f",
            "bashd changes discard 01m7pm5f 01m7pm6g",
        ],
    ),
    (
        "changes undo",
        [
            "bashd changes undo 01m7pm5f",
            "bashd changes undo 01m7pm5f src --force",
        ],
    ),
    (
        "changes prune",
        ["bashd changes prune", "bashd changes prune --all"],
    ),
    ("undo", ["bashd undo", "bashd undo --since 10m"]),
    (
        "confine",
        ["bashd confine show", "bashd confine show --json"],
    ),
    (
        "confine show",
        ["bashd confine show", "bashd confine show --json"],
    ),
    ("profiles", ["bashd profiles", "bashd profiles --json"]),
    ("schema", ["bashd schema", "bashd schema --profile codex"]),
    ("config", ["bashd config show", "bashd config edit"]),
    (
        "config show",
        ["bashd config show", "bashd config show --json"],
    ),
    (
        "config edit",
        ["bashd config edit", "EDITOR=nano bashd config edit"],
    ),
    (
        "config path",
        ["bashd config path", "bashd --config other.toml config path"],
    ),
    (
        "config reference",
        [
            "bashd config reference",
            "bashd config reference | grep -n spool",
        ],
    ),
    ("doctor", ["bashd doctor", "bashd doctor --json"]),
    (
        "completions",
        [
            "bashd completions bash > ~/.local/share/bash-completion/completions/bashd",
            "bashd completions zsh > ~/.zfunc/_bashd",
        ],
    ),
    (
        "man",
        ["bashd man | man -l -", "bashd man jobs attach | man -l -"],
    ),
];

/// The examples of a command, named by its words.
pub(crate) fn of(path: &str) -> &'static [&'static str] {
    let mut examples = EXAMPLES.iter();
    let found = examples.find(|(name, _)| *name == path);
    found.map_or(&[], |(_, lines)| lines.as_slice())
}

/// The command line with the examples in its help.
pub(crate) fn added(command: Command) -> Command {
    add(command, "")
}

fn add(command: Command, path: &str) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|subcommand| subcommand.get_name().to_owned())
        .collect();
    let mut command = command;
    for name in names {
        let path = format!("{path} {name}");
        let path = path.trim_start().to_owned();
        command = command.mut_subcommand(&name, |subcommand| add(subcommand, &path));
    }
    let examples = of(path);
    if examples.is_empty() {
        return command;
    }
    let lines: Vec<String> = examples.iter().map(|line| format!("  {line}")).collect();
    let help = format!("Examples:\n{}", lines.join("\n"));
    command.after_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::{CommandFactory, Parser};

    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        for subcommand in command.get_subcommands() {
            let path = format!("{path} {}", subcommand.get_name());
            let path = path.trim_start().to_owned();
            if !subcommand.is_hide_set() {
                found.push(path.clone());
            }
            leaves(subcommand, &path, found);
        }
    }

    #[test]
    fn every_command_has_two_examples_that_can_be_typed() {
        let mut paths = Vec::new();
        leaves(&Cli::command(), "", &mut paths);
        for path in &paths {
            assert!(!of(path).is_empty(), "no example: {path}");
        }
        for (path, lines) in EXAMPLES {
            assert!(paths.iter().any(|known| known == path), "{path}");
            for line in lines {
                let (_, own) = line.split_once("bashd ").unwrap_or(("", ""));
                let own = own.split(" | man").next().unwrap();
                let own = own.split(" | grep").next().unwrap();
                let own = own.split(" > ").next().unwrap();
                let words = words(&format!("bashd {own}"));
                let parsed = Cli::try_parse_from(&words);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }

    /// The words of a line with simple quotes.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for character in line.chars() {
            match character {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                other => words.last_mut().unwrap().push(other),
            }
        }
        words
    }
}
