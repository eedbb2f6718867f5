//! `run --on` and the library at a place of kind `pipe`: the same replies as here, and what happens
//! when carriers and outposts are killed, lie, or never answer.

mod again;
mod jobs;
mod output;
mod promises;
mod shown;
mod stalled;
mod upload;

use crate::console::over_ssh::Sshd;
use bashd::place::{PlaceKind, PlaceSettings};
use bashd::{Config, Engine, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::processes::with_variable;
use bashd_testkit::{Binary, Home, MARK, Transcript, repetitions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant, SystemTime};

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Rounds of a soak run.
const ROUNDS: usize = 100;

/// A home whose configuration has the place `there`, and what its outpost may leave.
fn home_with(carrier: &[&str], more: &str) -> Home {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let words: Vec<String> = carrier.iter().map(|word| format!("{word:?}")).collect();
    let command = words.join(", ");
    let text = format!("[places.there]\nkind = \"pipe\"\ncommand = [{command}]\n{more}");
    fs::write(home.config().join("config.toml"), text).unwrap();
    home
}

/// A carrier that is an outpost's, and leaves soon.
fn carrier() -> [&'static str; 4] {
    [env!("CARGO_BIN_EXE_bashd"), "outpost", "--idle", "0.3"]
}

/// A carrier that first writes its process id to a file in the test's `TMPDIR`.
const NOTED: &str = "echo $$ >> \"$TMPDIR/carriers\"; exec \"$@\"";

fn noted_carrier() -> Vec<&'static str> {
    [&["sh", "-c", NOTED, "sh"], &carrier()[..]].concat()
}

fn on<'home>(home: &'home Home, arguments: &[&str]) -> Binary<'home> {
    crate::bashd(home, &[&["run", "--on", "there"], arguments].concat())
}

