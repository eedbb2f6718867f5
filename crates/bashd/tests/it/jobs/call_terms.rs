//! A call that goes to the background keeps what it was: its lines, its timeout, its directory and
//! variables, its artifact; and there are never more jobs than there may be.

use super::workshop::{OWNER, Workshop};
use bashd::jobs::Job;
use bashd::{Call, Reply, Request};
use serde_json::{Value, json};

/// A shop whose calls may ask for jobs.
fn shop() -> Workshop {
    Workshop::with(|config| config.async_enabled = true)
}

/// A call of `pi`, wherever its session is.
async fn pi(shop: &Workshop, input: Value) -> Reply {
    let defaults = Request::new("").owner(OWNER).profile("pi");
    shop.engine
        .run(Call::json(input.to_string(), defaults))
        .await
}

/// What the call of a job would have answered.
async fn answer(shop: &Workshop, reply: &Reply) -> Reply {
    let ended: Job = shop.ended(&shop.job_of(reply)).await;
    shop.engine.job_reply("pi", &ended).await
}

#[tokio::test]
async fn a_job_shows_the_lines_that_its_call_asked_for() {
    let shop = shop();
    for input in [
        json!({"command": "seq 100 | tail -n 2", "async": true}),
        json!({"command": "seq 100", "tail": 2, "async": true}),
        json!({"command": "seq 100", "head": 100, "tail": 2, "async": true}),
    ] {
        let started = pi(&shop, input).await;
        let text = answer(&shop, &started).await.text;
        assert!(text.starts_with("99\n100\n"), "{text}");
    }
    let started = pi(
        &shop,
        json!({"command": "seq 100", "head": 2, "async": true}),
    )
    .await;
    let text = answer(&shop, &started).await.text;
    assert!(
        text.starts_with("1\n2\n") && !text.contains("\n3\n"),
        "{text}"
    );
}

#[tokio::test]
async fn the_timeout_of_a_job_is_its_own() {
    let shop = shop();
    let started = pi(
        &shop,
        json!({"command": "echo a; sleep 300", "timeout": 2, "async": true}),
    );
    let started = started.await;
    assert_eq!(started.result["details"]["timeoutSeconds"], 2);
    let ended = answer(&shop, &started).await;
    assert_eq!(ended.text, "[Command timed out after 2 seconds]\na\n");
    assert_eq!(ended.result["details"]["timeoutSeconds"], 2);
}

#[tokio::test]
async fn start_and_end_say_which_job_and_which_timeout_was_asked_for() {
    let shop = shop();
    for (command, state) in [("exit 3", "failed"), ("true", "completed")] {
        let input = json!({"command": command, "timeout": 4000, "async": true});
        let started = pi(&shop, input).await;
        let details = &started.result["details"];
        let alias = shop.job_of(&started).alias;
        let of_job = |state: &str| json!({"state": state, "jobId": alias, "type": "bash"});
        assert_eq!(details["async"], of_job("running"), "{details}");
        assert_eq!(details["requestedTimeoutSeconds"], 4000);
        let ended = answer(&shop, &started).await;
        let details = &ended.result["details"];
        assert_eq!(details["async"], of_job(state), "{details}");
        assert_eq!(details["requestedTimeoutSeconds"], 4000);
        assert_eq!(details["timeoutSeconds"], 3600);
        assert!(
            ended.text.contains("Timeout clamped to 3600s"),
            "{}",
            ended.text
        );
    }
}

#[tokio::test]
async fn output_that_a_job_does_not_show_is_an_artifact_with_one_number() {
    let shop = shop();
    let started = pi(&shop, json!({"command": "seq 20000", "async": true})).await;
    let ended = answer(&shop, &started).await;
    let address = ended.artifact.clone().expect("an artifact");
    let notice = format!("Read {address} for full output]");
    assert!(ended.text.ends_with(&notice), "{}", ended.text);
    let id = ended.result["details"]["meta"]["truncation"]["artifactId"].clone();
    assert_eq!(
        json!(address),
        json!(format!("artifact://{}", id.as_str().unwrap()))
    );
    let again = answer(&shop, &started).await;
    assert_eq!(again.artifact, ended.artifact);
    let whole = pi(&shop, json!({"command": format!("cksum < {address}")})).await;
    let expected = pi(&shop, json!({"command": "seq 20000 | cksum"})).await;
    assert_eq!(whole.output, expected.output, "{whole:?}");
}

