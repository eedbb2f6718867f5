//! What one caller can make slow, or fill: it costs that caller, and nobody else.

use crate::rpc_under_test::{Client, PATIENCE, lines};
use crate::shown;
use bashd_testkit::processes::{Process, with_variable};
use bashd_testkit::{Home, MARK, loudly};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Mounts a FUSE that nobody serves: whoever asks it anything waits for as long as somebody has the
/// device open, which is the server itself.
const HUNG: &str = "exec 9<>/dev/fuse && mkdir hung && \
    mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hung hung || exit 99; exec \"$@\"";

/// Mounts something harmless.
const MOUNTED: &str = "mkdir mounted && mount -t tmpfs tmpfs mounted || exit 99; exec \"$@\"";

/// A server in a mount namespace of its own, after a script has mounted something in its workspace.
pub(crate) fn client_with(home: &Home, script: &str, arguments: &[&str]) -> Option<Client> {
    let rights = if geteuid().is_root() { "-m" } else { "-rm" };
    let wrapper = [
        "unshare",
        rights,
        "--propagation",
        "private",
        "bash",
        "-c",
        script,
        "bash",
    ];
    let mut client = Client::start_under(home, &wrapper, arguments);
    client.say(&json!({"id": "there", "type": "schema"}));
    if client.is_there("there") {
        return Some(client);
    }
    loudly("stalls: NOT tested, since nothing can be mounted here");
    None
}

pub(crate) fn call(id: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "call", "arguments": arguments})
}

fn bash(id: &str, command: &str) -> Value {
    json!({"id": id, "type": "bash", "command": command})
}

fn works(client: &mut Client, id: &str) -> Duration {
    let begun = Instant::now();
    let answer = client.ask(&bash(id, "echo fine"));
    assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
    begun.elapsed()
}

/// The names of a process's threads.
fn threads(process: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))
        .unwrap()
        .flatten();
    let name = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm")).ok();
    threads
        .filter_map(name)
        .map(|name| name.trim_end().to_owned())
        .collect()
}

