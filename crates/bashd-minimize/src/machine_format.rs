//! Options that ask for a format for programs: such output is never touched.

use super::invocation::Invocation;
use super::words;

/// Options that ask for it by themselves.
const ALONE: &str = "\
    --json -json --jsonl --ndjson --porcelain --xml --csv --tsv --yaml --toml --sarif --null \
    --print0 -print0 -z --parseable --parsable --machine-readable --raw --jq --template \
    --printf -printf --format --pretty-format --porcelain-v2 --outputjson --message-format \
    --nul --show-format --query-format";

/// Options that ask for it by some of their values.
const BY_VALUE: &str = "\
    -o --output --output-format --out --reporter --reporters --format --log-format -f \
    --formatter --message-format --pretty --report -F --error-format";

/// Values that people read.
const FOR_PEOPLE: &str = "\
    text wide human full concise grouped stylish compact pretty short medium fuller oneline \
    verbose default dot spec plain table list tree columns progress basic";

/// Values that name a machine-readable format.
const FOR_MACHINES: &str = "\
    json jsonl ndjson yaml yml xml csv tsv sarif junit tap jsonpath go-template name \
    custom-columns checkstyle gitlab github azure rdjson cyclonedx spdx dot-graph porcelain";

/// Whether a command was asked for such a format.
pub(super) fn is_asked(invocation: &Invocation) -> bool {
    if invocation.program == "cargo" && invocation.subcommand() == "metadata" {
        return true;
    }
    let mut arguments = invocation.arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        let (option, value) = match argument.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (
                argument.as_str(),
                arguments.peek().map(|next| next.as_str()),
            ),
        };
        if !option.starts_with('-') {
            continue;
        }
        let value = value.unwrap_or_default();
        let is_for_people = words::has(FOR_PEOPLE, value);
        if words::has(ALONE, option) && !is_for_people && !is_innocent(invocation, option) {
            return true;
        }
        if words::has(BY_VALUE, option) && names_machine_format(value) {
            return true;
        }
    }
    false
}

/// Whether a command was asked to mark what changed by colours alone: without them a word that is
/// gone looks like one that is there.
pub(super) fn has_colours_for_marks(invocation: &Invocation) -> bool {
    let asks = |argument: &String| {
        let (option, value) = argument.split_once('=').unwrap_or((argument.as_str(), ""));
        matches!(option, "--color-words" | "--color-moved")
            || option == "--word-diff" && value == "color"
    };
    invocation.program == "git" && invocation.arguments.iter().any(asks)
}

/// `format:%H`, `json`, `jsonpath={…}`
fn names_machine_format(value: &str) -> bool {
    let name = value.split(['=', ':', ',']).next().unwrap_or(value);
    words::has(FOR_MACHINES, name) || value.starts_with("format:") || value.starts_with("tformat:")
}

/// Options that mean something else in some programs.
fn is_innocent(invocation: &Invocation, option: &str) -> bool {
    // Compression, archives with NUL bytes between names, and configuration files.
    let program = invocation.program.as_str();
    matches!(option, "-z" | "--null") && matches!(program, "tar" | "rsync" | "curl" | "ssh")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashd_script::script::Script;

    fn asked(command: &str) -> bool {
        let script = Script::parse(command);
        is_asked(&Invocation::of(script.commands.first().unwrap()).unwrap())
    }

    #[test]
    fn formats_for_programs_are_known() {
        for command in [
            "git status --porcelain=v2",
            "git log --pretty=format:%H",
            "git log --format=%s",
            "git diff -z",
            "kubectl get pods -o json",
            "kubectl get pods -o jsonpath='{.items}'",
            "docker ps --format '{{.ID}}'",
            "eslint --format json .",
            "ruff check --output-format=json",
            "go test -json ./...",
            "find . -print0",
            "pip list --format=json",
            "cargo metadata",
            "terraform show -json",
        ] {
            assert!(asked(command), "{command}");
        }
    }

    #[test]
    fn formats_for_people_are_not() {
        for command in [
            "git log --pretty=fuller",
            "git log --oneline",
            "kubectl get pods -o wide",
            "ruff check --output-format concise .",
            "eslint --format stylish",
            "gcc -o app a.c",
            "make -f Makefile",
            "tar -xzf a.tgz",
            "cargo test -- --nocapture",
        ] {
            assert!(!asked(command), "{command}");
        }
    }
}
