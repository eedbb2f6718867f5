//! Which commands wrote a text, and whether the exit status speaks for them.

use super::invocation::Invocation;
use super::{Unchanged, families, machine_format, words};
use bashd_script::script::{
    CommandOrigin, Construct, Joint, RedirectOperator, Script, SimpleCommand,
};
use std::collections::HashSet;

/// What a script says about the text that it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptReading {
    /// The commands that wrote it, without those that print next to nothing.
    pub(crate) commands: Vec<Invocation>,
    /// Whether exit status 0 means that each of them succeeded.
    pub(crate) status: StatusMeaning,
}

/// Whom the exit status speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusMeaning {
    /// Status 0 says that every command of interest succeeded.
    Theirs,
    /// It may be another command's.
    Unsure,
}

/// Last stages of a pipeline that show lines of what the first one printed.
const PASSING: &str = "\
    cat head tail tee less more grep egrep fgrep rg";

/// Last stages whose lines are text, but not the first one's.
const TEXT: &str = "\
    sort uniq column wc nl tac fold expand fmt ts";

/// Finds which commands wrote a text; an error says why it must stay as it is.
pub(crate) fn read(script: &Script) -> Result<ScriptReading, Unchanged> {
    if script.bound.is_some() {
        return Err(Unchanged::Unread);
    }
    // `$TOOL build`: what follows an unknown name is not a command of its own.
    let is_unknown = |command: &SimpleCommand| {
        let first = command.words.first();
        first.is_some_and(|word| word.known().is_none())
            && !command.place.inside.contains(Construct::Substitution)
    };
    if script.commands.iter().any(is_unknown) {
        return Err(Unchanged::UnknownCommand);
    }
    let leaves: Vec<&SimpleCommand> = leaves(script).collect();
    let certain_from = certain_from(&leaves);
    let mut reading = ScriptReading {
        commands: Vec::new(),
        status: if may_be_masked(script) {
            StatusMeaning::Unsure
        } else {
            StatusMeaning::Theirs
        },
    };
    for command in leaves.iter().copied().filter(|command| is_shown(command)) {
        let followers = leaves.iter().copied();
        let last = followers
            .filter(|other| other.place.pipeline == command.place.pipeline)
            .max_by_key(|other| other.place.stage)
            .unwrap_or(command);
        let Some(invocation) = Invocation::of(command) else {
            if command.words.is_empty() {
                continue;
            }
            return Err(Unchanged::UnknownCommand);
        };
        if machine_format::is_asked(&invocation) {
            return Err(Unchanged::MachineFormat);
        }
        if machine_format::has_colours_for_marks(&invocation) {
            return Err(Unchanged::Colours);
        }
        // Its lines are those of the stages before it.
        if command.place.stage > 0 && is_one_of(PASSING, command) {
            continue;
        }
        if last.place.stage > command.place.stage {
            match passes(last) {
                Passing::Lines => reading.status = StatusMeaning::Unsure,
                Passing::OtherText => continue,
                Passing::Unknown => return Err(Unchanged::UnknownPipeline),
            }
        } else if command.place.reads_pipe && command.place.stage == 0 {
            // The body of a loop or group that reads a pipe.
            return Err(Unchanged::UnknownPipeline);
        }
        if invocation.is_quiet() {
            continue;
        }
        if !speaks_for(command, certain_from) || !passes_status_on(script, command) {
            reading.status = StatusMeaning::Unsure;
        }
        reading.commands.push(invocation);
    }
    if reading.commands.iter().any(Invocation::prints_content) {
        return Err(Unchanged::Content);
    }
    Ok(reading)
}

/// Commands after which a name may mean something else, or a status be another: they set traps, or
/// define what only the shell that reads them knows.
const MASKING: &str = "trap alias eval source . enable hash builtin";

/// Constructs that have a status of their own, wherever they stand: a command after them, or
/// before, says nothing about it. `case` may have one without any command in it.
const WITH_A_STATUS: [Construct; 6] = [
    Construct::Negation,
    Construct::Function,
    Construct::Test,
    Construct::Arithmetic,
    Construct::Condition,
    Construct::Coprocess,
];

/// Whether something in the script may change what a status means, or what a name stands for.
fn may_be_masked(script: &Script) -> bool {
    let has = |construct: &Construct| script.constructs.contains(*construct);
    WITH_A_STATUS.iter().any(has) || script.commands.iter().any(masks)
}

