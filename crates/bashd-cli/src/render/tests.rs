//! The renderer's pages at four widths, and its parts at their edges.

use super::*;
use bashd::Profile;
use bashd::Request;
use bashd::{Event, Stream};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

const WIDTHS: [usize; 4] = [20, 40, 80, 200];

fn output(text: &str) -> Event {
    Event::Output {
        stream: Stream::Out,
        offset: 0,
        text: text.to_owned(),
    }
}

fn running(preview: Preview, request: &Request, pieces: &[&str]) -> RunView {
    let mut view = RunView::new(preview, Some(PathBuf::from("/home/kim")));
    view.called(CallText::of(request));
    view.event(&Event::Started { pid: 7 });
    for piece in pieces {
        view.event(&output(piece));
    }
    view
}

fn numbered(count: usize) -> String {
    let lines: Vec<_> = (1..=count).map(|line| format!("line {line}\n")).collect();
    lines.concat()
}

fn outcome(state: RunState) -> RunSummary {
    RunSummary {
        state,
        wall: Duration::from_millis(1234),
        timeout: Some(Duration::from_mins(2)),
        requested_timeout: None,
        exit: None,
        omitted_bytes: 0,
        artifact: None,
        remark: None,
        changes: None,
    }
}

/// The view at four widths: each line with the initials of its tones, and within its columns.
fn page(view: &RunView, expansion: OutputExpansion) -> String {
    let mut page = String::new();
    for columns in WIDTHS {
        let _ = writeln!(page, "{columns} columns");
        let look = ViewContext {
            columns,
            elapsed: Duration::from_millis(65_400),
            expansion,
        };
        for line in view.lines(look) {
            let text = line.text();
            assert!(width(&text) <= columns, "{text:?} is wider than {columns}");
            let tones = line.0.iter().map(|span| format!("{:?}", span.tone));
            let tones: Vec<_> = tones.filter_map(|name| name.chars().next()).collect();
            let tones: String = tones.into_iter().collect();
            let _ = writeln!(page, "  {tones:<5}|{text}");
        }
    }
    page
}

const WORLD: &str = "plain ascii that is longer than twenty columns\n\
    日本語のテキストは二桁ずつ進みます\n\
    emoji 👩‍👩‍👧‍👦 and 🇩🇪 and ❤️ stay whole\n\
    combining e\u{301}a\u{308} marks take none\n\
    \u{1b}[1;31mred\u{1b}[0m \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7} \u{1b}[38;5;12mblue\u{1b}[m\n\
    10%\r50%\r100%\n\
    tab\there\n";

#[test]
fn a_running_call_is_shown_at_four_widths() {
    let request = Request::new("for word in 日本 語; do\n  echo \"$word\"\ndone")
        .cwd("/home/kim/project")
        .env("GREETING", "say \"hi\" to $USER\n");
    let view = running(Preview::ToolCall, &request, &[WORLD]);
    insta::assert_snapshot!(page(&view, OutputExpansion::Collapsed));
}

#[test]
fn a_finished_call_is_shown_at_four_widths() {
    let lines = numbered(30);
    let request = Request::new("make test");
    let mut view = running(Preview::ToolCall, &request, &[&lines, WORLD]);
    view.finished(RunSummary {
        requested_timeout: Some(5000.0),
        exit: Some(2),
        omitted_bytes: 4711,
        artifact: Some("artifact://3".to_owned()),
        ..outcome(RunState::Failed)
    });
    insta::assert_snapshot!(page(&view, OutputExpansion::Collapsed));
}

#[test]
fn an_expanded_view_shows_everything() {
    let lines = numbered(30);
    let mut view = running(Preview::ToolCall, &Request::new("seq"), &[&lines]);
    view.finished(outcome(RunState::Done));
    let look = ViewContext {
        columns: 80,
        elapsed: Duration::ZERO,
        expansion: OutputExpansion::Expanded,
    };
    let text: Vec<_> = view.lines(look).iter().map(StyledLine::text).collect();
    assert_eq!(text.first().unwrap(), "$ seq");
    assert_eq!(text.get(1).unwrap(), "line 1");
    assert_eq!(text.get(30).unwrap(), "line 30");
    assert_eq!(
        text.get(31).unwrap(),
        "✔ done ⟨Wall: 1.23s | Timeout: 120s⟩"
    );
}

