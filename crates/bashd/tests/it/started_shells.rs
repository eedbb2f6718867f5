//! Shells that were started ahead: same as new ones, used once, passed over where they don't suit.

use crate::engine_under_test::bytes;
use crate::profile_under_test::{copy_profile, profiles_dir, running, wait_until_nothing_runs};
use bashd::exec::Exit;
use bashd::plan::{Resources, Streams};
use bashd::{Config, Engine, KeeperSource, Request, Surroundings};
use bashd_testkit::Home;
use bashd_testkit::cases::{self, OracleCase};
use rustix::fs::Mode;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A limit that a test never reaches unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// An engine with one started shell at hand, and a profile that adds nothing of its own.
fn engine(home: &Home) -> Engine {
    let words = [("[shell]\n", "[shell]\nwarm = true\n")];
    copy_profile(home, "phoenix", "warmed", &words);
    engine_with(home, |config| {
        config.profiles_dir = Some(profiles_dir(home));
    })
}

/// The same as the configuration says, as changed.
fn engine_with(home: &Home, change: impl FnOnce(&mut Config)) -> Engine {
    let mut config = Config::new(home.state());
    config.started_shells = 1;
    change(&mut config);
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}

fn request(script: &str) -> Request {
    Request::new(script).profile("warmed")
}

/// The pid of the shell that waits, once it has been started.
fn waiting(home: &Home) -> Option<i32> {
    let begun = Instant::now();
    while running(home).is_empty() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
    running(home).first().map(|shell| shell.pid)
}

/// All that wait, where much else may run: known by their loader.
fn waiting_among_others(home: &Home) -> Vec<i32> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let names = fs::read_dir("/proc").expect("/proc").flatten();
        let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let has = |pid: i32, file: &str, text: &str| {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(text)
        };
        let is_one = |pid: &i32| {
            has(*pid, "cmdline", "BASH_EXECUTION_STRING") && has(*pid, "environ", home.mark())
        };
        let shells: Vec<i32> = pids.filter(is_one).collect();
        if !shells.is_empty() {
            return shells;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Vec::new()
}