/// The ids of all carriers so far.
fn carriers(home: &Home) -> Vec<i32> {
    let text = fs::read_to_string(home.tmp().join("carriers")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(pid: i32) {
    // It may be gone already.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

/// Stops a process, and waits until none of its threads does anything more.
fn stop(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
    let is_stopped = |stat: String| {
        let state = stat.rsplit(") ").next().map(|rest| rest.starts_with('T'));
        state.unwrap_or(false)
    };
    wait_until("a stop", || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let mut stats = tasks.map(|task| fs::read_to_string(task.path().join("stat")));
        stats.all(|stat| stat.is_ok_and(is_stopped))
    });
}

fn reply_of(shown: &Transcript) -> Value {
    serde_json::from_str(&shown.out()).unwrap_or_else(|_| panic!("{}", shown.err()))
}

#[test]
fn a_command_at_a_place_has_the_reply_that_it_has_here() {
    let home = home_with(&carrier(), "");
    let same = [
        "echo hello; echo oops >&2; exit 3",
        "kill -9 $$",
        "nosuchprogram",
        "printf 'no newline'",
        "seq 1 100000",
        "head -c 300000 /dev/zero | tr '\\0' x",
        "cd / && pwd",
        "echo $VALUE",
        "printf '\\377\\376 bytes'",
    ];
    for script in same {
        let asked = ["--json", "--env", "VALUE=7", "--cwd", "/", script];
        let mut here = reply_of(&crate::shown(&home, &[&["run"], &asked[..]].concat()));
        let asked = ["--json", "--env", "VALUE=7", script];
        let mut there = reply_of(&on(&home, &asked).run());
        assert_eq!(there["place"], "there", "{script}");
        for reply in [&mut here, &mut there] {
            let fields = reply.as_object_mut().unwrap();
            // Numbers of artifacts go on from call to call.
            let shown = fields["text"].as_str().unwrap().split("artifact://").next();
            fields["text"] = shown.unwrap().into();
            for own in ["place", "wall_ms", "artifact", "output", "result"] {
                fields.remove(own);
            }
        }
        assert_eq!(there, here, "{script}");
    }
    let asked = on(&home, &["--stdin", "-", "wc -c"]).stdin("x".repeat(100_000));
    assert_eq!(asked.run().out().trim(), "100000");
}

#[test]
fn deadlines_and_cancelling_hold_at_a_place() {
    let home = home_with(&carrier(), "");
    let late = on(&home, &["--timeout", "0.3", "echo begun; sleep 60"]).run();
    assert_eq!(late.code(), Some(124), "{}", late.err());
    assert!(late.out().contains("begun"), "{}", late.out());
    let mut child = on(&home, &["touch begun; sleep 60"]).spawn();
    wait_until("the command", || home.home().join("begun").exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    // The leak check sees that nothing of it runs on.
}

/// Starts a run whose stdin has ended.
fn spawned(asked: &Binary<'_>) -> Child {
    let mut child = asked.spawn();
    drop(child.stdin.take());
    child
}

/// Waits for the end of a run; its output, and its status.
fn ended(mut child: Child) -> (String, Option<i32>) {
    let mut text = String::new();
    let mut out = child.stdout.take().unwrap();
    std::io::Read::read_to_string(&mut out, &mut text).unwrap();
    (text, child.wait().unwrap().code())
}

#[test]
fn a_killed_carrier_changes_no_status_loses_no_byte_and_runs_nothing_twice() {
    let home = home_with(&noted_carrier(), "");
    let marks = home.workspace().join("marks");
    let script = format!(
        "echo $BASHD_RUN >> {}; echo first; sleep 0.4; seq 1 3000; exit 7",
        marks.display()
    );
    let expected = {
        let shown = crate::shown(&home, &["run", &script]);
        assert_eq!(shown.code(), Some(7));
        shown.out()
    };
    let rounds = repetitions(ROUNDS);
    for round in 0..rounds {
        let before = carriers(&home).len();
        let child = spawned(&on(&home, &[&script]).stdin(""));
        wait_until("a carrier", || carriers(&home).len() > before);
        // At another moment each time: before the order, while it runs, at its end.
        std::thread::sleep(Duration::from_millis((round as u64 * 97) % 600));
        kill(carriers(&home)[before]);
        let (text, status) = ended(child);
        assert_eq!((text.len(), status), (expected.len(), Some(7)), "{text}");
        let ids = fs::read_to_string(&marks).unwrap();
        assert_eq!(ids.lines().count(), round + 2, "each ran once: {ids}");
    }
    fs::remove_file(home.tmp().join("carriers")).unwrap();
}

#[test]
fn a_killed_outpost_leaves_an_end_that_nobody_knows() {
    let carrier = carrier();
    let home = home_with(&carrier, "patience_seconds = 1\n");
    let asked = [
        "--json",
        "echo begun; echo $PPID > \"$TMPDIR/shell\"; sleep 60",
    ];
    let child = spawned(&on(&home, &asked).stdin(""));
    wait_until("the command", || home.tmp().join("shell").exists());
    outposts(&home).into_iter().for_each(kill);
    let (text, status) = ended(child);
    let reply: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &reply["exit_code"]),
        (Some(125), &Value::Null),
        "{text}"
    );
    let error = reply["error"].as_str().unwrap();
    assert!(
        error.contains("it is not known how the command ended at the place `there`"),
        "{error}"
    );
    fs::remove_file(home.tmp().join("shell")).unwrap();
}

#[test]
fn what_a_carrier_says_and_its_status_are_shown_and_are_no_command_s() {
    for (script, said) in [
        (
            "echo 'ssh: no route to host' >&2; exit 7",
            "no route to host (exit status: 7)",
        ),
        ("echo Welcome to the machine; exec sleep 60", "a frame of "),
        ("exit 0", "no outpost answers"),
        ("exec cat /dev/zero", "no outpost answers"),
        ("exec cat /dev/urandom", "no outpost answers"),
        ("exec sleep 60", "did not answer within 1 s"),
    ] {
        let home = home_with(&["sh", "-c", script], "connect_seconds = 1\n");
        let begun = Instant::now();
        let shown = on(&home, &["--json", "touch ran"]).run();
        let reply = reply_of(&shown);
        assert_eq!(
            (shown.code(), &reply["exit_code"]),
            (Some(125), &Value::Null),
            "{script}"
        );
        let error = reply["error"].as_str().unwrap();
        assert!(
            error.contains(said) && error.contains("`there`"),
            "{script}: {error}"
        );
        assert!(begun.elapsed() < Duration::from_secs(20), "{script}");
    }
}

#[test]
fn what_a_place_does_not_have_is_refused_before_anything_runs() {
    let more = "[places.there.map]\n\"/somewhere\" = \"/\"\n";
    let home = home_with(&["false"], more);
    for (arguments, said) in [
        (
            &["--on", "nowhere", "true"][..],
            "there is no place `nowhere` (there are: there)",
        ),
        (
            &["--on", "there", "--cwd", "/usr", "true"],
            "/usr is mapped to no directory of the place `there`",
        ),
    ] {
        let shown = crate::shown(&home, &[&["run"], arguments].concat());
        let text = shown.out() + &shown.err();
        assert_eq!(shown.code(), Some(125), "{text}");
        assert!(text.contains(said), "{text}");
    }
    let shown = on(&home, &["rm -rf /"]).run();
    assert_eq!(shown.code(), Some(126), "the near guard judges first");
    // An address of something that is here, in the command and in a variable.
    assert_eq!(
        crate::shown(&home, &["run", "seq 1 100000"]).code(),
        Some(0)
    );
    for input in [
        r#"{"command": "cat artifact://0", "on": "there"}"#,
        r#"{"command": "cat $F", "env": {"F": "artifact://0"}, "on": "there"}"#,
    ] {
        let shown = crate::shown(&home, &["run", "--input", input]);
        let text = shown.out() + &shown.err();
        let said = "an address, which is a path of this machine, is not available";
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_directory_is_mapped_and_variables_are_passed_by_name() {
    let home = home_with(&carrier(), "pass = [\"PASSED\"]\n");
    let there = home.home().join("there");
    fs::create_dir(&there).unwrap();
    let mut text = fs::read_to_string(home.config().join("config.toml")).unwrap();
    let (near, far) = (home.workspace(), there.clone());
    writeln!(text, "[places.there.map]\n{near:?} = {far:?}").unwrap();
    fs::write(home.config().join("config.toml"), text).unwrap();
    let asked = on(&home, &["pwd; echo $PASSED-$KEPT"]);
    let shown = asked.env("PASSED", "yes").env("KEPT", "no").run();
    // The first carrier's variables are the outpost's: they came with the login.
    assert!(
        shown
            .out()
            .starts_with(&format!("{}\nyes-", there.display())),
        "{}",
        shown.out()
    );
}

/// What is ours to work on is mapped, like the directory; without that nothing runs.
#[test]
fn a_confined_command_writes_the_workspace_of_there_and_nothing_else() {
    let home = home_with(&carrier(), "");
    let confined = ["--confine", "workspace", "echo x >made; echo y >~/taken"];
    let refused = on(&home, &confined).run();
    assert_eq!(refused.code(), Some(125), "{}", refused.err());
    let text = refused.out() + &refused.err();
    assert!(text.contains("places.there.map"), "{text}");
    let far = home.root().join("far");
    fs::create_dir(&far).unwrap();
    let map = format!("map = {{ {:?} = {far:?} }}\n", home.workspace());
    let file = home.config().join("config.toml");
    let text = fs::read_to_string(&file).unwrap();
    let more = "env.preset = \"basic\"\n";
    fs::write(&file, format!("{more}{text}{map}")).unwrap();
    let shown = on(&home, &confined).env("CANARY_OF_LOGIN", "1").run();
    assert_eq!(
        fs::read_to_string(far.join("made")).unwrap(),
        "x\n",
        "{}",
        shown.err()
    );
    assert!(!home.home().join("taken").exists());
    // Which variables commands get holds there, too.
    let env = on(&home, &["env"]).env("CANARY_OF_LOGIN", "1").run();
    assert!(
        env.out().contains("PATH=") && !env.out().contains("CANARY"),
        "{}",
        env.out()
    );
}

#[test]
fn one_outpost_serves_all_carriers_and_then_leaves() {
    let [program, outpost, idle, _] = carrier();
    let home = home_with(&[program, outpost, idle, "1"], "");
    // Ids of orders are kept for a week.
    let orders = home.state().join("outpost/orders");
    fs::create_dir_all(&orders).unwrap();
    for (name, days) in [("old", 8), ("young", 6)] {
        let id = fs::File::create(orders.join(name)).unwrap();
        let made = SystemTime::now() - Duration::from_hours(days * 24);
        id.set_modified(made).unwrap();
    }
    for _ in 0..repetitions(ROUNDS) {
        assert_eq!(on(&home, &["true"]).run().code(), Some(0));
        assert!(outposts(&home).len() <= 1);
    }
    wait_until("its end", || outposts(&home).is_empty());
    let left = fs::read_dir(home.state().join("outpost"))
        .unwrap()
        .flatten();
    let names = left.map(|entry| entry.file_name().into_string().unwrap());
    let sockets: Vec<String> = names.filter(|name| name.starts_with("outpost-")).collect();
    assert_eq!(sockets, [""; 0]);
    let left = fs::read_dir(orders).unwrap().flatten();
    let names: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["young"]);
}

/// The outposts of a home.
fn outposts(home: &Home) -> Vec<i32> {
    let serves = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--serve")
    };
    let marked = with_variable(MARK, home.mark()).into_iter();
    marked.map(|process| process.pid).filter(serves).collect()
}

/// An engine with the place `there`, which this carrier reaches.
fn engine_with(home: &Home, carrier: &[&str], change: impl FnOnce(&mut Config)) -> Engine {
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let mut config = Config::new(home.state());
    let command = carrier.iter().map(|word| (*word).to_owned()).collect();
    config.places = vec![PlaceSettings::new("there", PlaceKind::Pipe { command })];
    config.sessions.idle = Some(Duration::from_secs(1));
    change(&mut config);
    Engine::new(config, surroundings, KeeperSource::Hook).unwrap()
}

#[test]
fn a_session_lives_at_a_place_and_many_runs_share_a_carrier() {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = engine_with(&home, &carrier(), |_| {});
        let call = |text: &str| {
            let request = Request::new(text).session("s").on("there");
            engine.run(request)
        };
        let first: Reply = call("cd /usr; value=7; f() { echo f:$value; }").await;
        assert_eq!(first.exit_code, Some(0), "{}", first.text);
        assert_eq!(call("pwd; f").await.output, "/usr\nf:7\n");
        let many = (0..20).map(|number| {
            engine.run(Request::new(format!("sleep 0.2; echo {number}")).on("there"))
        });
        let begun = Instant::now();
        let replies = futures::future::join_all(many).await;
        for (number, reply) in replies.iter().enumerate() {
            assert_eq!(reply.output, format!("{number}\n"));
        }
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "one after the other"
        );
        let long = engine.run(Request::new("seq 1 1000000").on("there")).await;
        assert_eq!(
            (long.output_bytes, long.output_lines),
            (6_888_896, 1_000_000)
        );
        assert!(long.output.starts_with("1\n2\n") && long.output.ends_with("1000000\n"));
    });
}

