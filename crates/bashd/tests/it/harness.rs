//! `harness`, end to end: the cases of its document that speak about processes, streams and the
//! log.

use crate::engine_under_test::engine_of;
use crate::profile_under_test::{Contract, copy_profile, engine_with_own_profiles, running};
use bashd::{Call, CancellationToken, Config, Reply, Surroundings};
use bashd_testkit::{Home, loudly, repeat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const MIB: usize = 1_048_576;

fn harness(home: &Home) -> Contract {
    Contract::new(home, "harness")
}

/// What the model sees, which must be JSON and the same as the structured result.
fn shown(reply: &Reply) -> Value {
    let shown: Value = serde_json::from_str(&reply.text).expect("the text is JSON");
    assert_eq!(shown, reply.result);
    shown
}

async fn run(harness: &Contract, command: &str) -> Value {
    shown(&harness.run(command).await)
}

fn success(stdout: &str, stderr: &str, code: i32) -> Value {
    json!({"stdout": stdout, "stderr": stderr, "exitCode": code})
}

#[tokio::test]
async fn m_03_a_real_success_has_the_three_keys_in_order() {
    let home = Home::new();
    let reply = harness(&home).run("echo o; echo e >&2").await;
    let expected = r#"{"stdout":"o\n","stderr":"e\n","exitCode":0}"#;
    assert_eq!(reply.text, expected);
    assert!(!reply.is_error);
}

#[tokio::test]
async fn m_04_every_real_error_has_one_key() {
    let home = Home::new();
    let harness = harness(&home);
    let gone = harness
        .request("true")
        .cwd(home.root().join("gone"))
        .timeout(Duration::from_secs(5));
    for reply in [
        harness.json("{}").await,
        harness.run("no-such-program").await,
        harness.engine.run(gone).await,
        harness.timed_out("sleep 60", |_| true).await.0,
    ] {
        let object = shown(&reply);
        let keys: Vec<_> = object.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["error"]);
        assert!(reply.is_error);
    }
}

#[tokio::test]
async fn m_05_bin_bash_gets_the_command_as_one_argument() {
    let home = Home::new();
    let harness = harness(&home);
    let command = r#"cat "/proc/$$/cmdline"; : 'a  b' "$HOME" \' "#;
    let result = run(&harness, command).await;
    let argv = format!("/bin/bash\0-c\0{command}\0");
    assert_eq!(result, success(&argv, "", 0));
    let command = "shopt -q login_shell; echo $? ${BASH_VERSION:+bash} $0 $#; \
        case $- in *i*) echo interactive;; esac";
    let expected = success("1 bash /bin/bash 0\n", "", 0);
    assert_eq!(run(&harness, command).await, expected);
}

#[tokio::test]
async fn m_06_the_streams_of_a_real_command_are_apart() {
    let home = Home::new();
    let command = "for i in 1 2 3; do echo o$i; echo e$i >&2; done";
    let expected = success("o1\no2\no3\n", "e1\ne2\ne3\n", 0);
    let reply = harness(&home).run(command).await;
    assert_eq!(shown(&reply), expected);
    assert_eq!((reply.output_bytes, reply.stderr_bytes), (18, Some(9)));
}

#[tokio::test]
async fn m_07_waits_for_completion() {
    let home = Home::new();
    let harness = harness(&home);
    let started = Instant::now();
    let result = run(&harness, "sleep 0.3; echo done").await;
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert_eq!(result, success("done\n", "", 0));
}

#[tokio::test]
async fn m_08_the_exit_code_comes_with_the_output() {
    let home = Home::new();
    let result = run(&harness(&home), "echo x; exit 42").await;
    assert_eq!(result, success("x\n", "", 42));
}