/// Whether a command may change what a status means, or what a name stands for.
pub(crate) fn masks(command: &SimpleCommand) -> bool {
    let name = command.name().unwrap_or_default();
    let is_activation = matches!(name, "source" | ".")
        && command.arguments().first().is_some_and(|file| {
            let file = file.known().unwrap_or_default();
            file.ends_with("bin/activate")
        });
    words::has(MASKING, name) && !is_activation
}

/// Programs that end with the status of what they start, or with another that is not 0.
const PASSING_ON: &str = "\
    env genv sudo doas timeout gtimeout nice ionice chrt taskset nohup time command exec stdbuf \
    bash sh dash zsh ksh caffeinate flock npx pnpx bunx npm pnpm yarn bun uv uvx poetry pipenv \
    pdm rye hatch pixi pipx bundle conda mamba micromamba";

/// Whether the status of a command becomes that of what started it.
fn passes_status_on(script: &Script, command: &SimpleCommand) -> bool {
    let mut origin = command.origin;
    // Each starter comes before what it starts.
    while let CommandOrigin::StartedBy(index) | CommandOrigin::ScriptOf(index) = origin {
        let Some(starter) = script.commands.get(index) else {
            return false;
        };
        let name = starter.name().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or(name);
        if !words::has(PASSING_ON, name) {
            return false;
        }
        origin = starter.origin;
    }
    true
}

/// The commands that start no other one and whose output is not used as a value.
fn leaves(script: &Script) -> impl Iterator<Item = &SimpleCommand> {
    let several = read_in_several_ways(script);
    let starters: HashSet<usize> = script
        .commands
        .iter()
        .filter_map(|command| match command.origin {
            CommandOrigin::StartedBy(index) | CommandOrigin::ScriptOf(index) => Some(index),
            CommandOrigin::Written => None,
        })
        .filter(|index| !several.contains(index))
        .collect();
    let commands = script.commands.iter().enumerate();
    commands
        .filter(move |(index, command)| {
            let is_a_way = matches!(command.origin, CommandOrigin::StartedBy(index) if several.contains(&index));
            !starters.contains(index) && !is_a_way
        })
        .map(|(_, command)| command)
        .filter(|command| {
            let inside = command.place.inside;
            !inside.contains(Construct::Substitution) && !inside.contains(Construct::Function)
        })
}

/// Commands with a word of several values (`for n in 2 5 9; do sed -i s/a/b/ $n; done`). The guard
/// reads each in every way, and says that the command starts itself, and some of its arguments. It
/// was one command, whatever its word was.
fn read_in_several_ways(script: &Script) -> HashSet<usize> {
    let starts_itself = |command: &SimpleCommand| {
        let CommandOrigin::StartedBy(index) = command.origin else {
            return None;
        };
        let name = script.commands.get(index)?.name()?;
        let is_itself = command.name() == Some(name) && !words::has(PASSING_ON, name);
        is_itself.then_some(index)
    };
    script.commands.iter().filter_map(starts_itself).collect()
}

/// Whether its stdout goes where the script's goes.
fn is_shown(command: &SimpleCommand) -> bool {
    !command.redirects.iter().any(|redirect| {
        let is_stdout = redirect
            .descriptor
            .as_deref()
            .is_none_or(|descriptor| descriptor == "1");
        match redirect.operator {
            RedirectOperator::Write | RedirectOperator::Clobber | RedirectOperator::Append => {
                is_stdout
            }
            RedirectOperator::WriteBoth | RedirectOperator::AppendBoth => true,
            _ => false,
        }
    })
}

enum Passing {
    Lines,
    OtherText,
    Unknown,
}

fn passes(last: &SimpleCommand) -> Passing {
    if is_one_of(PASSING, last) {
        Passing::Lines
    } else if is_one_of(TEXT, last)
        || Invocation::of(last).is_some_and(|last| families::find(&last).is_some())
    {
        Passing::OtherText
    } else {
        Passing::Unknown
    }
}

fn is_one_of(names: &str, command: &SimpleCommand) -> bool {
    command.name().is_some_and(|name| words::has(names, name))
}

/// The first pipeline after which everything is joined by `&&`: status 0 says that all of them
/// succeeded.
fn certain_from(leaves: &[&SimpleCommand]) -> u32 {
    let is_break =
        |command: &&&SimpleCommand| !matches!(command.place.joint, Joint::And | Joint::Pipe);
    let breaks = leaves.iter().filter(is_break);
    breaks
        .map(|command| command.place.outermost_pipeline)
        .max()
        .unwrap_or(0)
}