/// A stand-in for ssh: prints what machines print, and has a shell run the last word.
const FAKE_SSH: &str = "#!/bin/sh\n\
    echo \"$@\" > \"$TMPDIR/asked\"\n\
    for last; do :; done\n\
    head -c 1000000 /dev/zero | tr '\\0' m\n\
    echo; echo 'Welcome to big'; echo 'rc: noise' >&2\n\
    exec sh -c \"$last\"\n";

#[test]
fn ssh_gets_one_line_and_what_the_machine_prints_first_is_passed_over() {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let bin = home.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let idle = format!(
        "#!/bin/sh\nexec {} outpost --idle 0.3\n",
        env!("CARGO_BIN_EXE_bashd")
    );
    put_program(&bin.join("ssh"), FAKE_SSH);
    put_program(&bin.join("bashd-there"), &idle);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let ask = |there: &str| {
        let text = format!("[places.there]\nkind = 'ssh'\nhost = 'me@big'\nbin = '{there}'\n");
        fs::write(home.config().join("config.toml"), text).unwrap();
        on(&home, &["echo hello; exit 3"]).env("PATH", &path).run()
    };
    let shown = ask("bashd-there");
    assert_eq!(
        (&*shown.out(), shown.code()),
        ("hello\n[exit code 3]", Some(3)),
        "{}",
        shown.err()
    );
    let asked = fs::read_to_string(home.tmp().join("asked")).unwrap();
    for word in [
        "-Tax ",
        "-oClearAllForwardings=yes",
        "-oBatchMode=yes",
        "-oControlPath=none",
        "-- me@big exec /bin/sh",
    ] {
        assert!(asked.contains(word), "{asked}");
    }
    let missing = ask("bashd-nowhere");
    let text = missing.out() + &missing.err();
    assert_eq!(missing.code(), Some(125), "{text}");
    assert!(
        text.contains("bashd-nowhere") && text.contains("not found"),
        "{text}"
    );
    fs::remove_file(home.tmp().join("asked")).unwrap();
}