#[tokio::test]
async fn m_09_a_real_timeout_is_an_error_and_leaves_nothing() {
    let home = Home::new();
    let harness = harness(&home);
    let (reply, limit) = harness.timed_out("sleep 60 & sleep 60", |_| true).await;
    let seconds = limit.as_secs_f64();
    let error = format!("command timed out after {seconds} seconds");
    assert_eq!(shown(&reply), json!({ "error": error }));
    assert!(reply.is_error);
    assert_eq!(running(&home), []);
    if !repeat::is_soak() {
        loudly("`harness`'s real limit of 30 s is only waited for by ./soak");
        return;
    }
    let started = Instant::now();
    let expected = json!({"error": "command timed out after 30 seconds"});
    assert_eq!(run(&harness, "sleep 60").await, expected);
    assert!(started.elapsed() < Duration::from_secs(32));
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn m_10_a_real_timeout_keeps_both_streams() {
    let home = Home::new();
    let command = "echo err >&2; echo out; sleep 60";
    let ready = |reply: &Reply| reply.output_bytes == 8;
    let (reply, limit) = harness(&home).timed_out(command, ready).await;
    let seconds = limit.as_secs_f64();
    let error = format!("command timed out after {seconds} seconds\n\nout\nerr\n");
    assert_eq!(shown(&reply), json!({ "error": error }));
    assert_eq!(reply.output, "out\nerr\n");
}

#[tokio::test]
async fn m_11_runs_in_the_harness_directory() {
    let home = Home::new();
    let expected = format!("{}\n", home.workspace().display());
    assert_eq!(run(&harness(&home), "pwd").await, success(&expected, "", 0));
}

#[tokio::test]
async fn m_12_files_outside_the_directory_can_be_read_and_written() {
    let home = Home::new();
    let outside = home.root().join("outside");
    let command = format!("echo text > {0}; cat {0}", outside.display());
    assert_eq!(
        run(&harness(&home), &command).await,
        success("text\n", "", 0)
    );
    assert_eq!(
        fs::read_to_string(outside).expect("the file is there"),
        "text\n"
    );
}

#[tokio::test]
async fn m_13_the_environment_is_inherited() {
    let home = Home::new();
    let mut env = home.env();
    env.push(("OF_THE_HOST".into(), "a  b".into()));
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env,
    };
    let config = Config::new(home.state());
    let engine = engine_of(config, surroundings);
    let result = run(&Contract::on(&engine, "harness"), "echo \"$OF_THE_HOST\"").await;
    assert_eq!(result, success("a  b\n", "", 0));
}

#[tokio::test]
async fn m_14_nothing_is_added_to_the_environment() {
    let home = Home::new();
    let own: BTreeSet<String> = home
        .env()
        .into_iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    for profile in ["harness", "phoenix"] {
        let reply = Contract::new(&home, profile).run("env -0").await;
        let entries = reply.output.split_terminator('\0');
        let added: Vec<&str> = entries
            .filter(|entry| !own.contains(*entry))
            .filter_map(|entry| entry.split('=').next())
            .filter(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name))
            .collect();
        assert_eq!(added, [""; 0], "{profile}");
        assert_eq!(reply.exit_code, Some(0), "{profile}");
    }
}

#[tokio::test]
async fn m_15_success_is_0() {
    let home = Home::new();
    assert_eq!(run(&harness(&home), "true").await, success("", "", 0));
}

#[tokio::test]
async fn m_16_real_failures_keep_code_and_shape() {
    let home = Home::new();
    let harness = harness(&home);
    for code in [1, 2, 42, 255] {
        let reply = harness.run(format!("echo e >&2; exit {code}")).await;
        assert_eq!(shown(&reply), success("", "e\n", code));
        assert!(!reply.is_error);
    }
    assert_eq!(run(&harness, "kill -9 $$").await, success("", "", 137));
}

#[tokio::test]
async fn m_17_a_program_that_is_not_there_is_an_error() {
    let home = Home::new();
    let harness = harness(&home);
    let error = "/bin/bash: line 1: no-such-program: command not found";
    let reply = harness.run("no-such-program").await;
    assert_eq!(shown(&reply), json!({ "error": error }));
    assert_eq!((reply.exit_code, reply.is_error), (Some(127), true));
    let with_output = run(&harness, "echo x; no-such-program").await;
    assert_eq!(with_output, success("x\n", &format!("{error}\n"), 127));
}

#[tokio::test]
async fn m_17_a_status_of_127_alone_is_no_missing_program() {
    let home = Home::new();
    fs::create_dir(home.workspace().join("sub")).expect("a directory");
    let harness = harness(&home);
    // The command was found, or is no program: what it wrote is not the shell's word about it.
    for command in [
        "set -u; echo $undef",
        "echo gone >&2; exit 127",
        "echo gone >&2; exit 126",
        "sh -c 'echo inner >&2; exit 127'; (exit 127)",
        "f() { echo gone >&2; return 127; }; f",
        "shopt -s expand_aliases; alias nosuch='echo gone >&2; exit 127'\nnosuch",
        "python3 -c 'import sys; sys.stderr.write(\"gone\"); sys.exit(127)'",
        "nosuch() { command nosuch-program; }; nosuch",
        "nosuch-program; (exit 127)",
        "./sub",
        ". ./nosuch-file; (exit 127)",
    ] {
        let reply = harness.run(command).await;
        let shown = shown(&reply);
        assert_eq!(shown["stdout"], "", "{command}: {shown}");
        assert_ne!(shown["stderr"], "", "{command}: {shown}");
        assert!(reply.exit_code.is_some_and(|code| code >= 126), "{command}");
        assert!(!reply.is_error, "{command}: {shown}");
    }
    for command in [
        "nosuch-program -x $(echo y)",
        "cd sub && nosuch-program",
        "true; exec nosuch-program",
        "/nosuch/program",
        "./nosuch >/dev/null",
    ] {
        let reply = harness.run(command).await;
        let error = shown(&reply)["error"].clone();
        let is_told = error.as_str().is_some_and(|text| text.contains("nosuch"));
        assert!(is_told && reply.is_error, "{command}: {error}");
    }
}

