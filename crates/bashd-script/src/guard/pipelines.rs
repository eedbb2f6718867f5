//! Who feeds whom in a script: pipelines, substitutions, interpreters that run what they read.

use crate::script::{Beginnings, Construct, NameSet, Script, SimpleCommand, Word, WordPart};
use std::sync::LazyLock;

/// Programs that run a script in a shell's language.
pub(super) const SHELLS: [&str; 10] = [
    "bash", "sh", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "fish", "busybox",
];

/// Programs that run a script in another language.
pub(super) const INTERPRETERS: [&str; 14] = [
    "python",
    "python3",
    "python2",
    "perl",
    "ruby",
    "node",
    "php",
    "deno",
    "bun",
    "lua",
    "pwsh",
    "osascript",
    "powershell",
    "iex",
];

/// What else runs a text that it is given.
pub(super) const RUNNERS: &[&str] = &[
    "eval", "source", ".", "xargs", "parallel", "ssh", "at", "batch",
];

/// How far apart in the text commands may stand that feed each other.
const MOST_APART: usize = 256;

/// The commands near one: those that feed it are among them.
pub(super) fn near(script: &Script, at: usize) -> &[SimpleCommand] {
    let end = (at + MOST_APART).min(script.commands.len());
    let near = script.commands.get(at.saturating_sub(MOST_APART)..end);
    near.unwrap_or_default()
}

/// Whether a command comes before another one in the same pipeline.
pub(super) fn feeds(source: &SimpleCommand, reader: &SimpleCommand) -> bool {
    // Commands of a script that is not literally in the text are all at the same place.
    let is_before = || {
        source.span == reader.span
            && source.place.pipeline == reader.place.pipeline
            && source.place.stage < reader.place.stage
    };
    reader.place.reads_pipe
        && reader.place.outermost_pipeline == source.place.outermost_pipeline
        // What stands around it runs it, and feeds it nothing.
        && (source.span.end <= reader.span.start || is_before())
}

/// Whether a command runs what it reads from its input.
pub(super) fn runs_input(runner: &SimpleCommand) -> bool {
    let Some(name) = runner.name() else {
        return false;
    };
    let words = runner.arguments();
    let takes_input = |word: &Word| {
        matches!(
            word.known(),
            Some("-" | "-s" | "/dev/stdin" | "/proc/self/fd/0" | "/dev/fd/0")
        )
    };
    let is_operand = |word: &&Word| !word.known_beginning().starts_with(['-', '+']);
    let reads = words.iter().any(takes_input) || !words.iter().any(|word| is_operand(&word));
    let has_code = words.iter().any(|word| {
        matches!(
            word.known(),
            Some("-c" | "-e" | "-m" | "-n" | "-ne" | "-pe" | "-lc" | "--version")
        )
    });
    is_interpreter(name) && reads && !has_code
        || matches!(name, "source" | ".") && words.iter().any(takes_input)
        || matches!(name, "xargs" | "parallel") && runs_lines(words)
        || name == "ssh" && ends_with_shell(words)
        || matches!(name, "at" | "batch")
}

/// `xargs sh -c`, `xargs -I{} sh -c {}`
fn runs_lines(words: &[Word]) -> bool {
    let mut known = words.iter().filter_map(Word::known);
    let has_shell = known.any(is_shell);
    let Some((last, before)) = words.split_last() else {
        return false;
    };
    let has_place = words
        .iter()
        .any(|word| word.known_beginning().starts_with("-I"));
    let is_script = before.last().is_some_and(|word| word.is("-c"));
    has_shell && (last.is("-c") && !has_place || has_place && is_script && last.is("{}"))
}

/// `ssh host bash`, `ssh host 'sudo bash -s'`: the shell there reads what is piped in here.
fn ends_with_shell(words: &[Word]) -> bool {
    let texts: Vec<&str> = words.iter().skip(1).filter_map(Word::known).collect();
    let joined = texts.join(" ");
    let last = joined
        .split_whitespace()
        .rfind(|word| !matches!(*word, "-s" | "-" | "--" | "-e" | "-x"));
    last.is_some_and(is_shell) && texts.iter().any(|text| !text.is_empty())
}

/// Whether a program runs scripts in a shell's language.
pub(super) fn is_shell(name: &str) -> bool {
    SHELL_BEGINNINGS.may_have(name) && SHELLS.contains(&name)
}

static SHELL_BEGINNINGS: Beginnings = Beginnings::NONE.and(&SHELLS);

/// Whether a program runs scripts.
pub(super) fn is_interpreter(name: &str) -> bool {
    RUN_SCRIPTS.contains(name) || name.starts_with("python3.")
}

/// Their names, as a table: several rules ask for them, of the same command.
static RUN_SCRIPTS: LazyLock<NameSet> =
    LazyLock::new(|| SHELLS.into_iter().chain(INTERPRETERS).collect());

/// Whether a command may run what others print, into its input or its words.
pub(super) fn may_run(command: &SimpleCommand) -> bool {
    let is_runner = |name: &str| is_interpreter(name) || RUNNERS.contains(&name);
    may_be_fed(command) && command.name().is_some_and(is_runner)
}

/// Whether others may print into its input or its words. Most commands stand for themselves.
pub(super) fn may_be_fed(command: &SimpleCommand) -> bool {
    let targets = command.redirects.iter().map(|redirect| &redirect.target);
    let mut words = command.words.iter().chain(targets);
    command.place.reads_pipe || words.any(has_unknown)
}

/// Whether a substitution prints a part of a word, be it worked out from the text or not.
pub(super) fn has_unknown(word: &Word) -> bool {
    let is_unknown = |part: &WordPart| matches!(part, WordPart::Unknown { .. });
    word.is_worked_out || word.parts.iter().any(is_unknown)
}

/// Whether a command runs what another one, inside its words, prints: `bash <(curl …)`,
/// `sh -c "$(curl …)"`, `eval "$(curl …)"`.
pub(super) fn is_substituted(inner: &SimpleCommand, runner: &SimpleCommand) -> bool {
    // Most commands are in none: that is asked first, since every pair of neighbours is.
    if !inner.place.inside.contains(Construct::Substitution) {
        return false;
    }
    let Some(name) = runner.name() else {
        return false;
    };
    let in_words = || runner.arguments().iter().any(|word| holds(word, inner));
    // `bash < <(curl …)`, `bash <<< "$(curl …)"`
    let in_input = || {
        let mut redirects = runner.redirects.iter();
        redirects.any(|redirect| !redirect.operator.writes() && holds(&redirect.target, inner))
    };
    let takes_words = || is_interpreter(name) || matches!(name, "eval" | "source" | ".");
    let takes_input = || match name {
        "source" | "." => true,
        "xargs" | "parallel" => runs_input(runner),
        name => is_interpreter(name),
    };
    in_words() && takes_words() || in_input() && takes_input()
}

/// `curl … > >(bash)`: a runner stands in what another command writes to.
pub(super) fn is_written_to(source: &SimpleCommand, runner: &SimpleCommand) -> bool {
    let mut redirects = source.redirects.iter();
    runner.place.inside.contains(Construct::Substitution)
        && redirects.any(|redirect| redirect.operator.writes() && holds(&redirect.target, runner))
}

/// Whether a command stands inside a word that only running can tell.
pub(super) fn holds(word: &Word, inner: &SimpleCommand) -> bool {
    has_unknown(word) && word.span.start <= inner.span.start && inner.span.end <= word.span.end
}
