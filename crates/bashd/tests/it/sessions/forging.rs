//! What earlier calls defined does not speak for later ones: functions, aliases, variables.

use super::Session;
use crate::engine_under_test::engine;
use bashd_testkit::Home;

/// Everything that the driver's line or its loader calls, and what might be thought to help.
const NAMES: [&str; 30] = [
    "builtin",
    "command",
    "eval",
    "read",
    "exec",
    "exit",
    "echo",
    "unset",
    "cd",
    ".",
    "source",
    "test",
    "[",
    "printf",
    "declare",
    "local",
    "readonly",
    "true",
    ":",
    "trap",
    "set",
    "shift",
    "return",
    "export",
    "enable",
    "type",
    "alias",
    "shopt",
    "unalias",
    "__bashd_load",
];

/// Words that a shell knows by itself, but that an alias may replace.
const KEYWORDS: [&str; 12] = [
    "{", "}", "[[", "!", "if", "then", "case", "for", "while", "function", "time", "coproc",
];

/// A function that passes everything on, except a report, in which it puts status 0.
fn forger(name: &str) -> String {
    let onward = if name == "builtin" {
        "command"
    } else {
        "builtin"
    };
    format!(
        "function {name} {{ \
           local word; \\{onward} set -- \"$@\"; \
           for word; do if [[ $word =~ ^[0-9]+\\ [0-9]+\\ [0-9a-f]+ ]]; then \
             \\{onward} printf '%s\\n' \"0 ${{word#* }}\"; \\{onward} return 0; fi; done; \
           \\{onward} {name} \"$@\"; }}"
    )
}

/// Runs what should forge, then two calls that fail: they say so, whatever becomes of the session.
async fn never_forges(session: &Session, preparing: &str) {
    session.run(preparing).await;
    for status in [7, 8] {
        let command = format!("/bin/echo {status}; (exit {status})");
        let request = session.request(&command);
        let reply = session.engine.run(request).await;
        assert_eq!(reply.exit_code, Some(status), "{preparing}: {reply:?}");
        assert_eq!(
            reply.output,
            format!("{status}\n"),
            "{preparing}: {reply:?}"
        );
    }
    session.run("\\exit").await;
    session.run("\\builtin exit").await;
}

#[tokio::test]
async fn a_function_of_an_earlier_call_does_not_forge_a_status() {
    let home = Home::new();
    let session = Session::new(&home);
    for name in NAMES {
        never_forges(&session, &forger(name)).await;
        never_forges(&session, &format!("{}; readonly -f {name}", forger(name))).await;
    }
    let all: Vec<_> = NAMES.iter().map(|name| forger(name)).collect();
    never_forges(&session, &all.join("\n")).await;
}

#[tokio::test]
async fn what_keeps_functions_out_can_not_be_switched_off() {
    let home = Home::new();
    let session = Session::new(&home);
    for off in [
        "declare -a FUNCNEST",
        "declare -A FUNCNEST",
        "declare -n FUNCNEST=other",
        "declare -n FUNCNEST=other; other=5",
        "declare -i FUNCNEST=7",
        "declare -u FUNCNEST=7",
        "readonly FUNCNEST=7",
        "readonly FUNCNEST",
        "export FUNCNEST=100",
        "FUNCNEST=0",
        "unset -f __bashd_load; __bashd_load() { :; }",
        "alias __bashd_load=: builtin=: eval=:",
        "set -T; set -E",
        "PS4='$(echo 0)'; set -x",
        "set -o posix",
    ] {
        never_forges(&session, &format!("{off}\n{}", forger("builtin"))).await;
    }
}

#[tokio::test]
async fn an_alias_of_a_reserved_word_does_not_reach_the_next_call() {
    let home = Home::new();
    let session = Session::new(&home);
    for word in KEYWORDS
        .into_iter()
        .chain(NAMES.into_iter().filter(|name| *name != "."))
    {
        let alias = format!("alias '{word}=echo forged; {word}'");
        assert_eq!(session.output(&alias).await, "", "{word}");
        assert_eq!(session.output("\\builtin unalias -a").await, "", "{word}");
    }
    never_forges(
        &session,
        "for w in '{' '[[' if '!'; do alias \"$w=echo 0 ; $w\"; done",
    )
    .await;
}

#[tokio::test]
async fn a_limit_on_nesting_stays_what_its_user_made_it() {
    let home = Home::new();
    let session = Session::new(&home);
    assert_eq!(session.output("echo ${FUNCNEST-unset}").await, "unset\n");
    session.output("export FUNCNEST=50").await;
    let told = session.output("echo $FUNCNEST; bash -c 'echo $FUNCNEST'");
    assert_eq!(told.await, "50\n50\n");
    let reply = session.run("f() { f; }; f").await;
    assert!(
        reply.output.contains("nesting level exceeded (50)"),
        "{reply:?}"
    );
}

/// The nonce of the call that comes after the next, as a trap sees it.
async fn nonce(session: &Session, home: &Home) -> String {
    let file = home.workspace().join("traced");
    session
        .output("trap 'printf \"%s\\n\" \"$BASH_COMMAND\" >>traced' DEBUG")
        .await;
    session.run("true").await;
    session.run("trap - DEBUG").await;
    let traced = std::fs::read_to_string(&file).expect("what was traced");
    std::fs::remove_file(&file).expect("a file");
    let report = traced.lines().find(|line| line.contains("echo \"$? "));
    let report = report.unwrap_or_else(|| panic!("no report in {traced}"));
    // The status, the number of the call, and the nonce.
    let mut words = report.split("echo \"$? ").nth(1).into_iter();
    let word = words.next().and_then(|rest| rest.split(' ').nth(1));
    let nonce = word.and_then(|word| word.split('$').next());
    let nonce = nonce.unwrap_or_else(|| panic!("no nonce in {report}"));
    assert!(u64::from_str_radix(nonce, 16).is_ok(), "{report}");
    nonce.to_owned()
}

#[tokio::test]
async fn no_two_calls_have_the_same_nonce() {
    let home = Home::new();
    let engine = engine(&home);
    let mut seen = Vec::new();
    for name in ["one", "two", "three"] {
        let session = Session::on(&engine, name);
        for _ in 0..2 {
            seen.push(nonce(&session, &home).await);
        }
    }
    let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!(distinct.len(), seen.len(), "{seen:?}");
}