#[tokio::test]
async fn m_18_a_program_that_may_not_run_is_an_error() {
    let home = Home::new();
    fs::write(home.workspace().join("plain"), "echo hi\n").expect("a file");
    let error = "/bin/bash: line 1: ./plain: Permission denied";
    let reply = harness(&home).run("./plain").await;
    assert_eq!(shown(&reply), json!({ "error": error }));
    assert_eq!((reply.exit_code, reply.is_error), (Some(126), true));
}

#[tokio::test]
async fn m_19_a_real_flood_is_cut_in_each_stream_alone() {
    let home = Home::new();
    let harness = harness(&home);
    let flood =
        |count: usize, stream: u32| format!("head -c {count} /dev/zero | tr '\\0' a >&{stream}");
    let cut = "a".repeat(MIB - 15) + "... (truncated)";
    let whole = run(&harness, &flood(MIB, 1)).await;
    assert!(whole == success(&"a".repeat(MIB), "", 0));
    let over = run(&harness, &flood(MIB + 1, 1)).await;
    assert!(over == success(&cut, "", 0));
    // M-20 and M-21: stderr has its own limit, and the suffix is within it.
    let of_err = run(&harness, &format!("echo o; {}", flood(3 * MIB, 2))).await;
    assert!(of_err == success("o\n", &cut, 0));
    assert_eq!(cut.len(), MIB);
}

#[tokio::test]
async fn m_22_the_network_can_be_reached() {
    let home = Home::new();
    let harness = harness(&home);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let peer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut said = [0; 5];
        stream.read_exact(&mut said).expect("what it says");
        stream.write_all(b"pong\n").expect("an answer");
        said
    });
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo ping >&3; cat <&3");
    assert_eq!(run(&harness, &command).await, success("pong\n", "", 0));
    assert_eq!(&peer.join().expect("the other side"), b"ping\n");
}

#[tokio::test]
async fn m_23_the_ledger_has_command_code_and_sizes_but_no_output() {
    let home = Home::new();
    let harness = harness(&home);
    let command = "printf 'se%s\\n' cret; printf 'hid%s' den >&2; exit 3";
    assert_eq!(run(&harness, command).await["stdout"], "secret\n");
    assert!(harness.json("{bad").await.is_error);
    let files = fs::read_dir(home.state().join("ledger")).expect("a ledger");
    let months = files.flatten().filter(|file| {
        let name = file.file_name();
        name.to_string_lossy().ends_with(".jsonl")
    });
    let [file] = months.collect::<Vec<_>>().try_into().expect("one month");
    let text = fs::read_to_string(file.path()).expect("its text");
    assert!(
        !text.contains("secret") && !text.contains("hidden"),
        "{text}"
    );
    let records: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect();
    let [ran, refused] = records.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!(ran["command"], command);
    assert_eq!(
        (&ran["exit_code"], &ran["output_bytes"]),
        (&json!(3), &json!(13))
    );
    assert_eq!(
        (&ran["outcome"], &ran["output_lines"]),
        (&json!("exited"), &json!(1))
    );
    assert_eq!(ran["profile"], "harness");
    assert_eq!(refused["outcome"], "refused");
}

#[tokio::test]
async fn m_24_nothing_to_run_is_an_error() {
    let home = Home::new();
    let harness = harness(&home);
    let expected = json!({"error": "command is required"});
    for input in ["{}", r#"{"command":""}"#, r#"{"command":" \n"}"#] {
        assert_eq!(shown(&harness.json(input).await), expected, "{input}");
    }
    assert_eq!(run(&harness, "").await, expected);
}

