//! `pi`'s background jobs: `async`, auto-background, and its job tool.

use super::workshop::{OWNER, PATIENCE, Workshop};
use bashd::Call;
use bashd::jobs::{JobNews, JobState, Tell};
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
    let error = polled.result["jobs"][0]["errorText"].as_str();
    let error = error.expect("what the call would have answered");
    assert!(
        error.starts_with("made\n") && error.contains("code 3"),
        "{polled:?}"
    );
    let end = format!("{command}\nError: {}", error.trim_end());
    assert!(polled.text.ends_with(&end), "{polled:?}");
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
    assert_eq!(shop.find("bg_1").state, JobState::Killed);
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
async fn ends_are_told_in_one_message_and_what_is_polled_is_told_there() {
    let shop = Workshop::with(|config| config.async_enabled = true);
    let mut news = shop
        .jobs
        .news(OWNER, Tell::EndsAndProgress)
        .expect("a watch");
    let gate = shop.home.workspace().join("gate");
    for word in ["one", "two"] {
        let command = format!(
            "echo {word}; until [ -e {} ]; do sleep 0.05; done",
            gate.display()
        );
        let reply = pi(&shop, json!({"command": command, "async": true})).await;
        assert!(reply.job.is_some(), "{reply:?}");
    }
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 2 {
        let told = tokio::time::timeout(PATIENCE, news.next()).await;
        let JobNews::Progress(progress) = told.expect("news in time") else {
            panic!("nothing has ended");
        };
        seen.extend(progress.into_iter().map(|one| one.tail));
    }
    assert_eq!(seen.into_iter().collect::<String>(), "one\ntwo\n");
    // Both end while nobody looks: that is one piece of news.
    std::fs::write(&gate, "").expect("a file");
    let jobs = shop.jobs.list(bashd::jobs::Whose::Owner(OWNER));
    for job in &jobs {
        shop.ended(job).await;
    }
    let ended = loop {
        let told = tokio::time::timeout(PATIENCE, news.next()).await;
        if let JobNews::Ended(ended) = told.expect("news in time") {
            break ended.done();
        }
    };
    assert_eq!(ended.len(), 2);
    let text = shop.engine.job_notice("pi", &ended).await;
    let opening = "<system-notice>\n2 background jobs have completed. Resume your work using the results below.\n\n── Job bg_1 (echo one; ";
    assert!(text.starts_with(opening), "{text}");
    assert!(
        text.contains(") ──\none") && text.contains("\n\n── Job bg_2 (echo two; "),
        "{text}"
    );
    assert!(text.ends_with("\n</system-notice>"), "{text}");
    let one = shop.engine.job_notice("pi", &ended[..1]).await;
    let opening = "<system-notice>\nBackground job bg_1 has completed. Resume your work using the result below.\n\none";
    assert!(one.starts_with(opening), "{one}");
    // What a poll answers with is told nobody else.
    let reply = pi(&shop, json!({"command": "sleep 0.5", "async": true})).await;
    let polled = tool(&shop, r#"{"poll":["bg_3"]}"#).await;
    assert!(
        polled.text.starts_with("## Completed (1)"),
        "{reply:?} {polled:?}"
    );
    assert!(shop.jobs.take_ended(OWNER).is_empty());
}

#[tokio::test]
async fn a_call_that_becomes_a_job_takes_the_session_along() {
    let shop = Workshop::with(|config| config.auto_background = Some(Duration::from_secs(1)));
    let unplaced = |input: serde_json::Value| {
        let call = Call::json(
            input.to_string(),
            bashd::Request::new("").owner(OWNER).profile("pi"),
        );
        shop.engine.run(call)
    };
    std::fs::create_dir(shop.home.workspace().join("below")).expect("a directory");
    let first = unplaced(json!({"command": "x=1; cd below"})).await;
    assert_eq!(first.exit_code, Some(0), "{first:?}");
    let long = unplaced(json!({"command": "echo $x; sleep 300"})).await;
    assert!(long.job.is_some(), "{long:?}");
    let next = unplaced(json!({"command": "echo \"[$x] ${PWD##*/}\""})).await;
    assert_eq!(next.output.trim_end(), "[] below", "{next:?}");
    let gone = "its command continues as a job, in its shell";
    assert_eq!(next.session_reset.as_deref(), Some(gone));
    assert_eq!(shop.output(&shop.job_of(&long)).await, "1\n");
    shop.close().await;
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