#[tokio::test]
async fn a_job_begins_as_its_session_is_and_leaves_it_alone() {
    let shop = shop();
    std::fs::create_dir(shop.home.workspace().join("sub")).unwrap();
    let set_up = "cd sub; x='a b'; export E=1; f() { echo f-$1; }; alias g='f 2'";
    assert_eq!(
        pi(&shop, json!({"command": set_up})).await.exit_code,
        Some(0)
    );
    let command = "pwd; echo \"$x $E\"; f 1; g; x=changed; cd /";
    let input = json!({"command": command, "env": {"E": "own"}, "async": true});
    let started = pi(&shop, input).await;
    let job = shop.ended(&shop.job_of(&started)).await;
    let sub = shop.home.workspace().join("sub").display().to_string();
    let expected = format!("{sub}\na b own\nf-1\nf-2\n");
    assert_eq!(shop.output(&job).await, expected, "{started:?}");
    assert_eq!(job.cwd, sub);
    let after = pi(&shop, json!({"command": "pwd; echo \"$x $E\""})).await;
    assert_eq!(after.output, format!("{sub}\na b 1\n"));
    assert_eq!(after.session_reset, None);
    // A directory of its own counts more than the session's.
    let input = json!({"command": "pwd; echo $x", "cwd": "/usr", "async": true});
    let started = pi(&shop, input).await;
    let job = shop.ended(&shop.job_of(&started)).await;
    assert_eq!(shop.output(&job).await, "/usr\na b\n");
}

#[tokio::test]
async fn of_calls_at_once_only_as_many_start_as_there_may_be_jobs() {
    for early_exit in [json!({"async": true}), json!({"background": true})] {
        let shop = Workshop::with(|config| {
            config.async_enabled = true;
            config.jobs.limits.per_owner = 1;
        });
        let profile = if early_exit.get("async").is_some() {
            "pi"
        } else {
            "default"
        };
        let calls = (0..6).map(|number| {
            let mut input = json!({"command": format!(": > ran-{number}; sleep 300")});
            input
                .as_object_mut()
                .unwrap()
                .extend(early_exit.as_object().unwrap().clone());
            let defaults = shop.request("").profile(profile);
            let (engine, call) = (shop.engine.clone(), Call::json(input.to_string(), defaults));
            tokio::spawn(async move { engine.run(call).await })
        });
        let mut started = 0;
        for call in calls.collect::<Vec<_>>() {
            let reply = call.await.unwrap();
            if reply.job.is_some() {
                started += 1;
                continue;
            }
            let full =
                "Background job limit reached (1). Wait for running jobs to finish or cancel one.";
            let prefix = if profile == "pi" { "" } else { "Error: " };
            assert_eq!(reply.text, format!("{prefix}{full}"));
        }
        assert_eq!(started, 1);
        let ran = std::fs::read_dir(shop.home.workspace()).unwrap().count();
        assert!(ran <= 1, "what may not be a job is never started");
        shop.close().await;
    }
}

