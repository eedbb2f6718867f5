//! What earlier scripts left in a shell that makes a later status say nothing: functions and
//! aliases with the name of a tool, traps, and what only the shell has read.

use super::reading;
use bashd_script::script::{Construct, Script};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What earlier scripts of a shell may have changed about the names and statuses of later ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShellMasks {
    /// Functions and aliases.
    names: BTreeSet<String>,
    /// A trap was set, or something was read that nobody else knows.
    anything: bool,
}

/// Words without which no script leaves anything: most scripts have none, and need not be read.
const TRACES: [&str; 9] = [
    "()", "( ", "function", "alias", "trap", "eval", "source", ". ", "hash",
];

/// Names of functions as they are defined. One too many does no harm.
static FUNCTIONS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?m)(?:^|[\s;&|(){}])(?:function\s+([^\s()&;|<>]+)|([^\s()&;|<>=$'"`]+)\s*\(\s*\))"#,
    )
    .ok()
});

/// Names of aliases, one a line.
static ALIASES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*alias\s+(?:-\S*\s+)*([^\s=]+)=").ok());

impl ShellMasks {
    /// Adds what a script leaves in the shell that ran it.
    pub fn add(&mut self, script: &str) {
        if self.anything || !TRACES.iter().any(|trace| script.contains(trace)) {
            return;
        }
        let parsed = Script::parse(script);
        if parsed.constructs.contains(Construct::Function) {
            let before = self.names.len();
            self.add_found(&FUNCTIONS, script);
            self.anything |= self.names.len() == before;
        }
        for command in parsed.commands.iter().filter(|one| reading::masks(one)) {
            if command.name() != Some("alias") {
                self.anything = true;
                continue;
            }
            for argument in command.arguments() {
                match argument.known() {
                    Some(argument) => self
                        .names
                        .extend(argument.split_once('=').map(|(name, _)| name.to_owned())),
                    None => self.anything = true,
                }
            }
        }
        self.anything |= parsed.bound.is_some();
    }

    /// Adds the functions and aliases that a text defines which a shell wrote itself.
    pub fn add_definitions(&mut self, text: &str) {
        self.add_found(&FUNCTIONS, text);
        self.add_found(&ALIASES, text);
    }

    fn add_found(&mut self, pattern: &LazyLock<Option<Regex>>, text: &str) {
        let Some(pattern) = pattern.as_ref() else {
            self.anything = true;
            return;
        };
        let found = pattern
            .captures_iter(text)
            .filter_map(|found| found.iter().skip(1).flatten().next());
        self.names
            .extend(found.map(|name| name.as_str().to_owned()));
    }

    /// Whether the status of this script may be another's than its tools'.
    pub(crate) fn cover(&self, script: &Script) -> bool {
        let is_known = |name: &str| self.names.contains(name);
        self.anything
            || script
                .commands
                .iter()
                .any(|command| command.name().is_some_and(is_known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_leaves_is_known() {
        for (earlier, later, is_covered) in [
            (
                "cargo(){ command cargo \"$@\" || true; }",
                "cargo test",
                true,
            ),
            ("cargo () { :; }", "cd x && cargo test", true),
            ("function cargo { :; }", "cargo test", true),
            ("x=1; function pytest() { :; }", "pytest -v", true),
            ("helper() { :; }", "cargo test", false),
            ("helper() { :; }", "helper && cargo test", true),
            ("alias cargo='cargo || true'", "cargo test", true),
            ("alias a=b pytest='pytest||:'", "pytest", true),
            ("alias ll='ls -l'", "cargo test", false),
            ("alias \"$x\"", "cargo test", true),
            ("trap 'exit 0' ERR", "cargo test", true),
            ("eval \"$code\"", "cargo test", true),
            ("source ./helpers.sh", "cargo test", true),
            (". ~/.nvm/nvm.sh", "npx jest", true),
            ("source .venv/bin/activate", "pytest", false),
            ("echo 'trap (): alias'", "cargo test", false),
            ("cd src && make", "cargo test", false),
            ("x=$(date)", "cargo test", false),
        ] {
            let mut masks = ShellMasks::default();
            masks.add(earlier);
            assert_eq!(
                masks.cover(&Script::parse(later)),
                is_covered,
                "{earlier}, then {later}: {masks:?}"
            );
        }
    }

    #[test]
    fn what_a_shell_wrote_is_read() {
        let text = "unalias -a\ncargo () \n{ \n    command cargo \"$@\" || true\n}\nalias -- npm='npm || true'\n";
        let mut masks = ShellMasks::default();
        masks.add_definitions(text);
        for (script, is_covered) in [("cargo test", true), ("npm ci", true), ("pytest", false)] {
            assert_eq!(masks.cover(&Script::parse(script)), is_covered, "{script}");
        }
    }
}
