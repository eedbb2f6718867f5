//! The detailed shape in `pi`'s words: order of the parts, every notice, every field.

use super::*;
use crate::request::RefusalKind;
use std::collections::BTreeSet;

fn seconds(run: Ran) -> Ran {
    let mut run = run;
    run.finished.ran_for = Duration::from_millis(1234);
    run
}

fn lines(count: usize) -> String {
    let line = |number| format!("{number:05}\n");
    (1..=count).map(line).collect()
}

fn stored(mut run: Ran, dropped: u64) -> Ran {
    run.finished.artifact = Some(crate::artifact::KeptArtifact {
        id: 7,
        dropped,
        path: None,
    });
    run
}

/// A run under `pi` with a window of these sizes.
fn windowed(out: &str, max: usize, head: usize) -> Ran {
    let mut run = ran("pi", "", "");
    run.profile.output.window.max = max;
    run.profile.output.window.head = head;
    run.profile.output.window.tail = max - head;
    run.profile.output.window.template = "{head}{tail}".to_owned();
    let source = Fixed::text(out);
    let capture = run
        .profile
        .output
        .cut(&source, None, crate::profile::rules::Within::default())
        .map(|cut| cut.arrange(None));
    run.finished.captured = capture.unwrap();
    run.finished.written = WrittenCounts::of(&source, None);
    run
}

/// A run of which limits that were asked for hide lines, before and after those that are shown.
fn limited(before: u64, after: u64) -> Ran {
    let mut run = windowed("3\n4\n", 51_200, 0);
    let omitted = |lines| crate::output::Omitted {
        bytes: 2 * lines,
        lines,
    };
    run.finished.hidden.before = omitted(before);
    run.finished.hidden.after = omitted(after);
    if let Captured::One(capture) = &mut run.finished.captured {
        run.finished.hidden.count_into(capture);
    }
    run
}

fn text_of(run: &Ran) -> String {
    reply(
        &run.profile,
        &Ending::Ran(Box::new(run.finished.clone())),
        Duration::ZERO,
    )
    .text
}

fn reply_of(run: &Ran) -> Reply {
    reply(
        &run.profile,
        &Ending::Ran(Box::new(run.finished.clone())),
        Duration::ZERO,
    )
}

#[test]
fn output_then_notices_then_the_exit() {
    let wall = "Wall time: 1.23 seconds";
    let run = seconds(ran("pi", "hi\n", ""));
    assert_eq!(text_of(&run), format!("hi\n\n\n{wall}"));
    let run = seconds(ran("pi", "", ""));
    assert_eq!(text_of(&run), format!("(no output)\n\n{wall}"));
    let run = seconds(ran("pi", "hi", "")).exit(3);
    assert_eq!(
        text_of(&run),
        format!("hi\n\n{wall}\n\nCommand exited with code 3")
    );
    let clamp = "Timeout clamped to 3600s (requested 5000s; allowed range 1-3600s).";
    let run = seconds(ran("pi", "", ""))
        .notice(Notice::request(clamp))
        .exit(1);
    assert_eq!(
        text_of(&run),
        format!("(no output)\n\n{wall}\n{clamp}\n\nCommand exited with code 1")
    );
}

#[test]
fn failure_result_non_zero_is_an_error_with_its_code_and_zero_has_none() {
    let failed = reply_of(&seconds(ran("pi", "out", "")).exit(2));
    assert!(failed.is_error);
    assert_eq!(failed.result["details"]["exitCode"], 2);
    assert_eq!(failed.result["details"]["wallTimeMs"], 1234.0);
    let good = reply_of(&ran("pi", "out", ""));
    assert!(!good.is_error);
    assert_eq!(good.result["details"].get("exitCode"), None);
    let killed = reply_of(&ran("pi", "", "").signal(9));
    assert!(killed.text.ends_with("\n\nCommand exited with code 137"));
    assert_eq!(killed.result["details"]["exitCode"], 137);
}

#[test]
fn failure_result_a_missing_status_is_said() {
    let mut run = seconds(ran("pi", "part", ""));
    run.finished.exit = Exit::Unknown;
    let reply = reply_of(&run);
    assert_eq!(
        reply.text,
        "part\n\nWall time: 1.23 seconds\n\nCommand failed: missing exit status"
    );
    assert!(reply.is_error);
    assert_eq!(reply.result["details"].get("exitCode"), None);
}

