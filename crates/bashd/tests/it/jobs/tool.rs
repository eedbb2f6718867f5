//! The job tool of the default profile: what a model asks, and what it reads.

use super::workshop::Workshop;
use bashd::jobs::JobState;

#[tokio::test]
async fn a_job_from_its_first_list_to_its_end() {
    let shop = Workshop::new();
    assert_eq!(
        shop.tool(r#"{"action":"list"}"#).await.text,
        "There are no jobs."
    );
    let command = "echo one; read line; echo \"got $line\"; sleep 300";
    shop.start_request(shop.request(command).background().stdin_open())
        .await;
    let waited = shop
        .tool(r#"{"action":"wait","job":"bg_1","regex":"^one$","timeout":20}"#)
        .await;
    assert!(waited.text.starts_with("bg_1: found: one ("), "{waited:?}");
    let list = shop.tool(r#"{"action":"list"}"#).await;
    assert!(list.text.starts_with("bg_1: "), "{list:?}");
    assert!(
        list.text.contains("4 bytes of output: echo one;"),
        "{list:?}"
    );
    let output = shop.tool(r#"{"action":"output","job":"bg_1"}"#).await;
    assert!(
        output.text.starts_with("one\n[bytes 0 to 4 of 4; "),
        "{output:?}"
    );
    assert_eq!(output.result["next_offset"], 4);
    let again = shop
        .tool(r#"{"action":"output","job":"bg_1","offset":4}"#)
        .await;
    assert!(
        again.text.starts_with("[unchanged since offset 4; "),
        "{again:?}"
    );
    let sent = shop
        .tool(r#"{"action":"send","job":"bg_1","text":"word","keys":["enter"]}"#)
        .await;
    assert_eq!(sent.text, "Sent 5 bytes to bg_1.");
    let waited = shop
        .tool(r#"{"action":"wait","job":"bg_1","regex":"got word","offset":4,"timeout":20}"#)
        .await;
    assert!(
        !waited.is_error && waited.text.contains("found: got word"),
        "{waited:?}"
    );
    let found = shop
        .tool(r#"{"action":"output","job":"bg_1","grep":"w.rd"}"#)
        .await;
    assert!(
        found.text.starts_with("got word\n[1 line matches; "),
        "{found:?}"
    );
    let renamed = shop
        .tool(r#"{"action":"rename","job":"bg_1","name":"server"}"#)
        .await;
    assert_eq!(renamed.text, "bg_1 is now called server.");
    let killed = shop.tool(r#"{"action":"kill","job":"server"}"#).await;
    assert!(
        killed
            .text
            .starts_with("bg_1: ended on request (killed by signal 15"),
        "{killed:?}"
    );
    assert_eq!(shop.find("server").state, JobState::Killed);
    let late = shop
        .tool(r#"{"action":"signal","job":"server","signal":"HUP"}"#)
        .await;
    assert_eq!(late.text, "job bg_1 is already killed");
}

#[tokio::test]
async fn bad_questions_are_answered_with_what_is_wrong() {
    let shop = Workshop::new();
    for (input, text) in [
        (
            r#"{"action":"output","job":"bg_9"}"#,
            "there is no job bg_9",
        ),
        (r#"{"action":"output"}"#, "`job` is missing"),
        (
            r#"{"action":"dance"}"#,
            "`action` must be one of `list`, `output`, `screen`, `wait`, `send`, `signal`, `kill` and `rename`, not \"dance\"",
        ),
        (
            r#"{"action":"list","speed":1}"#,
            "there is no parameter `speed`; there are `action`, `job`, ",
        ),
        ("[]", "the arguments must be a JSON object"),
    ] {
        let reply = shop.tool(input).await;
        assert!(
            reply.is_error && reply.text.contains(text),
            "{input}: {reply:?}"
        );
    }
    let voice = bashd::Call::json("{}", shop.request("").profile("voice"));
    let reply = shop.engine.job(voice).await;
    assert_eq!(reply.text, "profile `voice` has no job tool");
}
