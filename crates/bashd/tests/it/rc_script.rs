//! What the user's rc file sets up is there in shells that never read it; bad rc files harm
//! nothing.

use crate::engine_under_test::{engine, engine_without_sessions};
use bashd::rc::{Standing, standing};
use bashd::{Call, CancellationToken, Engine, Reply, Request};
use bashd_testkit::Home;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An rc file as people have them.
const RC: &str = r#"
case $- in *i*) ;; *) return;; esac
alias greet='echo hello' twice='echo a; echo b' ls='ls --no-such-option'
shout() { echo "LOUD $1"; }
_hidden() { :; }
grep() { echo shadowed; }
shopt -s nullglob
set -o pipefail
export PATH="/opt/tools of mine:$PATH"
export API_TOKEN=secret-value
"#;

async fn pi(engine: &Engine, command: &str) -> Reply {
    engine.run(Request::new(command).profile("pi")).await
}

fn write_rc(home: &Home, text: &str) {
    fs::write(home.home().join(".bashrc"), text).expect("an rc file");
}

fn snapshots(engine: &Engine) -> Vec<PathBuf> {
    let directory = engine.config().shells_dir();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sh"))
        .collect();
    paths.sort();
    paths
}

fn finding(home: &Home, engine: &Engine) -> Standing {
    let program = ["/usr/bin/bash", "/bin/bash"].map(Path::new);
    let found = program.into_iter().map(|program| {
        standing(
            &engine.config().shells_dir(),
            program,
            &home.env().into_iter().collect(),
        )
    });
    let found: Vec<_> = found.collect();
    let made = |standing: &&Standing| !matches!(standing, Standing::NotMade);
    found.iter().find(made).unwrap_or(&found[0]).clone()
}