/// Whether the script's status 0 says that this command succeeded.
fn speaks_for(command: &SimpleCommand, certain_from: u32) -> bool {
    let place = command.place;
    let uncertain = [
        Construct::Loop,
        Construct::Condition,
        Construct::Subshell,
        Construct::Group,
        Construct::Coprocess,
    ];
    let is_inside = |construct: &Construct| place.inside.contains(*construct);
    !place.background
        && !uncertain.iter().any(is_inside)
        && place.outermost_pipeline >= certain_from
        && place.joint != Joint::Or
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(command: &str) -> Result<ScriptReading, Unchanged> {
        read(&Script::parse(command))
    }

    fn programs(command: &str) -> Vec<String> {
        let commands = reading(command).unwrap().commands;
        commands
            .into_iter()
            .map(|command| command.program)
            .collect()
    }

    #[test]
    fn launchers_are_seen_through() {
        for (command, program) in [
            ("RUST_LOG=debug cargo +nightly test", "cargo"),
            ("sudo -u x apt-get install y", "apt-get"),
            ("npx --yes jest tests", "jest"),
            ("python3 -m pytest -q", "pytest"),
            ("python3.11 -W error -m pip install x", "pip"),
            ("uv run --with x pytest", "pytest"),
            ("cd /tmp && timeout 60 make -j2", "make"),
            ("env A=1 nice -n 5 /usr/bin/gcc-12 a.c", "gcc"),
            ("bash -c 'cargo build'", "cargo"),
            ("npm exec -- eslint .", "eslint"),
            ("yarn jest", "jest"),
            ("./gradlew build", "gradle"),
            ("git log | cat", "git"),
            ("cargo test 2>&1 | tail -50", "cargo"),
            ("cargo test 2>&1 | grep -v Compiling | tail -50", "cargo"),
            ("for f in *; do tsc -p $f; done", "tsc"),
            ("make > /dev/null; npm ci", "npm"),
            ("sed -i s/a/b/ x && make", "make"),
            ("make clean; make -j4", "make"),
            ("flake8 src", "flake8"),
            (
                "for n in 2 5 9; do sed -i s/0/1/ tests/part$n.js; done; bun test",
                "bun",
            ),
            ("for p in a b c; do cargo test -p $p; done", "cargo"),
        ] {
            assert_eq!(programs(command), [program], "{command}");
        }
        assert_eq!(
            programs("git add -A && cargo test && echo done"),
            ["git", "cargo"]
        );
    }

    #[test]
    fn status_speaks_only_for_what_it_is_of() {
        for (command, status) in [
            ("cargo test", StatusMeaning::Theirs),
            ("cd x && cargo test", StatusMeaning::Theirs),
            ("true; cargo test", StatusMeaning::Theirs),
            ("rm -rf x; cargo build && cargo test", StatusMeaning::Theirs),
            ("cargo build; cargo test", StatusMeaning::Unsure),
            ("cargo build && cargo test || true", StatusMeaning::Unsure),
            ("cargo test & wait", StatusMeaning::Unsure),
            ("cargo test; echo $?", StatusMeaning::Unsure),
            ("cargo test | tail", StatusMeaning::Unsure),
            ("cargo test || true", StatusMeaning::Unsure),
            ("true || cargo test", StatusMeaning::Unsure),
            ("for i in 1 2; do cargo test; done", StatusMeaning::Unsure),
            ("! cargo test", StatusMeaning::Unsure),
            ("(cargo test)", StatusMeaning::Unsure),
            ("trap 'exit 0' EXIT; cargo test", StatusMeaning::Unsure),
            ("trap \"exit 0\" EXIT && cargo test", StatusMeaning::Unsure),
            (
                "cargo() { command cargo \"$@\" || true; }; cargo test",
                StatusMeaning::Unsure,
            ),
            ("function cargo { :; }\ncargo test", StatusMeaning::Unsure),
            (
                "alias cargo='cargo || true' && cargo test",
                StatusMeaning::Unsure,
            ),
            (
                "shopt -s expand_aliases; alias pytest='pytest||:'; pytest",
                StatusMeaning::Unsure,
            ),
            ("eval 'cargo test'", StatusMeaning::Unsure),
            ("source ./helpers.sh && cargo test", StatusMeaning::Unsure),
            ("source .venv/bin/activate && pytest", StatusMeaning::Theirs),
            (
                "find . -name Cargo.toml -exec cargo test \\;",
                StatusMeaning::Unsure,
            ),
            (
                "find . -name Cargo.toml -execdir cargo test +",
                StatusMeaning::Unsure,
            ),
            ("script -c 'cargo test' /dev/null", StatusMeaning::Unsure),
            ("watch -g cargo test", StatusMeaning::Unsure),
            ("xargs cargo test < crates", StatusMeaning::Unsure),
            ("su -c 'cargo test'", StatusMeaning::Unsure),
            ("bash -c 'cargo test; true'", StatusMeaning::Unsure),
            ("bash -c 'cargo test || true'", StatusMeaning::Unsure),
            ("bash -c 'cargo test'", StatusMeaning::Theirs),
            ("sudo timeout 9 env A=1 cargo test", StatusMeaning::Theirs),
            ("{ cargo test; } || true", StatusMeaning::Unsure),
            ("coproc cargo test", StatusMeaning::Unsure),
            ("npx jest", StatusMeaning::Theirs),
            ("uv run pytest", StatusMeaning::Theirs),
            ("docker run --rm rust cargo test", StatusMeaning::Unsure),
            ("ssh host cargo test", StatusMeaning::Unsure),
            ("parallel cargo test ::: a b", StatusMeaning::Unsure),
            ("if cargo test; then :; fi", StatusMeaning::Unsure),
            ("cargo test; exit 0", StatusMeaning::Unsure),
            ("cargo test && exit 0", StatusMeaning::Theirs),
            ("echo $(cargo test)", StatusMeaning::Theirs),
        ] {
            // What can't be read whole stays as it is, which is as careful.
            let found = reading(command).map_or(StatusMeaning::Unsure, |reading| reading.status);
            assert_eq!(found, status, "{command}");
        }
    }

    /// The tool is not the last that was executed, though no other command is.
    #[test]
    fn tests_and_arithmetic_have_a_status_of_their_own() {
        for command in [
            "cargo test; (( 1 ))",
            "cargo test || (( $? == 101 ))",
            "cargo test; [[ $? -ne 77 ]]",
            "cargo test || [[ $? == 101 ]]",
            "cargo test; [[ -n x ]]",
            "cd . && cargo test || [[ x ]]",
            "sh -c \"cargo test\" || [[ 1 ]]",
            "bash -c 'cargo test; (( 1 ))'",
            "bash -c 'cargo test; [[ 1 ]]'",
            "bash -c 'cargo test; case x in y) ;; esac'",
            "time cargo test; (( 1 ))",
            "cargo test && (( 1 )) || [[ a ]]",
            "cargo test; case x in y) ;; esac",
            "cargo test; case x in esac",
            "set -u\ncargo test\n(( 2 > 1 ))",
            "cargo test; if [[ x ]]; then (( 1 )); fi",
            "cargo test; ( (( 1 )) )",
            "cargo test; { [[ 1 ]]; }",
            "cargo test; for x in; do :; done",
            "cargo test; for ((;0;)); do :; done",
            "cargo test; x=1",
            "cargo test; > out",
            "cargo test; let x=1",
            "cargo test; f() { :; }",
        ] {
            let found = reading(command).map_or(StatusMeaning::Unsure, |reading| reading.status);
            assert_eq!(found, StatusMeaning::Unsure, "{command}");
        }
    }

    #[test]
    fn what_is_not_for_a_model_stays() {
        for (command, why) in [
            ("cargo test --message-format=json", Unchanged::MachineFormat),
            ("git status --porcelain", Unchanged::MachineFormat),
            ("git diff --color-words", Unchanged::Colours),
            ("git log -p --color-words=. -1", Unchanged::Colours),
            ("git show --word-diff=color HEAD", Unchanged::Colours),
            ("git diff --color-moved=zebra", Unchanged::Colours),
            ("git log | python3 count.py", Unchanged::UnknownPipeline),
            (
                "git ls-files | while read f; do wc -l $f; done",
                Unchanged::UnknownPipeline,
            ),
            ("cat src/main.rs", Unchanged::Content),
            ("git show HEAD:src/main.rs", Unchanged::Content),
            ("sed -n 1,80p a.py", Unchanged::Content),
            ("$TOOL build", Unchanged::UnknownCommand),
        ] {
            assert_eq!(reading(command).unwrap_err(), why, "{command}");
        }
    }

    #[test]
    fn what_is_consumed_is_not_counted() {
        assert_eq!(programs("x=$(git log); make"), ["make"]);
        assert_eq!(programs("tail -n 100 /var/log/dpkg.log"), ["tail"]);
        assert!(programs("cargo build > log 2>&1").is_empty());
    }
}