fn put_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, all).unwrap();
}

#[test]
fn a_real_ssh_carries_commands_and_its_death_changes_nothing() {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let Some(sshd) = Sshd::start(&home) else {
        return;
    };
    let bin = home.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let options = sshd.login.strip_prefix("ssh ").unwrap();
    let options = options.strip_suffix(" 127.0.0.1").unwrap();
    let ssh =
        format!("#!/bin/sh\necho $$ >> \"$TMPDIR/carriers\"\nexec /usr/bin/ssh {options} \"$@\"\n");
    put_program(&bin.join("ssh"), &ssh);
    // ssh carries no variables: the test's own home is set over there.
    let exports = home
        .env()
        .into_iter()
        .map(|(name, value)| format!("export {}='{}'\n", name.display(), value.display()));
    let exports: String = exports.collect();
    let program = env!("CARGO_BIN_EXE_bashd");
    let there = bin.join("bashd-there");
    put_program(
        &there,
        &format!("#!/bin/sh\n{exports}exec {program} outpost --idle 0.3\n"),
    );
    let text = format!(
        "[places.there]\nkind = 'ssh'\nhost = '127.0.0.1'\nbin = '{}'\n",
        there.display()
    );
    fs::write(home.config().join("config.toml"), text).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let asked = ["echo begun > \"$TMPDIR/begun\"; sleep 1; seq 1 3000; exit 7"];
    let child = spawned(&on(&home, &asked).env("PATH", &path).stdin(""));
    wait_until("the command", || home.tmp().join("begun").exists());
    carriers(&home).into_iter().for_each(kill);
    let (text, status) = ended(child);
    assert_eq!((text.lines().count(), status), (3001, Some(7)), "{text}");
    assert_eq!(carriers(&home).len(), 2, "it was reached again");
    // A host whose key is not known: ssh's own words, and nothing runs.
    let unknown =
        format!("#!/bin/sh\nexec /usr/bin/ssh -oStrictHostKeyChecking=yes {options} \"$@\"\n");
    put_program(&bin.join("ssh"), &unknown);
    let shown = on(&home, &["--json", "true"]).env("PATH", &path).run();
    let reply = reply_of(&shown);
    assert_eq!(
        (shown.code(), &reply["exit_code"]),
        (Some(125), &Value::Null)
    );
    let error = reply["error"].as_str().unwrap();
    assert!(error.contains("Host key verification failed"), "{error}");
    for left in ["carriers", "begun"] {
        fs::remove_file(home.tmp().join(left)).unwrap();
    }
}
