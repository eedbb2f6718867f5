//! The user's own rules in the configuration file: `[[rules]]`, read and tried on their examples.

use super::ConfigFile;
use crate::error::{Error, ErrorKind, Result};
use crate::guard::UserRule;
use serde::Deserialize;

/// The table of the file that is not a key with a value.
pub(super) const TABLE: &str = "rules";

/// The file as far as rules go.
#[derive(Deserialize)]
struct Rules {
    #[serde(default)]
    rules: Vec<UserRule>,
}

/// Reads the rules of a file, and tries each on its examples.
pub(super) fn read(file: &ConfigFile) -> Result<Vec<UserRule>> {
    let complain = |problem: &str| {
        let text = format!("`rules` in {}: {problem}", file.path.display());
        Error::new(ErrorKind::Config, text)
    };
    let Rules { rules } =
        toml::from_str(&file.text).map_err(|error| complain(error.to_string().trim_end()))?;
    let mut names: Vec<&str> = Vec::new();
    for rule in &rules {
        if names.contains(&rule.name.as_str()) || crate::guard::rule(&rule.name).is_some() {
            return Err(complain(&format!("the name `{}` is taken", rule.name)));
        }
        if let Some(problem) = rule.problem() {
            return Err(complain(&problem));
        }
        names.push(&rule.name);
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Vec<UserRule>> {
        read(&ConfigFile {
            path: "/c.toml".into(),
            text: text.to_owned(),
        })
    }

    const GOOD: &str = "profile = 'voice'\n[[rules]]\nname = 'no-destroy'\ndecision = 'deny'\n\
        message = 'ask the team'\ncommand = ['terraform', 'tofu']\nsubcommand = 'destroy'\n\
        examples.deny = ['sudo tofu -chdir=x destroy', 'terraform destroy']\n\
        examples.allow = ['terraform plan', 'echo terraform destroy']\n";

    #[test]
    fn rules_are_read_with_their_examples() {
        let rules = load(GOOD).unwrap();
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].name, "no-destroy");
        assert!(load("profile = 'voice'").unwrap().is_empty());
    }

    #[test]
    fn each_bad_rule_is_named() {
        let twice = GOOD.to_owned() + GOOD.split_once('\n').unwrap().1;
        for (text, message) in [
            (
                GOOD.replace("terraform plan", "terraform destroy x"),
                "matches \"terraform destroy x\"",
            ),
            (
                GOOD.replace("'terraform destroy'", "'terraform apply'"),
                "does not match its example",
            ),
            (GOOD.replace("no-destroy", "no_mkfs"), "`no_mkfs` is taken"),
            (
                GOOD.replace("message = 'ask the team'", ""),
                "has no message",
            ),
            (GOOD.replace("subcommand", "sub_command"), "sub_command"),
            (GOOD.replace("'deny'", "'never'"), "never"),
            (
                GOOD.replace("subcommand = 'destroy'", "regex = 'x'"),
                "or by regex",
            ),
            (
                GOOD.replace(
                    "command = ['terraform', 'tofu']\nsubcommand = 'destroy'",
                    "regex = '('",
                ),
                "regex",
            ),
            (twice, "`no-destroy` is taken"),
        ] {
            let error = load(&text).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nfor {message}");
            assert!(error.contains("/c.toml"), "{error}");
        }
    }
}
