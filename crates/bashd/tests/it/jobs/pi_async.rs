//! `pi`'s background jobs: `async`, auto-background, and its job tool.

use super::workshop::Workshop;
use bashd::Call;
use bashd::jobs::State;
use serde_json::json;
use std::time::Duration;

async fn pi(shop: &Workshop, input: serde_json::Value) -> bashd::Reply {
    let call = Call::json(input.to_string(), shop.request("").profile("pi"));
    shop.engine.run(call).await
}

async fn tool(shop: &Workshop, input: &str) -> bashd::Reply {
    shop.engine
        .job(Call::json(input, shop.request("").profile("pi")))
        .await
}

fn started(label: &str) -> String {
    format!(
        "Background job bg_1 started: {label}\nResult will be delivered automatically when complete.\n\
         You can use `job` to poll until complete, but prefer to continue with another task in the meanwhile if it's not blocking.\n\
         Pass `list: true` to `job` for a snapshot, or `poll: [\"bg_1\"]` to wait."
    )
}

#[tokio::test]
async fn async_returns_at_once_and_poll_brings_the_result() {
    let shop = Workshop::with(|config| config.async_enabled = true);
    let command = "sleep 0.5; echo made; exit 3";
    let reply = pi(&shop, json!({"command": command, "async": true})).await;
    assert_eq!(reply.text, started(command));
    let details = json!({"state": "running", "jobId": "bg_1", "type": "bash"});
    assert_eq!(reply.result["async"], details);
    let list = tool(&shop, r#"{"list":true}"#).await;
    assert_eq!(
        list.text,
        format!("## Still Running (1)\n\n- `bg_1` [bash] — {command}")
    );
    let polled = tool(&shop, r#"{"poll":["bg_1"]}"#).await;
    assert!(
        polled
            .text
            .starts_with("## Completed (1)\n\n### bg_1 [bash] — failed\nLabel: sleep 0.5;"),
        "{polled:?}"
    );
    assert!(
        polled.text.contains("made\n") && polled.text.contains("code 3"),
        "{polled:?}"
    );
    assert_eq!(polled.result["jobs"][0]["status"], "failed");
    assert!(shop.jobs.is_acknowledged(&shop.find("bg_1")));
}

#[tokio::test]
async fn a_long_call_becomes_a_job_by_itself_and_its_timeout_holds() {
    let shop = Workshop::with(|config| config.auto_background = Some(Duration::from_secs(3)));
    let command = "echo early; sleep 300";
    let reply = pi(&shop, json!({"command": command, "timeout": 4000})).await;
    let notice = "Timeout clamped to 3600s (requested 4000s; allowed range 1-3600s).";
    assert_eq!(
        reply.text,
        format!("early\n\n{notice}\n\n{}", started(command))
    );
    let cancelled = tool(&shop, r#"{"cancel":["bg_1","bg_7"]}"#).await;
    assert_eq!(
        cancelled.text,
        "## Cancelled (2)\n\n- Cancelled background job bg_1.\n- Background job not found: bg_7"
    );
    assert_eq!(shop.find("bg_1").state, State::Killed);
    let again = tool(&shop, r#"{"cancel":["bg_1"]}"#).await;
    assert!(
        again
            .text
            .contains("Background job bg_1 is already cancelled."),
        "{again:?}"
    );
    let quick = pi(&shop, json!({"command": "echo quick"})).await;
    assert_eq!((quick.exit_code, quick.job), (Some(0), None));
}

#[tokio::test]
async fn a_full_house_falls_back_to_the_foreground() {
    let shop = Workshop::with(|config| {
        config.auto_background = Some(Duration::from_millis(100));
        config.jobs.limits.per_owner = 1;
    });
    shop.start("sleep 300").await;
    let reply = pi(&shop, json!({"command": "sleep 0.5; echo done"})).await;
    assert_eq!(
        (reply.exit_code, reply.job.as_deref()),
        (Some(0), None),
        "{reply:?}"
    );
    shop.close().await;
}

#[tokio::test]
async fn bad_questions_have_their_texts() {
    let shop = Workshop::with(|config| config.async_enabled = true);
    for (input, text) in [
        (
            r#"{"list":true,"poll":["a"]}"#,
            "`list` cannot be combined with `poll` or `cancel`.",
        ),
        (
            r#"{"poll":["a","b"]}"#,
            "No matching jobs found for IDs: a, b",
        ),
        ("{}", "No running background jobs to wait for."),
    ] {
        assert_eq!(tool(&shop, input).await.text, text);
    }
}

#[tokio::test]
async fn jobs_that_are_switched_off_are_not_there() {
    let off = Workshop::new();
    let text = "Async execution is disabled; no background jobs are available.";
    assert_eq!(tool(&off, "{}").await.text, text);
}
