//! Settings of git that a script tells: `-c`, `--config-env`, `GIT_CONFIG_*`, `git config`.

use crate::script::{Assigned, Script, SimpleCommand, Word};

/// Most settings that are followed from one command to others.
const MOST_SETTINGS: usize = 64;

/// Keys and values, in the order in which they were given.
pub(super) type ConfigPairs = Vec<(String, String)>;

/// Variables whose value git runs as a program.
const PROGRAM_VARIABLES: &[&str] = &[
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "EDITOR",
    "VISUAL",
    "PAGER",
];

/// Ends of keys whose value git runs as a program.
const PROGRAM_KEYS: &[&str] = &[
    "editor",
    "pager",
    "sshcommand",
    "fsmonitor",
    "askpass",
    "external",
    "command",
    "textconv",
    "driver",
    "clean",
    "smudge",
    "process",
    "helper",
    "program",
    "uploadpack",
    "receivepack",
    "packobjectshook",
    "cmd",
    "difffilter",
];

/// What commands of a script set for the calls of git after them.
pub(super) struct Settings<'a> {
    script: &'a Script,
    earlier: ConfigPairs,
    variables: Vec<(&'a str, &'a str)>,
}

impl<'a> Settings<'a> {
    /// None so far: every command of the script is still to be seen.
    pub(super) fn new(script: &'a Script) -> Self {
        Self {
            script,
            earlier: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// What a command sets by variables or by `git config`.
    pub(super) fn see(&mut self, command: &'a SimpleCommand, name: Option<&str>) {
        for assignment in &command.assignments {
            if let Assigned::Value(word) = &assignment.value
                && assignment.name.starts_with("GIT_CONFIG")
                && let Some(value) = word.known()
            {
                self.variables.push((&assignment.name, value));
            }
        }
        if matches!(name, Some("export" | "declare" | "env")) {
            let words = command.arguments().iter().filter_map(Word::known);
            let pairs = words.filter_map(|word| word.split_once('='));
            let pairs = pairs.filter(|(name, _)| name.starts_with("GIT_CONFIG"));
            self.variables.extend(pairs);
        }
        if name.is_some_and(super::git::is_name) {
            self.earlier.extend(configured(command));
        }
    }

    /// All commands were seen.
    pub(super) fn end(&mut self) {
        self.variables.truncate(MOST_SETTINGS);
        self.earlier.extend(of_variables(&self.variables));
        self.earlier.truncate(MOST_SETTINGS);
    }

    /// Those of the script, and those of one call after them.
    pub(super) fn with(&self, own: ConfigPairs) -> ConfigPairs {
        if self.earlier.is_empty() {
            return own;
        }
        let earlier = self.earlier.iter().cloned();
        earlier.chain(own).collect()
    }

    /// The settings of one call with these options before its subcommand.
    pub(super) fn own(&self, options: &[Word], command: &SimpleCommand) -> ConfigPairs {
        let mut pairs: ConfigPairs = configured(command).into_iter().collect();
        if command
            .assignments
            .iter()
            .any(|assignment| assignment.name.starts_with("GIT_CONFIG"))
        {
            pairs.extend(self.earlier.iter().cloned());
        }
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let text = option.known_beginning();
            let pair = if text == "-c" {
                options
                    .next()
                    .and_then(|word| self.pair(&word.literal_or_glob()?, None))
            } else if text == "--config-env" {
                options
                    .next()
                    .and_then(|word| self.pair(word.known()?, Some(command)))
            } else if let Some(value) = text.strip_prefix("--config-env=") {
                self.pair(value, Some(command))
            } else {
                text.strip_prefix("-c")
                    .and_then(|value| self.pair(value, None))
            };
            pairs.extend(pair);
        }
        pairs
    }

    /// `key=value`, or `key=VARIABLE` with the command whose environment has it.
    fn pair(&self, text: &str, environment: Option<&SimpleCommand>) -> Option<(String, String)> {
        let Some(command) = environment else {
            let (key, value) = text.split_once('=').unwrap_or((text, "true"));
            return Some((key.to_owned(), value.to_owned()));
        };
        let (key, name) = text.rsplit_once('=')?;
        let own = command.assignments.iter();
        let commands = self.script.commands.iter().take(MOST_SETTINGS);
        let all = commands.flat_map(|command| &command.assignments);
        let assigned = own.chain(all).find(|assignment| assignment.name == name);
        let Assigned::Value(word) = &assigned?.value else {
            return None;
        };
        let value = word.known()?.to_owned();
        Some((key.to_owned(), value))
    }
}

/// Whether a call of git takes an alias or a program from a variable that no command near it sets:
/// `git --config-env=alias.x=EVIL x`.
pub(super) fn has_outside_program(near: &[SimpleCommand], command: &SimpleCommand) -> bool {
    let mut values = Vec::new();
    let mut words = command.arguments().iter();
    while let Some(word) = words.next() {
        match word.known_beginning().strip_prefix("--config-env") {
            Some("") => values.extend(words.next().and_then(Word::known)),
            Some(value) => values.extend(value.strip_prefix('=')),
            None => {}
        }
    }
    values
        .into_iter()
        .filter_map(|value| value.rsplit_once('='))
        .any(|(key, name)| {
            let key = key.to_ascii_lowercase();
            let last = key.rsplit('.').next().unwrap_or_default();
            let runs = key.starts_with("alias.") || PROGRAM_KEYS.contains(&last);
            let all = near.iter().flat_map(|command| &command.assignments);
            let own = command.assignments.iter();
            let mut known = all.chain(own).map(|assignment| assignment.name.as_str());
            runs && !known.any(|known| known == name)
        })
}

/// What `git config KEY VALUE` sets, if it sets an alias.
fn configured(command: &SimpleCommand) -> Option<(String, String)> {
    let (subcommand, arguments) = super::git::plain_call(command)?;
    if subcommand != "config" {
        return None;
    }
    let mut words = super::options::operands(arguments).filter_map(Word::known);
    let key = words.find(|word| word.starts_with("alias.") || is_program_key(word))?;
    Some((key.to_owned(), words.next()?.to_owned()))
}

/// Whether git runs the value of this key as a program.
fn is_program_key(key: &str) -> bool {
    let Some((_, last)) = key.rsplit_once('.') else {
        return false;
    };
    PROGRAM_KEYS.contains(&last.to_ascii_lowercase().as_str())
}

/// The settings in `GIT_CONFIG_KEY_0`, `GIT_CONFIG_VALUE_0` and so on.
fn of_variables(variables: &[(&str, &str)]) -> ConfigPairs {
    let mut pairs = Vec::new();
    for (name, key) in variables {
        if *name == "GIT_CONFIG_PARAMETERS" {
            let words = super::safe_mode::tokens(key).unwrap_or_default();
            let parts = words.iter().filter_map(|word| word.split_once('='));
            pairs.extend(parts.map(|(key, value)| (key.to_owned(), value.to_owned())));
        }
        let Some(number) = name.strip_prefix("GIT_CONFIG_KEY_") else {
            continue;
        };
        let value = variables
            .iter()
            .find(|(other, _)| other.strip_prefix("GIT_CONFIG_VALUE_") == Some(number));
        pairs.extend(value.map(|(_, value)| ((*key).to_owned(), (*value).to_owned())));
    }
    pairs
}

/// Texts of settings and of the call's own variables that git hands to a shell.
pub(super) fn programs(settings: &ConfigPairs, command: &SimpleCommand) -> Vec<String> {
    let mut scripts = programs_of(settings);
    for assignment in &command.assignments {
        if let Assigned::Value(word) = &assignment.value
            && PROGRAM_VARIABLES.contains(&assignment.name.as_str())
        {
            scripts.extend(word.known().map(str::to_owned));
        }
    }
    scripts
}

/// Texts of settings that git hands to a shell.
pub(super) fn programs_of(settings: &ConfigPairs) -> Vec<String> {
    let mut scripts = Vec::new();
    for (key, value) in settings {
        let key = key.to_ascii_lowercase();
        let last = key.rsplit('.').next().unwrap_or_default();
        if key.starts_with("alias.") {
            scripts.extend(value.strip_prefix('!').map(str::to_owned));
        } else if PROGRAM_KEYS.contains(&last) || key.starts_with("pager.") {
            scripts.push(value.trim_start_matches('!').to_owned());
        }
    }
    scripts
}