#[tokio::test]
async fn m_25_a_shell_that_cannot_be_started_is_an_error() {
    let home = Home::new();
    let broken = home.root().join("broken");
    fs::write(&broken, "#!/nowhere/interpreter\n").expect("a file");
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).expect("its mode");
    let quoted = |path: &str| format!("[\"{path}\", \"-c\"]");
    let own = quoted("/bin/bash");
    let missing = quoted("/nowhere/bash");
    let broken = quoted(&broken.display().to_string());
    copy_profile(&home, "harness", "missing", &[(&own, &missing)]);
    copy_profile(&home, "harness", "broken", &[(&own, &broken)]);
    let engine = engine_with_own_profiles(&home, home.workspace());
    for (profile, reason) in [
        ("missing", "no such shell: /nowhere/bash"),
        ("broken", "No such file or directory"),
    ] {
        let reply = Contract::on(&engine, profile).run("echo hi").await;
        let object = shown(&reply);
        let error = object["error"].as_str().expect("an error");
        assert!(error.starts_with("failed to execute command: "), "{error}");
        assert!(error.contains(reason), "{error}");
        assert!(reply.is_error && reply.error.is_some() && reply.exit_code.is_none());
    }
}

#[tokio::test]
async fn m_26_missing_resources_are_an_error_and_pass() {
    // Few descriptors, so that they are soon used up. The limit is this process's own.
    let limit = getrlimit(Resource::Nofile);
    let current = Some(100);
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).expect("a lower limit");
    let home = Home::new();
    let harness = harness(&home);
    let too_long = harness.request("echo hi").env("LONG", "x".repeat(200_000));
    let object = shown(&harness.engine.run(too_long).await);
    let error = object["error"].as_str().expect("an error");
    assert!(error.contains("Argument list too long"), "{error}");
    for free in 0..6 {
        let mut taken = Vec::new();
        while let Ok(descriptor) = rustix::io::dup(std::io::stderr()) {
            taken.push(descriptor);
        }
        // First there is none for the working directory, later none for a socket or the spool.
        taken.truncate(taken.len() - free);
        let reply = harness.run("echo hi").await;
        drop(taken);
        let object = shown(&reply);
        if object["exitCode"] == 0 {
            assert!(free > 0, "no descriptor was missing");
            continue;
        }
        let error = object["error"].as_str().expect("an error");
        assert!(error.contains("Too many open files"), "{free}: {error}");
    }
    assert_eq!(run(&harness, "echo hi").await, success("hi\n", "", 0));
    setrlimit(Resource::Nofile, limit).expect("the limit as it was");
}

#[tokio::test]
async fn m_27_the_echo_example() {
    let home = Home::new();
    let reply = harness(&home)
        .json(r#"{"command": "echo 'hello world'"}"#)
        .await;
    assert_eq!(shown(&reply), success("hello world\n", "", 0));
}

#[tokio::test]
async fn m_28_the_ls_example() {
    let home = Home::new();
    let result = run(&harness(&home), "ls /nonexistent").await;
    assert_eq!(result["stdout"], "");
    assert_ne!(result["exitCode"], 0);
    let stderr = result["stderr"].as_str().expect("stderr");
    assert!(stderr.contains("/nonexistent"), "{stderr}");
}

#[tokio::test]
async fn m_29_the_pipe_example() {
    let home = Home::new();
    let lines = "a pattern\nnothing\n".repeat(42);
    fs::write(home.workspace().join("file.txt"), lines).expect("a file");
    let result = run(&harness(&home), "cat file.txt | grep pattern | wc -l").await;
    assert_eq!(result["stdout"].as_str().map(str::trim), Some("42"));
    assert_eq!(result["exitCode"], 0);
}

#[tokio::test]
async fn m_30_invalid_input_is_an_error_and_nothing_runs() {
    let home = Home::new();
    let harness = harness(&home);
    for input in [
        r#"{"command":123}"#,
        "{bad",
        "[]",
        "\"touch ran\"",
        r#"{"command":"touch ran","x":1}"#,
    ] {
        let object = shown(&harness.json(input).await);
        let error = object["error"].as_str().expect("an error");
        assert!(error.starts_with("invalid input: "), "{input}: {error}");
    }
    assert!(!home.workspace().join("ran").exists());
}

#[tokio::test]
async fn m_31_a_call_cancelled_before_its_start_does_not_run() {
    let home = Home::new();
    let harness = harness(&home);
    let token = CancellationToken::new();
    token.cancel();
    let call = Call::from(harness.request("touch ran")).cancel_by(token);
    let reply = harness.engine.run(call).await;
    assert_eq!(shown(&reply), json!({"error": "command cancelled"}));
    assert!(reply.cancelled && reply.error.is_none() && reply.exit_code.is_none());
    assert!(!home.workspace().join("ran").exists());
}
