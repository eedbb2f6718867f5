//! Recorded outputs through the whole engine: a reply with less than that says so in its last line,
//! with the address of every byte, and every number in it, and in the notice of a window, holds.
//!
//! The outputs are those of the minimizer's own cases and those from outside, printed by programs
//! of their tools' names. They are shared out to several tests; `./soak` takes all of them, an
//! ordinary run every fourth.

use crate::engine_under_test;
use crate::minimize_calls::with_program;
use bashd::{Engine, Reply, Request};
use bashd_testkit::Home;
use bashd_testkit::repeat::is_soak;
use std::fs;
use std::path::{Path, PathBuf};

/// How many tests share the outputs.
const PARTS: usize = 8;

/// Names that are a shell's own: no program stands for them.
const BUILTINS: &[&str] = &[
    ".", "alias", "builtin", "cd", "command", "echo", "enable", "eval", "exec", "exit", "export",
    "for", "if", "kill", "printf", "read", "set", "source", "test", "time", "trap", "ulimit",
    "while",
];

/// A recorded run of one program without anything that only a shell understands.
struct RecordedRun {
    name: String,
    command: String,
    exit: i32,
    raw: Vec<u8>,
}

impl RecordedRun {
    /// The name of the program; nothing where it is not found on the `PATH`.
    fn program(&self) -> Option<&str> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./:,@+".contains(c);
        let program = self.command.split(' ').next()?;
        let is_found = !program.contains(['/', '=']) && !BUILTINS.contains(&program);
        (is_found && self.command.chars().all(is_plain)).then_some(program)
    }
}

fn inside(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    paths
}

/// The runs of the minimizer's own cases, and then those from outside.
fn recorded_runs() -> Vec<RecordedRun> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bashd-minimize/tests");
    let mut runs = Vec::new();
    for case in inside(&root.join("cases"))
        .iter()
        .flat_map(|tool| inside(tool))
    {
        let text = |file: &str| fs::read_to_string(case.join(file)).expect("a text");
        runs.push(RecordedRun {
            name: case.display().to_string(),
            command: text("command").trim_end().to_owned(),
            exit: text("exit").trim().parse().expect("a status"),
            raw: fs::read(case.join("raw")).expect("an output"),
        });
    }
    let outside = inside(&root.join("outside/recordings"));
    for file in outside.iter().flat_map(|tool| inside(tool)) {
        let bytes = fs::read(&file).expect("an output");
        let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
        let mut line = |before: &str| {
            let line = String::from_utf8_lossy(parts.next()?).into_owned();
            Some(line.strip_prefix(before)?.to_owned())
        };
        if let (Some(command), Some(exit)) = (line("$ "), line("exit ")) {
            runs.push(RecordedRun {
                name: file.display().to_string(),
                command,
                exit: exit.parse().expect("a status"),
                raw: parts.next().unwrap_or_default().to_vec(),
            });
        }
    }
    runs.retain(|run| run.program().is_some());
    runs
}

/// What was seen of a part's runs.
#[derive(Debug, Default)]
struct SeenReplies {
    whole: usize,
    shortened: usize,
    cut: usize,
}

async fn check_part(part: usize) {
    let home = Home::new();
    let engine = engine_under_test::engine(&home);
    let directory = home.workspace().join("programs");
    let step = if is_soak() { 1 } else { 4 };
    let mut seen = SeenReplies::default();
    let of_part = recorded_runs().into_iter().skip(part).step_by(PARTS);
    for run in of_part.step_by(step) {
        let program = run.program().expect("a program");
        fs::write(home.workspace().join("output"), &run.raw).expect("an output");
        let script = format!("/bin/cat \"$OUTPUT\"; exit {}", run.exit);
        with_program(&home, program, &script);
        let path = format!("{}:/usr/bin:/bin", directory.display());
        let output = home.workspace().join("output").display().to_string();
        let request = Request::new(&run.command).env("PATH", path);
        let reply = engine.run(request.env("OUTPUT", output)).await;
        fs::remove_file(directory.join(program)).expect("the program");
        if reply.denied.is_some() || reply.exit_code != Some(run.exit) {
            continue;
        }
        if !reply.output.contains("[minimized: ") {
            seen.whole += 1;
            continue;
        }
        seen.shortened += 1;
        seen.cut += usize::from(check_reply(&engine, &run, &reply));
    }
    assert!(seen.shortened * step * PARTS >= 160, "{seen:?}");
}

