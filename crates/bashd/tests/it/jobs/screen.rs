//! Full-screen programs as a model drives them: keys by `job send`, the picture by `job screen`.

use super::workshop::Workshop;
use bashd::Reply;
use bashd::jobs::Job;
use bashd_testkit::loudly;
use serde_json::{Value, json};
use std::process::Command;

/// A job at a terminal, through the job tool alone.
struct AtTerminal<'shop> {
    shop: &'shop Workshop,
    job: Job,
}

impl<'shop> AtTerminal<'shop> {
    async fn start(shop: &'shop Workshop, command: &str) -> Self {
        let request = shop.request(command).background().pty();
        let job = shop.start_request(request).await;
        Self { shop, job }
    }

    async fn ask(&self, mut input: Value) -> Reply {
        input["job"] = json!(self.job.id);
        let reply = self.shop.tool(&input.to_string()).await;
        assert!(!reply.is_error, "{input}: {}", reply.text);
        reply
    }

    /// Waits until the screen shows this, and returns it.
    async fn shows(&self, pattern: &str) -> Reply {
        let input = json!({"action": "screen", "regex": pattern, "timeout": 30});
        let reply = self.ask(input).await;
        assert_eq!(reply.result["met"], "yes", "{pattern}:\n{}", reply.text);
        reply
    }

    async fn keys(&self, keys: &[&str]) {
        self.ask(json!({"action": "send", "keys": keys})).await;
    }

    async fn text(&self, text: &str) {
        self.ask(json!({"action": "send", "text": text})).await;
    }

    async fn exited(&self) -> Job {
        self.shop.ended(&self.job).await
    }
}

fn is_there(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        loudly(&format!("{program} is missing: driving it as a job"));
    }
    is_there
}

#[tokio::test]
async fn vim_is_driven_by_keys_and_pastes() {
    if !is_there("vim") {
        return;
    }
    let shop = Workshop::new();
    let vim = AtTerminal::start(&shop, "vim -u NONE -i NONE -n new.txt").await;
    let first = vim.shows("\"new.txt\" \\[New").await;
    assert_eq!(first.result["alternate"], true);
    assert_eq!(first.result["size"], json!([120, 40]));
    assert_eq!(
        first.result["cursor"],
        json!({"row": 0, "column": 0, "is_visible": true})
    );
    vim.text("ihello").await;
    let typed = vim.shows("^hello$").await;
    assert!(
        typed
            .text
            .contains("[screen of 120x40, cursor at row 1, column 6"),
        "{}",
        typed.text
    );
    vim.keys(&["Enter"]).await;
    let paste = json!({"action": "send", "paste": "two\nthree", "keys": ["Escape", "Up", "Home"]});
    vim.ask(paste).await;
    let moved = vim.shows("^three$").await;
    assert!(moved.text.contains("\ntwo\n"), "{}", moved.text);
    // The arrow has moved the cursor once vim has read it.
    vim.text("x").await;
    vim.shows("^wo$").await;
    vim.text(":wq\n").await;
    assert_eq!(vim.exited().await.exit_code, Some(0));
    let written = std::fs::read_to_string(shop.home.workspace().join("new.txt"));
    assert_eq!(written.expect("a file"), "hello\nwo\nthree\n");
}

#[tokio::test]
async fn less_and_top_are_read_and_left() {
    let shop = Workshop::new();
    if is_there("less") {
        let less = AtTerminal::start(&shop, "seq 1 500 > numbers; less numbers").await;
        less.shows("^39$").await;
        less.keys(&["G"]).await;
        less.shows("^500$").await;
        less.keys(&["Home"]).await;
        less.shows("\\A1\n2\n").await;
        less.keys(&["PageDown"]).await;
        less.shows("^78$").await;
        less.keys(&["q"]).await;
        assert_eq!(less.exited().await.exit_code, Some(0));
    }
    for (program, command, shown) in [
        ("top", "top -d 60", "PID USER"),
        ("htop", "htop -d 100", "F10"),
    ] {
        if is_there(program) {
            let picture = AtTerminal::start(&shop, command).await;
            picture.shows(shown).await;
            picture.keys(&["q"]).await;
            assert_eq!(picture.exited().await.exit_code, Some(0), "{program}");
        }
    }
}

#[tokio::test]
async fn a_password_is_typed_unseen_and_ctrl_c_interrupts() {
    let shop = Workshop::new();
    let script = "trap 'echo interrupted' INT; read -rsp 'Password: ' word; echo; echo ${#word}; \
        sh -c 'echo ready; exec sleep 300'; echo end";
    let asking = AtTerminal::start(&shop, script).await;
    asking.shows("Password:").await;
    asking.text("hidden\n").await;
    let shown = asking.shows("^6$").await;
    assert!(!shown.text.contains("hidden"), "{}", shown.text);
    // Before, the shell itself would take the key, and wait for its child all the same.
    asking.shows("^ready$").await;
    asking.keys(&["C-c"]).await;
    asking.shows("interrupted$").await;
    assert_eq!(asking.exited().await.exit_code, Some(0));
    let after = asking
        .ask(json!({"action": "screen", "scrollback": 5}))
        .await;
    assert!(after.text.contains("\nend\n"), "{}", after.text);
    assert!(after.text.contains("exited with code 0"), "{}", after.text);
}

#[tokio::test]
async fn what_scrolled_away_is_there_for_whoever_asks() {
    let shop = Workshop::new();
    let lines = AtTerminal::start(
        &shop,
        "seq 1 100; printf '\\033]0;my title\\007'; sleep 300",
    )
    .await;
    let shown = lines.shows("^100$").await;
    assert!(!shown.text.contains("\n60\n"), "{}", shown.text);
    let more = lines
        .ask(json!({"action": "screen", "regex": "100", "scrollback": 3}))
        .await;
    assert!(more.text.starts_with("59\n60\n61\n"), "{}", more.text);
    assert_eq!(more.result["scrolled"], 3);
    let titled = lines
        .ask(json!({"action": "screen", "silent_ms": 200, "timeout": 30}))
        .await;
    assert!(
        titled.text.contains("title \"my title\""),
        "{}",
        titled.text
    );
    let late = lines
        .ask(json!({"action": "screen", "regex": "never", "timeout": 0.1}))
        .await;
    assert_eq!(late.result["met"], "not_yet");
    shop.close().await;
}

#[tokio::test]
async fn a_screen_needs_a_terminal_and_a_key_a_name() {
    let shop = Workshop::new();
    let plain = shop
        .start_request(shop.request("cat; echo end").background().stdin_open())
        .await;
    let ask = async |input: &str| shop.tool(input).await.text;
    let text = ask(r#"{"action":"screen","job":"bg_1"}"#).await;
    assert_eq!(text, "job bg_1 has no terminal; read its output instead");
    let text = ask(r#"{"action":"send","job":"bg_1","keys":["Hyper-x"]}"#).await;
    assert!(
        text.starts_with("there is no key `Hyper-x`; the keys are"),
        "{text}"
    );
    let text = ask(r#"{"action":"send","job":"bg_1"}"#).await;
    assert!(text.starts_with("nothing to send"), "{text}");
    ask(r#"{"action":"send","job":"bg_1","text":"one","keys":["Enter","C-d"]}"#).await;
    assert_eq!(shop.ended(&plain).await.exit_code, Some(0));
    assert_eq!(shop.output(&plain).await, "one\nend\n");
}