#[test]
fn every_state_has_its_own_word() {
    let states = [
        RunState::Done,
        RunState::Failed,
        RunState::TimedOut,
        RunState::Cancelled,
        RunState::Denied,
        RunState::Background,
        RunState::Error,
    ];
    let mut shown = String::new();
    for state in states {
        let mut view = running(Preview::OwnCommand, &Request::new("x"), &["out\n"]);
        view.finished(RunSummary {
            remark: (state == RunState::Denied).then(|| "no \u{1b}[31mforce\nsecond".to_owned()),
            ..outcome(state)
        });
        let look = ViewContext {
            columns: 60,
            elapsed: Duration::ZERO,
            expansion: OutputExpansion::Collapsed,
        };
        for line in view.lines(look).iter().skip(2) {
            let tone = line.0.first().map(|span| span.tone).unwrap();
            let _ = writeln!(shown, "{tone:?}: {}", line.text());
        }
    }
    insta::assert_snapshot!(shown, @r"
    Good: ✔ done ⟨Wall: 1.23s | Timeout: 120s⟩
    Bad: ✘ failed ⟨Wall: 1.23s | Timeout: 120s⟩
    Warning: ! timed out ⟨Wall: 1.23s | Timeout: 120s⟩
    Warning: ! cancelled ⟨Wall: 1.23s | Timeout: 120s⟩
    Bad: ✘ denied ⟨Wall: 1.23s | Timeout: 120s⟩
    Bad: no force
    Bad: second
    Active: » in the background ⟨Wall: 1.23s | Timeout: 120s⟩
    Bad: ✘ error ⟨Wall: 1.23s | Timeout: 120s⟩
    ");
}

#[test]
fn a_call_shows_ten_rows_and_an_own_command_twenty_lines() {
    let lines = numbered(25).replace('\n', " xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n");
    let look = |expansion| ViewContext {
        columns: 20,
        elapsed: Duration::ZERO,
        expansion,
    };
    let call = running(Preview::ToolCall, &Request::new("c"), &[&lines]);
    let text: Vec<_> = call
        .lines(look(OutputExpansion::Collapsed))
        .iter()
        .map(StyledLine::text)
        .collect();
    assert_eq!(text.len(), 1 + 1 + 10 + 1, "{text:?}");
    let own = running(Preview::OwnCommand, &Request::new("c"), &[&lines]);
    let text: Vec<_> = own
        .lines(look(OutputExpansion::Collapsed))
        .iter()
        .map(StyledLine::text)
        .collect();
    assert_eq!(text.len(), 1 + 1 + 40 + 1, "{text:?}");
    assert_eq!(text.get(1).unwrap(), "… 5 more lines (ctrl");
    assert!(text.get(2).unwrap().starts_with("line 6 xxx"));
}

#[test]
fn lines_are_clamped_at_4000_columns_and_the_rest_is_counted() {
    for (line, omitted) in [
        ("x".repeat(4000), 0),
        ("x".repeat(4001), 1),
        ("日".repeat(2001), 2),
        (format!("{}日", "x".repeat(3999)), 2),
        (format!("{}e\u{301}", "x".repeat(3999)), 0),
        (format!("{}\u{1b}[31m", "x".repeat(4000)), 0),
        ("x".repeat(100_000), 96_000),
    ] {
        let view = running(Preview::ToolCall, &Request::new("c"), &[&line, "\n"]);
        let look = ViewContext {
            columns: 8000,
            elapsed: Duration::ZERO,
            expansion: OutputExpansion::Expanded,
        };
        let lines = view.lines(look);
        let text = lines.get(1).unwrap().text();
        let told = text.split_once("… [").map(|(_, told)| told.to_owned());
        match omitted {
            0 => assert_eq!(told, None),
            // What is not even held is reported after what is cut.
            96_000 => assert!(text.contains("visible columns omitted]"), "{told:?}"),
            _ => assert_eq!(told.unwrap(), format!("{omitted} visible columns omitted]")),
        }
    }
}

#[test]
fn escape_sequences_may_be_split_anywhere() {
    let text = "a\u{1b}[1;31mred\u{1b}[0m\u{1b}]0;title\u{1b}\\b日\u{1b}P1$r\u{1b}\\c\n";
    for at in text.char_indices().map(|(at, _)| at) {
        let (before, after) = text.split_at(at);
        let mut store = store::LineStore::keeping(9);
        store.push(before);
        store.push(after);
        assert_eq!(store.lines().collect::<Vec<_>>(), ["aredb日c"]);
    }
}

#[test]
fn nothing_in_a_line_acts_on_the_terminal() {
    let hostile: String = (0..=0x9f)
        .filter_map(char::from_u32)
        .filter(|character| *character != '\u{1b}')
        .collect();
    let shown = plain(&format!("{hostile}\u{202e}\u{2066}end"));
    let bad: Vec<_> = shown
        .chars()
        .filter(|character| character.is_control() && *character != '\n')
        .collect();
    assert!(bad.is_empty(), "{bad:?}");
    assert!(shown.ends_with("~end"), "{shown:?}");
}

#[test]
fn arguments_are_recovered_from_every_part_of_their_json() {
    let profile = Profile::builtin("default").unwrap().unwrap();
    let json = r#" {"timeout": 1.5e2, "extra":[1,{"a":"]}"},null], "env":{"A":"1","B":"tw\"o"},
        "command":"echo \u65e5\ud83d\ude00\n\"x\"", "cwd":"/tmp"} "#;
    let whole = CallText::from_partial_json(&profile, json);
    assert_eq!(whole.command.as_deref(), Some("echo 日😀\n\"x\""));
    assert_eq!(whole.cwd.as_deref(), Some("/tmp"));
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(whole.env, [pair("A", "1"), pair("B", "tw\"o")]);
    let command = whole.command.unwrap();
    for (at, _) in json.char_indices() {
        let part = CallText::from_partial_json(&profile, json.get(..at).unwrap());
        assert!(command.starts_with(part.command.as_deref().unwrap_or_default()));
        assert!(part.env.len() <= 2);
    }
    let early = CallText::from_partial_json(&profile, r#"{"env":{"PATH":"/bi"#);
    assert_eq!(early.env, [pair("PATH", "/bi")]);
    for broken in [
        "",
        "x",
        "{",
        "{\"command",
        "{\"command\":",
        "{\"command\":12",
        "[1]",
        "{]",
    ] {
        assert_eq!(
            CallText::from_partial_json(&profile, broken),
            CallText::default()
        );
    }
}

#[test]
fn an_arriving_call_is_shown_before_its_command_is_known() {
    let profile = Profile::builtin("default").unwrap().unwrap();
    let mut view = RunView::new(Preview::ToolCall, None);
    view.arriving(CallText::from_partial_json(
        &profile,
        r#"{"env":{"A":"1"},"comm"#,
    ));
    let look = ViewContext {
        columns: 80,
        elapsed: Duration::ZERO,
        expansion: OutputExpansion::Collapsed,
    };
    let text = |view: &RunView| {
        view.lines(look)
            .iter()
            .map(StyledLine::text)
            .collect::<Vec<_>>()
    };
    assert_eq!(text(&view), ["$ A=\"1\" …", "• arriving"]);
    view.arriving(CallText::from_partial_json(
        &profile,
        r#"{"env":{"A":"1"},"command":"ec"#,
    ));
    assert_eq!(text(&view), ["$ A=\"1\" ec", "• arriving"]);
}

#[test]
fn the_status_line_has_a_spinner_a_time_and_the_last_line() {
    let mut status = StatusLine::default();
    assert_eq!(
        status.line(Duration::from_millis(50), 80).text(),
        "⠋ running 0.0s"
    );
    status.output("one\n\u{1b}[32mtwo\u{1b}[0m\n\n");
    assert_eq!(
        status.line(Duration::from_millis(1250), 80).text(),
        "⠹ running 1.2s  two"
    );
    status.output("日本語日本語");
    let line = status.line(Duration::from_secs(3700), 24).text();
    assert_eq!(
        (line.as_str(), width(&line)),
        ("⠋ running 1h01m  日本語", 23)
    );
}

#[test]
fn the_footer_tells_the_limit_of_calls_in_every_profile_and_none_of_own_commands() {
    for (result, expected) in [
        (json!({"timeout_s": 120.0}), "Timeout: 120s⟩"),
        (
            json!({"details": {"timeoutSeconds": 300}}),
            "Timeout: 300s⟩",
        ),
        (
            json!({"details": {"timeoutSeconds": 3600, "requestedTimeoutSeconds": 5000}}),
            "Timeout: 3600s (requested 5000s clamped)⟩",
        ),
    ] {
        let mut reply = bashd::Reply::default();
        reply.exit_code = Some(0);
        reply.result = result;
        let footer = |preview| {
            let mut view = RunView::new(preview, None);
            view.event(&Event::Finished(Box::new(reply.clone())));
            let look = ViewContext {
                columns: 200,
                elapsed: Duration::ZERO,
                expansion: OutputExpansion::Collapsed,
            };
            view.lines(look)
                .iter()
                .map(StyledLine::text)
                .collect::<String>()
        };
        let shown = footer(Preview::ToolCall);
        assert!(shown.contains(expected), "{shown}");
        assert!(!footer(Preview::OwnCommand).contains("Timeout"));
    }
}

#[test]
fn a_line_ends_at_4000_columns_with_the_exact_count_however_long_it_is() {
    for length in [4000, 4001, 40_000, 100_000] {
        let mut reply = bashd::Reply::default();
        reply.output = format!("{}\n", "x".repeat(length));
        let look = ViewContext {
            columns: 5000,
            elapsed: Duration::ZERO,
            expansion: OutputExpansion::Expanded,
        };
        let expected = match length - 4000 {
            0 => "x".repeat(4000),
            more => format!("{}… [{more} visible columns omitted]", "x".repeat(4000)),
        };
        let mut view = RunView::new(Preview::OwnCommand, None);
        view.event(&output(&reply.output));
        assert_eq!(
            view.lines(look)[1].text(),
            expected,
            "{length}, while it runs"
        );
        view.event(&Event::Finished(Box::new(reply)));
        assert_eq!(view.lines(look)[1].text(), expected, "{length}");
    }
}

#[test]
fn tabs_cost_the_same_however_long_their_line_is() {
    let begun = std::time::Instant::now();
    let mut view = running(Preview::OwnCommand, &Request::new("tabs"), &[]);
    for _ in 0..100 {
        view.event(&output(&"\t".repeat(2000)));
    }
    for expansion in [OutputExpansion::Collapsed, OutputExpansion::Expanded] {
        page(&view, expansion);
    }
    assert_eq!(plain(&"\t".repeat(100_000)).len(), 400_000);
    // Measuring the line for every tab takes minutes.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    // They still end where they should.
    let text = "a\tbc\t日本\té\u{301}\t👩‍👩‍👧\t|";
    assert_eq!(plain(text), "a   bc  日本    é\u{301}   👩‍👩‍👧  |");
}

#[test]
fn a_running_command_holds_so_many_bytes_whatever_its_lines_are_like() {
    /// What is held of one stream, and a line.
    const MOST: usize = (4 << 20) + (64 << 10);
    let mut view = running(Preview::OwnCommand, &Request::new("long lines"), &[]);
    let line = format!("{}\n", "x".repeat(32_000));
    for number in 0..3000 {
        view.event(&output(&line));
        if number % 500 == 0 {
            let _ = page(&view, OutputExpansion::Collapsed);
        }
        assert!(view.held_bytes() <= MOST, "{}", view.held_bytes());
    }
    assert!(view.held_bytes() > 1 << 20, "{}", view.held_bytes());
    let look = ViewContext {
        columns: 80,
        elapsed: Duration::ZERO,
        expansion: OutputExpansion::Collapsed,
    };
    let first = view.lines(look).into_iter().nth(1).unwrap().text();
    assert_eq!(first, "… 2980 more lines (ctrl+o to expand)");
}

#[test]
fn rows_of_a_list_break_between_words_and_keep_their_tones() {
    let line = StyledLine::new(Tone::Good, "exit 0  ").and(Tone::Command, "git push origin main");
    let rows = line.in_words(18, 4);
    let texts: Vec<String> = rows.iter().map(StyledLine::text).collect();
    assert_eq!(texts, ["exit 0  git push", "    origin main"]);
    assert_eq!(rows[0].0.last().unwrap().tone, Tone::Command);
    let long = StyledLine::new(Tone::Plain, "a 日本語abcdefgh");
    let texts: Vec<String> = long.in_words(7, 2).iter().map(StyledLine::text).collect();
    assert_eq!(texts, ["a", "  日本", "  語abc", "  defgh"]);
    assert_eq!(StyledLine::default().in_words(8, 2).len(), 1);
}