#[tokio::test]
async fn aliases_functions_options_and_path_are_taken_over() {
    let home = Home::new();
    write_rc(&home, RC);
    for engine in [engine(&home), engine_without_sessions(&home)] {
        let reply = pi(
            &engine,
            "greet you; twice; shout it; echo no-such-*; echo ${PATH%%:*}",
        )
        .await;
        let expected = "hello you\na\nb\nLOUD it\n\n/opt/tools of mine\n";
        assert_eq!(reply.output, expected, "{reply:?}");
        let reply = pi(
            &engine,
            "false | true; echo $?; type -t _hidden grep; ls -d .",
        )
        .await;
        assert_eq!(reply.output, "1\nfile\n.\n", "{reply:?}");
        let reply = pi(&engine, "echo \"[$API_TOKEN]\"").await;
        assert_eq!(reply.output, "[]\n");
        let [snapshot] = &*snapshots(&engine) else {
            panic!("one snapshot: {:?}", snapshots(&engine));
        };
        let text = fs::read_to_string(snapshot).expect("a snapshot");
        assert!(!text.contains("secret-value"), "{text}");
        let mode = fs::metadata(snapshot)
            .expect("a snapshot")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn functions_are_read_with_the_options_they_were_written_with() {
    let home = Home::new();
    let rc = "shopt -s extglob\nshopt -u sourcepath\n\
              pick() { case $1 in @(a|b)) echo picked ;; esac; }\nalias twice='echo a; echo b'\n";
    write_rc(&home, rc);
    let engine = engine(&home);
    let reply = pi(&engine, "pick b; twice; shopt sourcepath dotglob").await;
    let expected = "picked\na\nb\nsourcepath     \toff\ndotglob        \toff\n";
    assert_eq!(reply.output, expected, "{reply:?}");
}

#[tokio::test]
async fn other_profiles_know_nothing_of_it_unless_configured() {
    let home = Home::new();
    write_rc(&home, RC);
    let engine = engine(&home);
    for profile in ["default", "phoenix"] {
        let reply = engine.run(Request::new("shout it").profile(profile)).await;
        assert_eq!(reply.exit_code, Some(127), "{profile}: {reply:?}");
    }
    assert_eq!(snapshots(&engine), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn it_is_made_once_and_again_when_the_rc_changes() {
    let home = Home::new();
    write_rc(
        &home,
        &format!("{RC}\necho read >>{}/times\n", home.home().display()),
    );
    let engine = engine(&home);
    for _ in 0..3 {
        pi(&engine, "true").await;
    }
    let times = || {
        fs::read_to_string(home.home().join("times"))
            .expect("a count")
            .lines()
            .count()
    };
    assert_eq!(times(), 1);
    write_rc(
        &home,
        "shout() { echo changed; }; echo read >>\"$HOME/times\"",
    );
    let reply = pi(&engine, "shout").await;
    assert_eq!(reply.output, "changed\n", "{reply:?}");
    assert_eq!(times(), 2);
    fs::remove_file(home.home().join(".bashrc")).expect("an rc file");
    let reply = pi(&engine, "shout").await;
    assert_eq!(reply.exit_code, Some(127), "{reply:?}");
}

#[tokio::test]
async fn a_session_that_begins_anew_since_the_rc_changed_says_so() {
    let home = Home::new();
    write_rc(&home, "alias one='echo 1'\n");
    let engine = engine(&home);
    assert_eq!(pi(&engine, "x=1; one").await.output, "1\n");
    // As installers do it.
    let add = "echo \"alias two='echo 2'\" >>~/.bashrc; echo $x";
    let reply = pi(&engine, add).await;
    assert_eq!((&*reply.output, reply.session_reset), ("1\n", None));
    let reply = pi(&engine, "echo \"[$x]\"; two").await;
    assert_eq!(reply.output, "[]\n2\n");
    let told = reply.session_reset.as_deref();
    assert_eq!(told, Some("its rc file changed"));
    assert_eq!(pi(&engine, "two").await.session_reset, None);
}

#[tokio::test]
async fn an_rc_that_says_the_same_leaves_its_sessions_alone() {
    let home = Home::new();
    write_rc(&home, "alias one='echo 1'; . ~/more 2>/dev/null\n");
    let engine = engine(&home);
    assert_eq!(pi(&engine, "x=1; one").await.output, "1\n");
    for change in [
        "touch -d 2001-01-01 ~/.bashrc",
        "cp ~/.bashrc ~/copy; mv ~/copy ~/.bashrc",
        "echo '# a remark' >>~/.bashrc",
        "echo '# none' >~/.bash_aliases",
    ] {
        pi(&engine, change).await;
        let reply = pi(&engine, "echo \"[$x]\"; one").await;
        assert_eq!(
            (&*reply.output, reply.session_reset),
            ("[1]\n1\n", None),
            "{change}"
        );
    }
    assert_eq!(snapshots(&engine).len(), 1);
    // What it reads elsewhere counts as well, once somebody touches it.
    pi(
        &engine,
        "echo \"alias one='echo 2'\" >~/more; touch ~/.bashrc",
    )
    .await;
    let reply = pi(&engine, "echo \"[$x]\"; one").await;
    assert_eq!(reply.output, "[]\n2\n");
    assert_eq!(reply.session_reset.as_deref(), Some("its rc file changed"));
}

#[tokio::test]
async fn an_rc_that_waits_hangs_or_ends_the_shell_means_none() {
    for (rc, reason) in [
        ("sleep 60", "longer than 2 s"),
        ("trap '' TERM INT; while :; do :; done", "longer than 2 s"),
        ("exit 0", "ended the shell"),
        ("exec true", "ended the shell"),
        ("kill -9 $$", "ended the shell"),
    ] {
        let home = Home::new();
        write_rc(&home, &format!("alias greet='echo hello'\n{rc}\n"));
        let engine = engine(&home);
        let begun = Instant::now();
        let reply = pi(&engine, "echo works").await;
        assert_eq!(reply.output, "works\n", "{rc}: {reply:?}");
        assert!(begun.elapsed() < Duration::from_secs(15), "{rc}");
        let Standing::Failed(why) = finding(&home, &engine) else {
            panic!("{rc}: {:?}", finding(&home, &engine));
        };
        assert!(why.contains(reason), "{rc}: {why}");
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_does_not_wait_for_the_rc() {
    let home = Home::new();
    write_rc(&home, "echo read >\"$HOME/reading\"; sleep 60\n");
    let engine = engine(&home);
    let token = CancellationToken::new();
    let call = Call::from(Request::new("echo ran").profile("pi")).cancel_by(token.clone());
    let is_read = async {
        let begun = Instant::now();
        while !home.home().join("reading").exists() {
            let waited = begun.elapsed();
            assert!(waited < Duration::from_secs(20), "the rc is not read");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        token.cancel();
    };
    let (reply, ()) = tokio::join!(engine.run(call), is_read);
    assert!(reply.cancelled && reply.output.is_empty(), "{reply:?}");
    // It was given up, and not found to take too long.
    let standing = finding(&home, &engine);
    assert!(matches!(standing, Standing::NotMade), "{standing:?}");
}

#[tokio::test]
async fn an_rc_that_asks_or_talks_or_fails_is_taken_over_all_the_same() {
    let home = Home::new();
    write_rc(
        &home,
        "read -p 'name? ' x\necho noise; echo noise >&2\nfalse || true\n\
         alias builtin=false echo='echo aliased'\ntrap 'echo trapped' DEBUG EXIT\n\
         umask 0\nshout() { printf 'LOUD %s\\n' \"$1\"; }\nset +eu\n",
    );
    let engine = engine(&home);
    let reply = pi(&engine, "shout it").await;
    assert_eq!(reply.output, "LOUD it\n", "{reply:?}");
    assert!(matches!(finding(&home, &engine), Standing::Ready(_)));
}

#[tokio::test]
async fn large_functions_are_sourced_as_plain_text() {
    let home = Home::new();
    let body = "echo \"it's $1\"; ".repeat(2000);
    write_rc(&home, &format!("large() {{ {body} }}\n"));
    let engine = engine(&home);
    let reply = pi(&engine, "large x | sort -u").await;
    assert_eq!(reply.output, "it's x\n", "{reply:?}");
    let [snapshot] = &*snapshots(&engine) else {
        panic!("one snapshot");
    };
    let text = fs::read_to_string(snapshot).expect("a snapshot");
    assert!(text.contains("echo \"it's $1\";"));
}