#[test]
fn a_directory_that_does_not_answer_costs_only_the_call_that_named_it() {
    let home = Home::new();
    let Some(mut client) = client_with(&home, HUNG, &[]) else {
        return;
    };
    works(&mut client, "before");
    let hung = home.workspace().join("hung");
    let begun = Instant::now();
    client.say(&call(
        "hung",
        &json!({"command": "true", "cwd": hung, "timeout": 2}),
    ));
    client.say(&call(
        "cancelled",
        &json!({"command": "true", "cwd": hung, "timeout": 600}),
    ));
    for (id, arguments) in [
        (
            "below",
            json!({"command": "true", "cwd": hung.join("a/b"), "timeout": 2}),
        ),
        (
            "path",
            json!({"command": "true", "env": {"PATH": hung}, "timeout": 2}),
        ),
    ] {
        client.say(&call(id, &arguments));
    }
    for number in 0..5 {
        let took = works(&mut client, &format!("beside-{number}"));
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    client.say(&json!({"id": "end", "type": "cancel", "target": "cancelled"}));
    let cancelled = client.response("cancelled");
    assert_eq!(cancelled["data"]["cancelled"], true, "{cancelled}");
    assert!(begun.elapsed() < PATIENCE);
    for id in ["hung", "below"] {
        let answer = client.response(id);
        let error = answer["data"]["error"].as_str().unwrap_or_default();
        assert!(error.contains("does not answer"), "{id}: {answer}");
    }
    client.response("path");
    let late = begun.elapsed();
    assert!(late >= Duration::from_secs(2), "{late:?}");
    assert!(late < Duration::from_secs(20), "{late:?}");
    // Its threads are bounded, and told.
    for number in 0..40 {
        let arguments = json!({"command": "true", "cwd": hung, "timeout": 1});
        client.say(&call(&format!("many-{number}"), &arguments));
    }
    for number in 0..40 {
        client.response(&format!("many-{number}"));
    }
    let threads = threads(client.child.id());
    let stuck = threads.iter().filter(|name| *name == "bashd-hung").count();
    assert!((1..=8).contains(&stuck), "{threads:?}");
    let doctor = shown(&home, &["doctor"]).out();
    let line = doctor
        .lines()
        .find(|line| line.contains("hung threads"))
        .unwrap_or_default();
    assert!(
        line.contains(&format!("process {} has {stuck}", client.child.id())),
        "{doctor}"
    );
    works(&mut client, "after");
    client.close();
}

/// What is looked at after a call, or before anybody is asked, may not answer either.
#[test]
fn what_a_call_only_names_costs_nobody_else() {
    let home = Home::new();
    let confined = ["--set", "confinement.preset=workspace"];
    for arguments in [&[][..], &confined] {
        let Some(mut client) = client_with(&home, HUNG, arguments) else {
            return;
        };
        let hung = home.workspace().join("hung");
        let asked = if arguments.is_empty() {
            // Such a status may mean that this program is not there.
            json!({"command": format!("exit 127; {}/nosuch", hung.display()), "timeout": 20})
        } else {
            let needs = json!({"write": [hung.join("a")], "reason": "to try it"});
            json!({"command": "true", "needs": needs, "timeout": 2})
        };
        client.say(&call("names it", &asked));
        for number in 0..8 {
            let begun = Instant::now();
            client.ask(&json!({"id": format!("beside-{number}"), "type": "schema"}));
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(2), "{took:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        let answer = client.response("names it");
        if arguments.is_empty() {
            assert_eq!(answer["data"]["exit_code"], 127, "{answer}");
        } else {
            let error = answer["data"]["error"].as_str().unwrap_or_default();
            assert!(error.contains("does not answer"), "{answer}");
        }
        client.close();
        fs::remove_dir(&hung).unwrap();
    }
}

/// The program that leads to a place, and the one that is sent there, are found and loaded before
/// anything else: they may be what does not answer.
#[test]
fn a_program_of_a_place_that_does_not_answer_costs_only_who_goes_there() {
    let home = Home::new().keeping_in_state(&["places"]);
    let hung = home.workspace().join("hung");
    let places = format!(
        "[places.carried]\nkind = \"pipe\"\ncommand = [\"{0}/carrier\"]\nconnect_seconds = 2\n\
         [places.sent]\nkind = \"ssh\"\nhost = \"nowhere.invalid\"\nprogram = \"{0}/outpost\"\n\
         connect_seconds = 2\n",
        hung.display()
    );
    fs::write(home.config().join("config.toml"), places).unwrap();
    let Some(mut client) = client_with(&home, HUNG, &[]) else {
        return;
    };
    works(&mut client, "before");
    let begun = Instant::now();
    for (place, told) in [("carried", "did not start within"), ("sent", "timed out")] {
        let asked = json!({"command": "true", "on": place, "timeout": 20});
        client.say(&call(place, &asked));
        for number in 0..8 {
            let one = Instant::now();
            client.ask(&json!({"id": format!("{place}-{number}"), "type": "schema"}));
            let took = one.elapsed();
            assert!(took < Duration::from_secs(1), "{place}: {took:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        works(&mut client, &format!("beside {place}"));
        let answer = client.response(place);
        let error = answer["data"]["error"].as_str().unwrap_or_default();
        assert!(error.contains(told), "{answer}");
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(15), "{took:?}");
    // What could not load its program was ended; who reads the other one waits, and is told.
    let threads = threads(client.child.id());
    let stuck = threads.iter().filter(|name| *name == "bashd-hung").count();
    assert_eq!(stuck, 1, "{threads:?}");
    client.close();
}

/// Where `local://` leads is configured, and may be what does not answer.
#[test]
fn a_root_of_addresses_that_does_not_answer_costs_only_the_call_that_names_one() {
    let home = Home::new();
    let root = home.workspace().join("hung/below");
    let set = format!("urls.local_dir={}", root.display());
    let arguments = ["--profile", "pi", "--set", &*set];
    let Some(mut client) = client_with(&home, HUNG, &arguments) else {
        return;
    };
    works(&mut client, "before");
    let begun = Instant::now();
    let asked = json!({"command": "echo x > local://plan/a.md", "timeout": 2});
    client.say(&call("names it", &asked));
    for number in 0..8 {
        let one = Instant::now();
        client.ask(&json!({"id": format!("beside-{number}"), "type": "schema"}));
        assert!(
            one.elapsed() < Duration::from_secs(1),
            "{:?}",
            one.elapsed()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let answer = client.response("names it");
    let error = answer["data"]["error"].as_str().unwrap_or_default();
    let words = ["could not be looked up in time", "does not answer"];
    assert!(words.iter().any(|words| error.contains(words)), "{answer}");
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    works(&mut client, "after");
    client.close();
}

/// A long command is read for as long as it takes, and nobody else waits for that.
#[test]
fn a_long_command_is_judged_beside_the_others_calls() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    works(&mut client, "before");
    let command = "true a b c; echo $x | cat\n".repeat(80_000);
    let begun = Instant::now();
    client.say(&call("long", &json!({"command": command, "timeout": 60})));
    let (mut longest, mut asked) = (Duration::ZERO, 0);
    let took = loop {
        let one = Instant::now();
        client.ask(&json!({"id": format!("beside-{asked}"), "type": "schema"}));
        (longest, asked) = (longest.max(one.elapsed()), asked + 1);
        if let Some(answer) = client.kept("long") {
            let rule = &answer["data"]["denied"]["rule"];
            assert_eq!(*rule, "script_within_bounds", "{answer}");
            break begun.elapsed();
        }
        assert!(begun.elapsed() < PATIENCE, "it is never answered");
    };
    // Its line alone takes a moment to be read; judging it takes nearly all of the time.
    assert!(longest < took / 3, "{longest:?} of {took:?}, {asked} calls");
    client.close();
}

#[test]
fn a_directory_that_a_call_was_in_can_be_unmounted() {
    for profile in ["default", "pi"] {
        let home = Home::new();
        let Some(mut client) = client_with(&home, MOUNTED, &["--profile", profile]) else {
            return;
        };
        let there = home.workspace().join("mounted");
        for number in 0..3 {
            let asked = call(
                &format!("{number}"),
                &json!({"command": "pwd; true", "cwd": there}),
            );
            let answer = client.ask(&asked);
            assert_eq!(
                answer["data"]["output"],
                format!("{}\n", there.display()),
                "{answer}"
            );
            waiting_shell(&home);
        }
        // Keepers of calls that are over may take a moment to leave.
        let begun = Instant::now();
        let mut complaint = unmount(client.child.id(), &there);
        while complaint.is_some() && begun.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(20));
            complaint = unmount(client.child.id(), &there);
        }
        assert_eq!(complaint, None, "{profile}");
        works(&mut client, "after");
        client.close();
    }
}

/// Waits until a shell waits for the next call.
fn waiting_shell(home: &Home) {
    let begun = Instant::now();
    // Not bashd itself.
    let is_shell = |process: &Process| {
        let program = process.command.split(' ').next().unwrap_or_default();
        program == "bash" || program.ends_with("/bash")
    };
    while !processes(home).iter().any(is_shell) {
        assert!(begun.elapsed() < PATIENCE, "no shell waits");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn processes(home: &Home) -> Vec<Process> {
    with_variable(MARK, home.mark())
}

fn unmount(server: u32, place: &Path) -> Option<String> {
    let mut command = Command::new("nsenter");
    if !geteuid().is_root() {
        command.arg("-U").arg("--preserve-credentials");
    }
    let command = command.args(["-m", "-t", &server.to_string(), "umount"]);
    let output = command.arg(place).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(complaint)
}

/// The fork server of a home: the one keeper program that no other has forked.
pub(crate) fn fork_server(home: &Home) -> Pid {
    let mut ours = processes(home);
    ours.retain(|process| process.command.starts_with("bashd-keeper"));
    let pids: Vec<i32> = ours.iter().map(|process| process.pid).collect();
    let server = ours.iter().find(|process| !pids.contains(&process.parent));
    Pid::from_raw(server.unwrap().pid).unwrap()
}

#[test]
fn a_fork_server_that_was_stopped_is_replaced_and_that_is_said_once() {
    for names_sessions in [false, true] {
        let home = Home::new();
        let mut client = Client::start(&home, &[]);
        let said = lines(client.child.stderr.take().unwrap());
        works(&mut client, "before");
        let server = fork_server(&home);
        kill_process(server, Signal::STOP).unwrap();
        let begun = Instant::now();
        for number in 0..6 {
            let id = number.to_string();
            let mut arguments = json!({"command": "echo fine"});
            if names_sessions {
                arguments["session"] = json!(id);
            }
            let answer = client.ask(&call(&id, &arguments));
            assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
            assert_eq!(answer["data"]["session_reset"], Value::Null, "{answer}");
        }
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{:?}",
            begun.elapsed()
        );
        let number = server.as_raw_nonzero().get();
        let is_it = |process: &Process| process.pid == number && process.state != 'Z';
        assert!(
            !processes(&home).iter().any(is_it),
            "the old server is still there"
        );
        // Now, and not when the server ends.
        let told = said.recv_timeout(PATIENCE).unwrap();
        let words = "the fork server did not answer for 2 s and was replaced";
        assert!(told.ends_with(words), "{told}");
        drop(client.stdin.take());
        assert_eq!(client.ended().code(), Some(0));
        assert_eq!(said.iter().collect::<Vec<_>>(), Vec::<String>::new());
    }
}

#[test]
fn what_is_waited_for_before_the_start_counts() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let mut client = Client::start(&home, &[]);
    works(&mut client, "before");
    // The server, the spare, and the keeper of the shell that waits.
    let begun = Instant::now();
    let keepers = || {
        let mut all = processes(&home);
        all.retain(|process| process.command.starts_with("bashd-keeper"));
        all.len()
    };
    while keepers() < 3 {
        assert!(begun.elapsed() < PATIENCE, "no spare");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(fork_server(&home), Signal::STOP).unwrap();
    // The spare takes this one; the next has to wait for another server.
    client.ask(&bash("spare", "sleep 0"));
    // Of 3 s, the replacement takes 2.
    let begun = Instant::now();
    let arguments = json!({"command": "sleep 300", "wait_max": 3});
    let answer = client.ask(&call("waits", &arguments));
    let took = begun.elapsed();
    let job = answer["data"]["job"].clone();
    assert!(job.is_string(), "{answer}");
    assert!(took < Duration::from_millis(4700), "{took:?}");
    let kill = json!({"action": "kill", "job": job});
    client.ask(&json!({"id": "k", "type": "job", "arguments": kill}));
    drop(client.stdin.take());
    assert_eq!(client.ended().code(), Some(0));
}

/// Mounts a place for temporary files that is full at once, and has the server use it.
const FULL: &str = "mkdir full && mount -t tmpfs -o size=16k tmpfs full || exit 99; \
    TMPDIR=$PWD/full exec \"$@\"";

#[test]
fn a_full_place_for_temporary_files_wedges_no_session() {
    for profile in ["default", "pi"] {
        let home = Home::new().keeping_in_state(&["artifacts"]);
        let arguments = ["--profile", profile, "--session", "one"];
        let Some(mut client) = client_with(&home, FULL, &arguments) else {
            return;
        };
        let mut ask = |command: &str| {
            let answer = client.ask(&call("asked", &json!({"command": command})));
            answer["data"].clone()
        };
        ask("kept=1; echo $$ >shell; head -c 100000 /dev/zero >$TMPDIR/fill");
        // What needs room there fails as it does under plain bash; everything else goes on.
        let heredoc = "cat <<E\n$(head -c 100000 /dev/zero | tr '\\0' a)\nE";
        let failed = ask(heredoc);
        assert_eq!(failed["exit_code"], 1, "{failed}");
        let text = failed["output"].as_str().unwrap();
        assert!(text.contains("No space left on device"), "{failed}");
        for (command, output, status) in [
            (
                "echo $kept; cat shell | grep -x $$ >/dev/null && echo same",
                "1\nsame\n",
                0,
            ),
            (
                "cat <<< short; exit_with() { return 7; }; exit_with",
                "short\n",
                7,
            ),
            ("seq 1 30000 | wc -l; cat <(echo sub)", "30000\nsub\n", 0),
        ] {
            let answer = ask(command);
            assert_eq!(answer["output"], output, "{profile}: {answer}");
            assert_eq!(answer["exit_code"], status, "{profile}: {answer}");
            assert_eq!(answer["session_reset"], Value::Null, "{profile}: {answer}");
        }
        // A new shell begins there, too.
        let ended = ask("exit 3");
        assert_eq!(ended["exit_code"], 3, "{ended}");
        assert_eq!(ask("echo [$kept]")["output"], "[]\n");
        client.close();
    }
}

#[test]
fn a_search_in_much_output_delays_nobody() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let command = "sleep 1; yes 'a line of text that is fifty bytes long, more or so' | head -c 120000000; sleep 300";
    let started = client.ask(&call(
        "start",
        &json!({"command": command, "background": true}),
    ));
    let job = started["data"]["job"].as_str().unwrap().to_owned();
    let begun = Instant::now();
    loop {
        let listed =
            client.ask(&json!({"id": "l", "type": "job", "arguments": {"action": "list"}}));
        if listed["data"]["result"]["jobs"][0]["output_bytes"].as_u64() >= Some(120_000_000) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{listed}");
        std::thread::sleep(Duration::from_millis(20));
    }
    for (name, arguments) in [
        (
            "grep",
            json!({"action": "output", "job": job, "grep": "(no|thing) like [it]t$"}),
        ),
        (
            "wait",
            json!({"action": "wait", "job": job, "regex": "(no|thing) like [it]t$", "timeout": 2}),
        ),
    ] {
        client.say(&json!({"id": name, "type": "job", "arguments": arguments}));
        std::thread::sleep(Duration::from_millis(150));
        let begun = Instant::now();
        client.say(&json!({"id": "beside", "type": "schema"}));
        let first = client.next_where(|answer| answer["id"] == name || answer["id"] == "beside");
        assert_eq!(first["id"], "beside", "{name}: {first}");
        // Whoever was kept waiting is told first, too.
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(2), "{name}: {took:?}");
        let answer = client.response(name);
        assert_eq!(answer["success"], true, "{answer}");
    }
    // A cancelled search keeps nobody waiting either.
    let arguments = json!({"action": "output", "job": job, "grep": "(no|thing) like [it]t$"});
    client.say(&json!({"id": "search", "type": "job", "arguments": arguments}));
    std::thread::sleep(Duration::from_millis(50));
    client.say(&json!({"id": "c", "type": "cancel", "target": "search"}));
    let answer = client.response("search");
    assert!(
        answer["data"]["text"]
            .as_str()
            .unwrap()
            .contains("cancelled"),
        "{answer}"
    );
    client.ask(&json!({"id": "k", "type": "job", "arguments": {"action": "kill", "job": job}}));
    client.close();
}

#[test]
fn doctor_has_no_hung_threads_where_there_are_none() {
    let home = Home::new();
    let doctor = shown(&home, &["doctor"]).out();
    assert!(doctor.contains("hung threads"), "{doctor}");
}
