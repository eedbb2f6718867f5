//! A call that asks for a new shell in its session.

use super::Session;
use crate::profile_under_test::{Contract, copy_profile, engine_with_own_profiles};
use bashd_testkit::Home;

#[tokio::test]
async fn a_restart_ends_the_old_shell_and_the_command_runs_in_a_new_one() {
    let home = Home::new();
    let session = Session::new(&home);
    let old = session.output("cd /; lost=yes; echo $$").await;
    let request = session.request(r#"echo "$$ [$lost] $PWD""#).restart();
    let reply = session.engine.run(request).await;
    let reset = reply.session_reset.as_deref();
    assert_eq!(reset, Some("it was restarted as asked"), "{reply:?}");
    let cwd = home.workspace().display().to_string();
    let (new, left) = reply.output.trim().split_once(' ').unwrap();
    assert_ne!(new, old.trim());
    assert_eq!(left, format!("[] {cwd}"));
    assert_eq!(session.output("echo $$").await.trim(), new);
}

#[tokio::test]
async fn a_tool_with_command_and_restart_is_one_file() {
    let home = Home::new();
    let words = [
        (
            "required = true\ndescription = \"The script",
            "description = \"The script",
        ),
        (
            "name = \"session\"\nsets = \"session\"",
            "name = \"restart\"\nsets = \"restart\"",
        ),
        ("[session]\n", "[session]\nimplicit = true\n"),
    ];
    copy_profile(&home, "default", "trained", &words);
    let tool = Contract::on(
        &engine_with_own_profiles(&home, home.workspace()),
        "trained",
    );
    tool.json(r#"{"command":"kept=1"}"#).await;
    assert_eq!(tool.json(r#"{"command":"echo $kept"}"#).await.output, "1\n");
    let restarted = tool.json(r#"{"restart":true}"#).await;
    assert_eq!((restarted.exit_code, &*restarted.output), (Some(0), ""));
    assert!(restarted.session_reset.is_some(), "{restarted:?}");
    assert_eq!(tool.json(r#"{"command":"echo $kept"}"#).await.output, "\n");
    assert!(tool.json("{}").await.is_error);
}

#[tokio::test]
async fn a_restart_without_a_session_is_refused() {
    let home = Home::new();
    let session = Session::new(&home);
    let request = bashd::Request::new("echo hi").restart();
    let reply = session.engine.run(request).await;
    assert!(
        reply.text.contains("`restart` needs a session"),
        "{reply:?}"
    );
    let reply = session
        .engine
        .run(session.request("true").restart().background())
        .await;
    assert!(
        reply.text.contains("`restart` cannot be combined"),
        "{reply:?}"
    );
}
