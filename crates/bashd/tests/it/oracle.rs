//! Real bash is the oracle: stdout, stderr, status and files are those of plain `bash -c`.
//!
//! The cases are data, in `tests/cases/oracle/`. Each is run by plain bash and by the library, in
//! the same directory with the same environment, on separate streams and before any reply mapping.
//! The second test does the same with a comment at the end that makes the command too long for one
//! argument of `execve`.

use crate::engine_under_test::{Ran, engine, run_apart};
use bashd::exec::Exit;
use bashd_testkit::Home;
use bashd_testkit::cases::{self, OracleCase};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// More than Linux takes as one argument (128 KiB).
const PADDING: usize = 140_000;

/// Everything that a case did.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    ran: Ran,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

#[test]
fn scripts_behave_as_under_plain_bash() {
    let cases = corpus();
    assert!(cases.len() >= 150, "only {} cases", cases.len());
    compare_all(&cases, |case| case.script.clone());
}

#[test]
fn p_08_commands_longer_than_one_argument_behave_as_short_ones() {
    let cases: Vec<_> = corpus().into_iter().filter(|(_, case)| case.pad).collect();
    assert!(cases.len() >= 150, "only {} cases", cases.len());
    compare_all(&cases, |case| {
        format!("{}\n# {}", case.script, "x".repeat(PADDING))
    });
}

fn corpus() -> Vec<(String, OracleCase)> {
    cases::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/oracle"))
}

/// Runs each case by plain bash, and what `script_of` makes of it by the library; all must be
/// equal.
fn compare_all(cases: &[(String, OracleCase)], script_of: impl Fn(&OracleCase) -> String) {
    let home = Home::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let engine = runtime.block_on(async { engine(&home) });
    let cwd = home.workspace().join("case");
    let mut differences = Vec::new();
    for (id, case) in cases {
        let expected = in_fresh(&cwd, || plain_bash(case, &home, &cwd));
        let stdin = case.stdin.clone().map(String::into_bytes);
        let ours = in_fresh(&cwd, || {
            runtime.block_on(run_apart(&engine, script_of(case), stdin, &cwd))
        });
        if ours != expected {
            differences.push(format!("{id}\n{}", describe(&expected, &ours)));
        }
    }
    let (shown, count) = (differences.iter().take(20), differences.len());
    let shown: Vec<&str> = shown.map(String::as_str).collect();
    assert!(
        count == 0,
        "{count} of {} cases differ:\n{}",
        cases.len(),
        shown.join("\n")
    );
}

/// Runs `run` with `cwd` made anew, and gathers the files that it left there.
fn in_fresh(cwd: &Path, run: impl FnOnce() -> Ran) -> Done {
    if cwd.exists() {
        fs::remove_dir_all(cwd).expect("the case's directory can be removed");
    }
    fs::create_dir(cwd).expect("the case's directory can be made");
    let ran = run();
    let mut files = BTreeMap::new();
    gather(cwd, cwd, &mut files);
    Done { ran, files }
}

fn gather(directory: &Path, root: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory)
        .expect("the case's directory can be read")
        .flatten()
    {
        let path = entry.path();
        let kind = entry.file_type().expect("a file's type");
        let content = if kind.is_dir() {
            gather(&path, root, files);
            Vec::new()
        } else if kind.is_symlink() {
            fs::read_link(&path)
                .expect("a link")
                .into_os_string()
                .into_encoded_bytes()
        } else {
            fs::read(&path).expect("a file of the case")
        };
        let name = path.strip_prefix(root).expect("below the root").to_owned();
        files.insert(name, content);
    }
}

fn plain_bash(case: &OracleCase, home: &Home, cwd: &Path) -> Ran {
    let output = Command::new("bash")
        .arg("-c")
        .arg(&case.script)
        .env_clear()
        .envs(home.env())
        .current_dir(cwd)
        .stdin(stdin_of(case))
        .output()
        .expect("bash is there");
    let signal = output.status.signal().map(Exit::Signal);
    let code = output.status.code().map(Exit::Code);
    Ran {
        stdout: output.stdout,
        stderr: output.stderr,
        exit: code.or(signal).expect("a status"),
    }
}

fn stdin_of(case: &OracleCase) -> Stdio {
    let Some(text) = &case.stdin else {
        return Stdio::null();
    };
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(text.as_bytes())
        .expect("a temporary file can be written");
    file.rewind().expect("a file can be rewound");
    file.into()
}

/// Where two outcomes differ, short enough to read.
fn describe(expected: &Done, ours: &Done) -> String {
    let show = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let start: String = text.chars().take(300).collect();
        format!("{start:?} ({} bytes)", bytes.len())
    };
    let mut lines = Vec::new();
    for (name, bash, bashd) in [
        ("stdout", &expected.ran.stdout, &ours.ran.stdout),
        ("stderr", &expected.ran.stderr, &ours.ran.stderr),
    ] {
        if bash != bashd {
            lines.push(format!(
                "  {name}: bash  {}\n  {name}: bashd {}",
                show(bash),
                show(bashd)
            ));
        }
    }
    if expected.ran.exit != ours.ran.exit {
        lines.push(format!(
            "  exit: bash {:?}, bashd {:?}",
            expected.ran.exit, ours.ran.exit
        ));
    }
    if expected.files != ours.files {
        let names = |done: &Done| done.files.keys().cloned().collect::<Vec<_>>();
        lines.push(format!(
            "  files: bash {:?}, bashd {:?}",
            names(expected),
            names(ours)
        ));
    }
    lines.join("\n")
}