/// Whether a process has not ended. One that was collected has no directory.
fn is_there(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn a_started_shell_is_used_once() {
    let home = Home::new();
    let engine = engine(&home);
    let first = engine.run(request("echo $$; x=1")).await;
    let mut last = first.output;
    for _ in 0..5 {
        let expected = waiting(&home).expect("a shell that waits");
        let reply = engine.run(request("echo $$; echo \"[$x]\"")).await;
        assert_eq!(reply.output, format!("{expected}\n[]\n"), "{reply:?}");
        assert_ne!(reply.output, last);
        last = reply.output;
    }
}

#[tokio::test]
async fn what_does_not_suit_gets_a_new_shell() {
    let home = Home::new();
    let engine = engine(&home);
    fs::create_dir(home.workspace().join("sub")).expect("a directory");
    for (request, expected) in [
        (request("echo $V; true").env("V", "set"), "set\n".to_owned()),
        (request("cat; true").stdin("typed"), "typed".to_owned()),
        (
            request("pwd; true").cwd("sub"),
            format!("{}\n", home.workspace().join("sub").display()),
        ),
        (
            request("ulimit -t; true").resources(Resources::default().cpu_seconds(77)),
            "77\n".to_owned(),
        ),
        (request("printf ok"), "ok".to_owned()),
    ] {
        engine.run(self::request("true")).await;
        let reply = engine.run(request).await;
        assert_eq!(reply.output, expected, "{reply:?}");
    }
    // A directory that is another one under the same name.
    let sub = home.workspace().join("sub");
    engine.run(request("true").cwd("sub")).await;
    fs::rename(&sub, home.workspace().join("old")).expect("a directory");
    fs::create_dir(&sub).expect("a directory");
    let reply = engine.run(request("touch here; true").cwd("sub")).await;
    assert_eq!(reply.exit_code, Some(0), "{reply:?}");
    assert!(sub.join("here").exists());
}

#[tokio::test]
async fn umask_and_limits_are_those_of_the_engines_start_in_every_shell() {
    let before = rustix::process::umask(Mode::from_raw_mode(0o027));
    let home = Home::new();
    let engine = engine(&home);
    engine.run(request("true")).await;
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let shell = waiting(&home).expect("a shell that waits");
    let script = "umask; ulimit -a; true";
    let cold = engine.run(request(script).env("V", "another")).await;
    let warm = engine.run(request(&format!("echo $$; {script}"))).await;
    rustix::process::umask(before);
    assert!(cold.output.starts_with("0027\n"), "{cold:?}");
    assert_eq!(warm.output, format!("{shell}\n{}", cold.output));
}

#[tokio::test]
async fn limits_hold_in_a_started_shell_and_only_for_calls_that_have_them() {
    let home = Home::new();
    let engine = engine(&home);
    let limited = |script| request(script).resources(Resources::default().cpu_seconds(77));
    let script = "echo $$; ulimit -t; true";
    engine.run(limited("true")).await;
    let shell = waiting(&home).expect("a shell that waits");
    let reply = engine.run(limited(script)).await;
    assert_eq!(reply.output, format!("{shell}\n77\n"), "{reply:?}");
    assert_eq!(reply.limits.expect("its limits").cpu_seconds, Some(77));
    let limited_shell = waiting(&home).expect("a shell that waits");
    let free = engine.run(request(script)).await;
    assert!(!free.output.ends_with("\n77\n"), "{free:?}");
    assert!(!free.output.starts_with(&format!("{limited_shell}\n")));
    assert_eq!(free.limits, None);
}

#[tokio::test]
async fn a_shell_that_its_limits_end_before_its_use_changes_no_reply() {
    let home = Home::new();
    let engine = engine(&home);
    let starved = || request("echo works; true").resources(Resources::default().memory_bytes(4096));
    let of = |reply: bashd::Reply| (reply.exit_code, reply.signal, reply.output, reply.error);
    // The first has a new shell, for lack of another.
    let first = of(engine.run(starved()).await);
    for _ in 0..3 {
        assert_eq!(of(engine.run(starved()).await), first);
    }
    let free = engine.run(request("echo works; true")).await;
    assert_eq!(free.output, "works\n", "{free:?}");
}

#[tokio::test]
async fn a_started_shell_that_was_killed_is_passed_over() {
    let home = Home::new();
    let engine = engine(&home);
    engine.run(request("true")).await;
    waiting(&home);
    for shell in running(&home) {
        shell.kill();
        shell.wait_for_end(Duration::from_secs(10));
    }
    let reply = engine.run(request("echo works; true")).await;
    assert_eq!(
        (&*reply.output, reply.exit_code),
        ("works\n", Some(0)),
        "{reply:?}"
    );
}

#[tokio::test]
async fn it_ends_with_its_engine() {
    let home = Home::new();
    let engine = engine(&home);
    engine.run(request("true")).await;
    assert!(waiting(&home).is_some());
    drop(engine);
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn it_steps_aside_for_what_a_new_shell_runs_better() {
    let home = Home::new();
    let engine = engine(&home);
    engine.run(request("true")).await;
    let shell = waiting(&home).expect("a shell that waits");
    let shell_now = || running(&home).first().map(|shell| shell.pid);
    for (request, expected) in [
        // What does not parse: bash's own words about it are those of `-c`.
        (request("echo 'no end"), "bash: -c: line 1: "),
        (
            request(&format!("{}fi", "[[ $$ ]] || exit 1\n".repeat(300))),
            "bash: -c: line 301: syntax error near unexpected token `fi'\n",
        ),
        (
            request(&format!(
                "{}echo 'no end",
                "[[ $$ ]] || exit 1\n".repeat(300)
            )),
            "bash: -c: line 301: unexpected EOF while looking for matching `''\n",
        ),
        // What is an option to bash.
        (request("-o nothing_of_that_name; true"), "bash: -"),
        // One program: bash becomes it.
        (request("/bin/echo one"), "one\n"),
        (request("printenv V; true").env("V", "its own"), "its own\n"),
    ] {
        let reply = engine.run(request).await;
        assert!(reply.output.starts_with(expected), "{reply:?}");
        assert_eq!(shell_now(), Some(shell), "it was used for {reply:?}");
    }
    let killed = engine.run(request("/bin/sh -c 'kill -9 $$'")).await;
    assert_eq!(
        (killed.signal, &*killed.output),
        (Some(9), ""),
        "{killed:?}"
    );
    assert_eq!(shell_now(), Some(shell));
    let used = engine.run(request("echo $$; true")).await;
    assert_eq!(used.output, format!("{shell}\n"));
}

#[tokio::test]
async fn with_a_snapshot_one_program_runs_in_a_started_shell_too() {
    let home = Home::new();
    fs::write(home.home().join(".bashrc"), "greet() { echo hello; }\n").expect("an rc file");
    let engine = engine_with(&home, |config| config.rc_script = Some(true));
    let request = |script: &str| Request::new(script);
    assert_eq!(engine.run(request("greet")).await.output, "hello\n");
    let shell = waiting(&home).expect("a shell that waits");
    let reply = engine.run(request("sh -c 'echo $PPID'")).await;
    assert_eq!(reply.output, format!("{shell}\n"));
    // By its path, nothing of the snapshot can be meant: the shell becomes it.
    let shell = waiting(&home).expect("the next one");
    let reply = engine.run(request("/bin/sh -c 'echo $$'")).await;
    assert_eq!(reply.output, format!("{shell}\n"));
    waiting(&home).expect("the next one");
    assert_eq!(engine.run(request("greet")).await.output, "hello\n");
}

#[tokio::test]
async fn a_shell_with_a_snapshot_becomes_a_program_as_plain_bash_does() {
    let home = Home::new();
    fs::write(home.home().join(".bashrc"), "greet() { echo hello; }\n").expect("an rc file");
    let engine = engine_with(&home, |config| config.rc_script = Some(true));
    let scripts = [
        "/usr/bin/printenv _ SHLVL",
        "/bin/echo \"a  b\" 'c d' $((1 + 1))",
        "/bin/cat /no/such 2>&1",
        "/bin/ls > /no/such/file",
        "/bin/sh -c 'kill -9 $$'",
        "/no/such",
        "/etc/passwd",
        "/bin",
    ];
    for script in scripts {
        let (mut written, err, exit) = plain_bash(script, &home, &home.workspace());
        written.extend(err);
        let written = String::from_utf8(written).expect("text");
        for shell in ["a new shell", "a started shell"] {
            let reply = engine.run(Request::new(script)).await;
            let ours = match reply.signal {
                Some(signal) => Exit::Signal(signal),
                None => Exit::Code(reply.exit_code.expect("a status")),
            };
            assert_eq!(
                (reply.output, ours),
                (written.clone(), exit),
                "{script} in {shell}"
            );
            waiting(&home).expect("the next one");
        }
    }
}

#[tokio::test]
async fn a_function_of_the_snapshot_may_have_a_programs_path() {
    let home = Home::new();
    let rc = "/bin/echo() { builtin echo mine; }\n";
    fs::write(home.home().join(".bashrc"), rc).expect("an rc file");
    let engine = engine_with(&home, |config| config.rc_script = Some(true));
    for _ in 0..2 {
        let reply = engine.run(Request::new("/bin/echo theirs")).await;
        assert_eq!(reply.output, "mine\n");
        waiting(&home).expect("the next one");
    }
}

/// Texts that are known to differ: `docs/sessions.md` lists them.
fn is_known_to_differ(case: &OracleCase) -> bool {
    let script = &case.script;
    // The last is about descriptors that this process may have been given itself.
    ["set -x", "xtrace", "$_", "kill -", "set -v", ">&9"]
        .iter()
        .any(|text| script.contains(text))
}

/// Longer than what the parsers are asked about.
const LONG: usize = 5 << 10;

#[test]
fn scripts_behave_as_under_plain_bash_in_a_started_shell() {
    let cases = oracle_cases(|_| true);
    let warm = run_as_under_plain_bash(&cases);
    let used = warm.len();
    assert!(used >= 150, "only {used} of {} ran warm", cases.len());
}

#[test]
fn long_scripts_behave_as_under_plain_bash_in_a_started_shell() {
    let mut cases = oracle_cases(|case| case.pad);
    for (_, case) in &mut cases {
        case.script = format!("{}\n# {}", case.script, "x".repeat(LONG));
    }
    let warm = run_as_under_plain_bash(&cases);
    let used = warm.len();
    assert!(used >= 240, "only {used} of {} ran warm", cases.len());
}

#[test]
fn long_scripts_of_many_lines_run_in_a_started_shell() {
    let cases: Vec<(String, OracleCase)> = many_lines()
        .into_iter()
        .map(|(name, script)| {
            let case = OracleCase {
                name: name.to_owned(),
                script,
                stdin: None,
                pad: false,
            };
            (name.to_owned(), case)
        })
        .collect();
    let warm = run_as_under_plain_bash(&cases);
    let names: Vec<&str> = cases.iter().map(|(name, _)| &**name).collect();
    assert_eq!(warm, names);
}

/// Scripts with more bytes or more operators than the parsers are asked about, and what comes at
/// their ends.
fn many_lines() -> Vec<(&'static str, String)> {
    let lines =
        |count, line: fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().concat();
    let tests = lines(100, |n| {
        format!("v{n}=$((v{n} + {n})); [[ $v{n} ]] || exit 1\n")
    });
    let steps = lines(60, |n| {
        format!(
            "# step {n}\nif [ -e /none/{n} ]; then\n  echo \"it's $n\"\nelse\n  last=\"step {n}\"\nfi\n"
        )
    });
    let files = lines(40, |n| {
        format!("cat > f{n} <<'EOF'\nif ( not a mistake {n}\n`\nEOF\ncat f{n} | tail -n 1\n")
    });
    let functions = lines(60, |n| {
        format!("f{n}() {{ local a=\"$1\"; case $a in {n}) return 1;; *) (( a > {n} )); esac; }}\n")
    });
    let pipes = "echo a | tr a b | cat && true || false; ".repeat(60);
    [
        ("tests", tests, ""),
        (
            "tests_fail",
            "v=1; [[ $v ]] || exit 1\n".repeat(100),
            "[[ $w ]] || exit 7\n",
        ),
        ("steps", steps.clone(), "echo \"$last $LINENO\""),
        ("no_command", steps.clone(), "none_of_that_name a; echo $?"),
        ("errexit", format!("set -e\n{steps}"), "false\necho never"),
        (
            "nounset",
            format!("set -u\n{steps}"),
            "echo $none\necho never",
        ),
        (
            "arithmetic_error",
            steps.clone(),
            "echo $((1 / 0))\necho after",
        ),
        (
            "bad_substitution",
            steps.clone(),
            "echo ${last y}\necho after",
        ),
        (
            "exit_trap",
            format!("trap 'echo bye $?' EXIT\n{steps}"),
            "exit 5",
        ),
        ("here_docs", files, "ls | wc -l"),
        (
            "functions",
            functions,
            "f3 3; echo $?; f3 9; echo $? ${FUNCNAME[0]} $BASH_SUBSHELL",
        ),
        ("pipes", pipes, "echo ${PIPESTATUS[@]} $0 $# $-"),
        (
            "text",
            steps,
            "echo ${#BASH_EXECUTION_STRING}; return 3; echo $?",
        ),
    ]
    .map(|(name, beginning, end)| (name, beginning + end))
    .into()
}

/// The cases of the corpus that are known to behave in the same way.
fn oracle_cases(filter: impl Fn(&OracleCase) -> bool) -> Vec<(String, OracleCase)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/oracle");
    cases::load::<OracleCase>(&corpus)
        .into_iter()
        .filter(|(_, case)| case.stdin.is_none() && !is_known_to_differ(case) && filter(case))
        .collect()
}

/// Runs scripts, each with a shell that waits, and compares them with plain bash. Tells which of
/// them used that shell.
fn run_as_under_plain_bash(cases: &[(String, OracleCase)]) -> Vec<&str> {
    let home = Home::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let engine = runtime.block_on(async { engine(&home) });
    let cwd = home.workspace().join("case");
    fs::create_dir(&cwd).expect("a directory");
    let mut differences: Vec<String> = Vec::new();
    let mut warm = Vec::new();
    // The shell that the first of them finds.
    let before = request("true").cwd(&cwd);
    let before = runtime.block_on(engine.run_unjudged(&before, Streams::Apart));
    before.expect("a run");
    for (id, case) in cases {
        clear(&cwd);
        let expected = plain_bash(&case.script, &home, &cwd);
        clear(&cwd);
        let request = request(&case.script).cwd(&cwd);
        let shells = waiting_among_others(&home);
        let run = runtime.block_on(engine.run_unjudged(&request, Streams::Apart));
        let run = run.expect("a run");
        let err = run.err.as_ref().expect("stderr is apart");
        let ours = (bytes(&run.out), bytes(err), run.exit);
        if shells.into_iter().any(|shell| !is_there(shell)) {
            warm.push(&**id);
        }
        if ours != expected {
            differences.push(difference(id, case, &expected, &ours));
        }
    }
    drop((engine, runtime));
    wait_until_nothing_runs(&home);
    // What cases left running has become jobs.
    fs::remove_dir_all(home.state().join("runs")).expect("runs");
    assert!(
        differences.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
    warm
}

/// Stdout, stderr and how it ended.
type Seen = (Vec<u8>, Vec<u8>, Exit);

fn difference(id: &str, case: &OracleCase, expected: &Seen, ours: &Seen) -> String {
    let begun = |text: &str| text.chars().take(200).collect::<String>();
    let show = |bytes: &[u8]| begun(&String::from_utf8_lossy(bytes));
    format!(
        "{id}: {:?}\n  bash:  {:?} {:?} {:?}\n  bashd: {:?} {:?} {:?}",
        begun(&case.script),
        show(&expected.0),
        show(&expected.1),
        expected.2,
        show(&ours.0),
        show(&ours.1),
        ours.2
    )
}

/// Empties a directory, which stays the same one.
fn clear(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if entry.file_type().expect("a type").is_dir() {
            fs::remove_dir_all(path).expect("a directory");
        } else {
            fs::remove_file(path).expect("a file");
        }
    }
}

fn plain_bash(script: &str, home: &Home, cwd: &Path) -> (Vec<u8>, Vec<u8>, Exit) {
    let output = Command::new("bash")
        .args(["-c", script])
        .env_clear()
        .envs(home.env())
        .current_dir(cwd)
        .stdin(Stdio::null())
        .output()
        .expect("bash is there");
    let signal = output.status.signal().map(Exit::Signal);
    let exit = output.status.code().map(Exit::Code).or(signal);
    (output.stdout, output.stderr, exit.expect("a status"))
}