#[test]
fn failure_result_what_ended_it_is_one_line_before_the_output() {
    let timed_out = |out: &str| {
        let mut run = ran("pi", out, "").signal(15);
        run.finished.ended_by = Some(EndedBy::Timeout);
        reply_of(&run)
    };
    assert_eq!(
        timed_out("part\n").text,
        "[Command timed out after 300 seconds]\npart\n"
    );
    assert_eq!(timed_out("").text, "[Command timed out after 300 seconds]");
    // As the limit was, not rounded.
    let mut run = ran("pi", "", "").signal(15);
    run.finished.ended_by = Some(EndedBy::Timeout);
    run.finished.timeout = Duration::from_millis(1500);
    assert_eq!(reply_of(&run).text, "[Command timed out after 1.5 seconds]");
    assert!(timed_out("").is_error);
    assert_eq!(timed_out("").result["details"]["timedOut"], true);
    let mut run = ran("pi", "part", "").signal(15);
    run.finished.ended_by = Some(EndedBy::Cancel);
    let cancelled = reply_of(&run);
    assert_eq!(cancelled.text, "[Command cancelled]\npart");
    assert_eq!(
        cancelled.result["details"].get("timedOut"),
        None,
        "no timeout"
    );
}

#[test]
fn streaming_output_the_notice_of_a_tail() {
    // 60,000 bytes in lines of six; 51,200 bytes are 8533 of them and two bytes of another.
    let run = stored(windowed(&lines(10_000), 51_200, 0), 0);
    let reply = reply_of(&run);
    assert!(
        reply.text.ends_with(
            "\n\n[Showing lines 1467-10000 of 10000 (50.0KB limit). Read artifact://7 for full output]"
        ),
        "{}",
        &reply.text.chars().rev().take(300).collect::<String>()
    );
    assert_eq!(
        reply.result["details"]["meta"],
        json!({"truncation": {
            "direction": "tail", "truncatedBy": "bytes", "totalLines": 10_000, "totalBytes": 60_000,
            "outputLines": 8534, "outputBytes": 51_200, "maxBytes": 51_200,
            "shownRange": {"start": 1467, "end": 10_000}, "artifactId": "7",
        }})
    );
    assert_eq!(
        reply.result["summary"],
        json!({
            "truncated": true, "totalLines": 10_000, "totalBytes": 60_000,
            "outputLines": 8534, "outputBytes": 51_200, "artifactId": "7",
        })
    );
}

#[test]
fn streaming_output_without_an_artifact_none_is_promised() {
    let run = windowed(&lines(100), 60, 0);
    assert!(text_of(&run).ends_with("\n\n[Showing lines 91-100 of 100 (60B limit)]"));
    let run = stored(windowed(&lines(100), 60, 0), 5);
    assert!(text_of(&run).ends_with(
        "(60B limit). Read artifact://7 for what was kept of it (5 bytes were dropped)]"
    ));
}

#[test]
fn streaming_output_both_ends_of_a_middle_elision() {
    let run = stored(windowed(&lines(2000), 60, 24), 0);
    let reply = reply_of(&run);
    assert!(
        reply.text.ends_with(
            "[Showing lines 1-4 and 1995-2000 of 2000; 1,990 middle lines (11.7KB) elided. \
             Read artifact://7 for full output]"
        ),
        "{}",
        reply.text
    );
    let truncation = &reply.result["details"]["meta"]["truncation"];
    assert_eq!(truncation["direction"], "middle");
    assert_eq!(truncation["truncatedBy"], "middle");
    assert_eq!(truncation["headRange"], json!({"start": 1, "end": 4}));
    assert_eq!(truncation["tailRange"], json!({"start": 1995, "end": 2000}));
    assert_eq!(truncation["elidedBytes"], 11_940);
    assert_eq!(truncation["elidedLines"], 1990);
    let one = windowed(&lines(11), 60, 24);
    assert!(
        text_of(&one).contains("; 1 middle line (6B) elided]"),
        "{}",
        text_of(&one)
    );
}