#[tokio::test]
async fn a_cancelled_job_is_not_called_complete() {
    let shop = shop();
    let started = pi(&shop, json!({"command": "sleep 300", "async": true})).await;
    let job = shop.job_of(&started);
    let ended = shop.jobs.kill(&job).await.expect("an end");
    let text = shop
        .engine
        .job_notice("pi", std::slice::from_ref(&ended))
        .await;
    assert_eq!(
        text,
        "<system-notice>\nBackground job bg_1 was cancelled: sleep 300\n</system-notice>"
    );
    let listed = Call::json(r#"{"list":true}"#, shop.request("").profile("pi"));
    let listed = shop.engine.job(listed).await.text;
    assert!(listed.starts_with("## Cancelled jobs (1)"), "{listed}");
    // Who cancels its own is not told again.
    let started = pi(&shop, json!({"command": "sleep 300", "async": true})).await;
    let job = shop.job_of(&started);
    shop.jobs.kill_as_owner(&job).await.expect("an end");
    let untold = shop.jobs.take_ended(OWNER);
    assert!(untold.iter().all(|untold| untold.id != job.id));
}

/// The seconds after which a job is said to have been ready.
fn ready_after(text: &str) -> f64 {
    let (_, after) = text.rsplit_once("[ready after ").expect(text);
    let (seconds, _) = after.split_once(" s: ").expect(text);
    seconds.parse().expect(text)
}

#[tokio::test]
async fn start_and_readiness_are_one_call() {
    let shop = Workshop::new();
    let run = |input: Value| {
        let call = Call::json(input.to_string(), shop.request(""));
        shop.engine.run(call)
    };
    let command = "echo booting; sleep 0.7; echo listening on 7; sleep 300";
    let until = json!({"regex": "listening on \\d"});
    let input = json!({"command": command, "background": true, "until": until});
    let ready = run(input).await;
    assert!(ready.job.is_some(), "{ready:?}");
    assert!(
        ready
            .text
            .contains(" or job kill bg_1]\nbooting\nlistening on 7\n[ready after ")
    );
    assert!(
        ready.text.ends_with(" s: listening on 7]"),
        "{}",
        ready.text
    );
    assert_eq!(
        ready.result["until"],
        json!({"met": "yes", "by": "listening on 7"})
    );
    assert!(
        (0.7..60.0).contains(&ready_after(&ready.text)),
        "{}",
        ready.text
    );
    // What is ready while its start is still watched has taken that long.
    let until = json!({"regex": "at once"});
    let input = json!({"command": "sleep 0.2; echo at once; sleep 300", "background": true, "until": until});
    let soon = run(input).await;
    assert!(
        (0.2..60.0).contains(&ready_after(&soon.text)),
        "{}",
        soon.text
    );
    let until = json!({"regex": "never", "timeout": 0.2});
    let not_yet = run(json!({"command": "sleep 300", "background": true, "until": until})).await;
    assert!(
        not_yet.text.contains("\n[not ready after 0."),
        "{}",
        not_yet.text
    );
    assert_eq!(not_yet.result["until"]["met"], "not_yet");
    let until = json!({"silent_ms": 100_000});
    let input =
        json!({"command": "echo bad; sleep 0.6; exit 4", "background": true, "until": until});
    let ended = run(input).await;
    let says = "bad\n[ended before it was ready: exited with code 4 after ";
    assert!(ended.text.contains(says), "{}", ended.text);
    assert!(
        shop.jobs.is_acknowledged(&shop.job_of(&ended)),
        "it was told"
    );
    for (input, problem) in [
        (
            json!({"command": "true", "until": {"port": 1}}),
            "`until` needs `background`",
        ),
        (
            json!({"command": "true", "background": true, "until": {}}),
            "`until`: give one of regex, port, http and silent_ms",
        ),
        (
            json!({"command": "true", "background": true, "until": {"port": 1, "regex": "a"}}),
            "`until`: wait for one thing: regex, port, http or silent_ms",
        ),
    ] {
        assert_eq!(run(input).await.text, format!("Error: {problem}"));
    }
    shop.close().await;
}

#[tokio::test]
async fn a_command_that_can_be_no_job_says_so_when_its_time_is_over() {
    let shop = Workshop::with(|config| config.jobs.limits.in_all = 0);
    let input = json!({"command": "echo a; sleep 300", "timeout": 1, "on_timeout": "background"});
    let defaults = Request::new("").owner(OWNER);
    let reply = shop
        .engine
        .run(Call::json(input.to_string(), defaults))
        .await;
    assert!(reply.timed_out && reply.job.is_none(), "{reply:?}");
    assert!(reply.text.contains("timed out after 1 s"), "{}", reply.text);
    let why = "it was to go on as a job, which could not be made: Background job limit reached (0)";
    assert!(reply.text.contains(why), "{}", reply.text);
}

#[tokio::test]
async fn a_job_that_floods_at_once_keeps_its_whole_beginning() {
    let shop = Workshop::with(|_| {});
    let input = json!({"command": "yes | head -c 100000000; sleep 300", "background": true});
    let defaults = Request::new("").owner(OWNER);
    let started = shop
        .engine
        .run(Call::json(input.to_string(), defaults))
        .await;
    let job = shop.job_of(&started);
    let begun = std::time::Instant::now();
    loop {
        let query = bashd::jobs::OutputQuery::tail(1);
        let read = shop.jobs.output(&job, &query).await.unwrap();
        if read.output_bytes == 100_000_000 {
            assert_eq!(read.dropped_bytes, 0);
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{}", read.output_bytes);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    shop.jobs.kill(&job).await.unwrap();
}