/// Checks everything that a reply says of what it does not show. Returns whether a window cut it.
fn check_reply(engine: &Engine, run: &RecordedRun, reply: &Reply) -> bool {
    let name = &run.name;
    let last = reply.output.lines().next_back().unwrap_or_default();
    let (said, address) = last.split_once("] [raw output: ").expect(name);
    assert!(said.starts_with("[minimized: "), "{name}: {last}");
    let number = address
        .strip_prefix("artifact://")
        .and_then(|rest| rest.strip_suffix(']'))
        .and_then(|number| number.parse().ok())
        .expect(name);
    let stored = engine.artifacts().path(number).expect("the artifact");
    assert_eq!(fs::read(stored).expect("its file"), run.raw, "{name}");
    let raw = String::from_utf8_lossy(&run.raw);
    let lines = raw.strip_suffix('\n').unwrap_or(&raw).split('\n').count();
    let lines = format!("raw text has {lines} lines");
    assert!(said.ends_with(&lines), "{name}: {lines}: {last}");
    let plain = bashd::minimize::plain_form(&raw).expect("a plain form");
    let plain: Vec<&str> = plain
        .strip_suffix('\n')
        .unwrap_or(&plain)
        .split('\n')
        .collect();
    if let Some((head, rest)) = reply.output.split_once("\n[bashd: ") {
        let (notice, tail) = rest.split_once('\n').expect(name);
        check_notice(name, reply, notice);
        // Lines of frames have other numbers than those of the raw text.
        if !said.contains("frames left out") {
            check_window(name, (&raw, &plain), reply, (head, tail));
        }
        return true;
    }
    assert_eq!((reply.omitted_bytes, reply.omitted_lines), (0, 0), "{name}");
    let missing = plain.len() - found_in(name, &plain, &lines_of(&reply.output));
    assert_eq!(left_out(said), missing, "{name}: {last}");
    false
}

/// The sum of what a last line says was left out.
fn left_out(said: &str) -> usize {
    let counts = said
        .split_once(": left out ")
        .map_or("", |(_, rest)| rest.split(';').next().unwrap_or_default());
    let counts = counts.split(", ").filter_map(|kind| kind.split(' ').next());
    counts.filter_map(|count| count.parse::<usize>().ok()).sum()
}

/// The lines that a shown text stands for, without notices.
fn lines_of(shown: &str) -> Vec<String> {
    let mut lines = bashd::minimize::rebuild(shown);
    lines.retain(|line| !line.starts_with(" [again ×"));
    lines
}

/// How many lines there are, each of which must be in the plain form, in its order.
fn found_in(name: &str, plain: &[&str], lines: &[String]) -> usize {
    let mut rest = plain.iter();
    for line in lines {
        assert!(rest.any(|other| other == line), "{name} has no {line:?}");
    }
    lines.len()
}

/// `1234 bytes (56 lines) left out here; …`
fn check_notice(name: &str, reply: &Reply, notice: &str) {
    let (bytes, lines) = (reply.omitted_bytes, reply.omitted_lines);
    let numbers = format!("{bytes} bytes ({lines} lines) left out here; ");
    assert!(notice.starts_with(&numbers), "{name}: {numbers}: {notice}");
    assert!(lines > 0 && bytes > 0, "{name}: {notice}");
}

/// The end is of the last lines, the start of the first ones, and as many lines and bytes of the
/// raw text as the reply says are between them.
fn check_window(
    name: &str,
    (raw, plain): (&str, &[&str]),
    reply: &Reply,
    (head, tail): (&str, &str),
) {
    let end = lines_of(tail);
    // From its end on, so that the first of them is found as late as it can be.
    let mut first = plain.len();
    for line in end.iter().rev() {
        let before = plain.get(..first).unwrap_or_default();
        let found = before.iter().rposition(|other| other == line);
        first = found.unwrap_or_else(|| panic!("{name}: the end has {line:?}"));
    }
    let omitted = reply.omitted_lines as usize;
    let before = first.checked_sub(omitted).expect(name);
    let between = raw.split_inclusive('\n').skip(before).take(omitted);
    let bytes: usize = between.map(str::len).sum();
    assert_eq!(
        reply.omitted_bytes as usize, bytes,
        "{name}: from line {before}"
    );
    let footer = tail.lines().next_back().unwrap_or_default();
    let mut start = lines_of(&format!("{head}\n{footer}\n"));
    // The very last one may be cut.
    start.pop();
    found_in(name, plain.get(..before).unwrap_or_default(), &start);
}

macro_rules! parts {
    ($($name:ident $part:literal)+) => { $(
        #[tokio::test]
        async fn $name() {
            check_part($part).await;
        }
    )+ };
}

parts! {
    every_number_of_a_shortened_reply_holds_1 0
    every_number_of_a_shortened_reply_holds_2 1
    every_number_of_a_shortened_reply_holds_3 2
    every_number_of_a_shortened_reply_holds_4 3
    every_number_of_a_shortened_reply_holds_5 4
    every_number_of_a_shortened_reply_holds_6 5
    every_number_of_a_shortened_reply_holds_7 6
    every_number_of_a_shortened_reply_holds_8 7
}