#[test]
fn streaming_output_a_cut_line_is_no_cut_window() {
    let out = format!("{}\nshort\n", "x".repeat(1000));
    let reply = reply_of(&stored(windowed(&out, 51_200, 0), 0));
    assert!(
        reply.text.ends_with(
            "\n\n[Some lines truncated to 768 chars. Read artifact://7 for full output]"
        ),
        "{}",
        reply.text
    );
    let meta = &reply.result["details"]["meta"];
    assert_eq!(meta.get("truncation"), None);
    assert_eq!(meta["limits"]["columnTruncated"]["maxColumn"], 768);
    assert_eq!(reply.result["summary"]["columnTruncatedLines"], 1);
    assert_eq!(reply.result["summary"]["columnDroppedBytes"], 235);
    let both = format!("{}\n", "y".repeat(1000)).repeat(100);
    let text = text_of(&stored(windowed(&both, 51_200, 0), 0));
    assert!(
        text.ends_with(
            "[Showing lines 34-100 of 100 (50.0KB limit). Some lines truncated to 768 chars. \
             Read artifact://7 for full output]"
        ),
        "{text}"
    );
}

#[test]
fn limits_that_were_asked_for_are_no_limit_of_bytes() {
    let reply = reply_of(&limited(2, 0));
    assert!(
        reply.text.ends_with("\n\n[Showing lines 3-4 of 4]"),
        "{}",
        reply.text
    );
    let truncation = &reply.result["details"]["meta"]["truncation"];
    assert_eq!(truncation["truncatedBy"], "lines");
    assert_eq!(truncation["shownRange"], json!({"start": 3, "end": 4}));
}

#[test]
fn what_was_asked_for_and_what_held_are_both_there() {
    let mut run = ran("pi", "", "");
    run.finished.timeout = Duration::from_hours(1);
    run.finished.requested_timeout = Some(5000.0);
    let details = reply_of(&run).result["details"].clone();
    assert_eq!(
        (
            &details["timeoutSeconds"],
            &details["requestedTimeoutSeconds"]
        ),
        (&json!(3600), &json!(5000))
    );
    run.finished.requested_timeout = Some(-2.5);
    assert_eq!(
        reply_of(&run).result["details"]["requestedTimeoutSeconds"],
        json!(-2.5)
    );
    run.finished.requested_timeout = Some(3600.0);
    assert_eq!(
        reply_of(&run).result["details"].get("requestedTimeoutSeconds"),
        None
    );
}

/// Names of fields, and words that are values.
fn words_of(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                words.insert(name.clone());
                words_of(value, words);
            }
        }
        Value::String(word) => {
            words.insert(word.clone());
        }
        _ => {}
    }
}

#[test]
fn the_docs_name_every_field_of_the_result_and_no_other() {
    let mut full = ran("pi", "", "").exit(3).notice(Notice::no_terminal("why"));
    full.finished.requested_timeout = Some(5000.0);
    full.finished.terminal = Some("terminal".to_owned());
    let long_line = format!("{}\n", "x".repeat(1000));
    let mut words = BTreeSet::new();
    let runs = vec![
        full,
        ran("pi", "", "").ended_by(EndedBy::Timeout),
        stored(windowed(&lines(100), 60, 0), 0),
        stored(windowed(&lines(2000), 60, 24), 0),
        stored(windowed(&long_line, 51_200, 0), 0),
        limited(2, 0),
        limited(0, 2),
    ];
    for run in &runs {
        words_of(&reply_of(run).result, &mut words);
    }
    // Values that are no words of ours.
    for value in ["why", "terminal", "7"] {
        assert!(words.remove(value), "{value}");
    }
    let page = include_str!("../../../../../../docs/reply.md");
    let begin = page.find("`pi`'s `details`").unwrap();
    let paragraph = page.split_at(begin).1.split_once("\n\n").unwrap().0;
    let code = paragraph.split('`').skip(1).step_by(2);
    let named = code.flat_map(|code| code.split(|letter: char| !letter.is_alphanumeric()));
    let named = named.filter(|word| !word.is_empty() && *word != "pi");
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    assert_eq!(named, words);
}

#[test]
fn a_missing_job_manager_has_the_documents_words() {
    let refusal = Refusal::new(RefusalKind::BackgroundUnavailable, "async");
    let reply = reply(&profile("pi"), &Ending::Refused(refusal), Duration::ZERO);
    assert!(reply.is_error);
    assert_eq!(
        reply.text,
        "Async job manager unavailable for this session."
    );
}
