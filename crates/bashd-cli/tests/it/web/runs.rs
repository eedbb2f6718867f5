//! One run: slices of its output from any offset, searches, input, sizes, signals, its end; and a
//! flood that is followed.

use super::server::{self, Visitor, WebUnderTest};
use crate::shown;
use bashd_testkit::{Home, repeat};
use serde_json::{Value, json};
use std::time::Instant;

/// Starts a job; its id.
fn job(home: &Home, words: &[&str], command: &str) -> String {
    let words = [
        &["--set", "jobs.output_bytes=8MiB", "run", "--background"],
        words,
        &[command],
    ]
    .concat();
    shown(home, &words);
    let lines = shown(home, &["jobs", "--all", "--json"]).out();
    let last = lines.lines().last().unwrap();
    let job: Value = serde_json::from_str(last).unwrap();
    job["id"].as_str().unwrap().to_owned()
}

/// A server and a browser; the home is last, since its leak check comes when it is dropped.
struct Looking {
    server: WebUnderTest,
    visitor: Visitor,
    home: Home,
}

fn looking() -> Looking {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    Looking {
        server,
        visitor,
        home,
    }
}

impl Looking {
    fn output(&self, id: &str, query: &str) -> server::WebReply {
        let path = format!("/api/runs/{id}/output?{query}");
        let reply = self.server.get(&self.visitor, &path);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply
    }

    fn deed(&self, id: &str, deed: &str, body: &Value) -> server::WebReply {
        let path = format!("/api/runs/{id}/{deed}");
        self.server.post(&self.visitor, &path, body)
    }

    /// Waits until all of the output has this.
    fn until(&self, id: &str, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let shown = self.output(id, "at=0").text();
            if shown.contains(text) {
                return shown;
            }
            assert!(begun.elapsed() < server::LIMIT, "{text} in {shown}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn any_part_of_a_long_output_is_read_without_the_rest() {
    let looking = looking();
    let id = job(&looking.home, &[], "seq 1 200000; echo end; sleep 300");
    looking.until_end(&id);
    let total = looking.output(&id, "at=0&bytes=10").number("total");
    let first = looking.output(&id, "at=0&bytes=10&lines=3");
    assert_eq!(first.text(), "1\n2\n3\n");
    assert_eq!((first.number("offset"), first.number("next")), (0, 6));
    let middle = looking.output(&id, "at=600000&bytes=21");
    assert_eq!(middle.number("offset"), 600_000);
    assert_eq!(middle.body.len(), 21);
    let before = looking.output(&id, "before=600000&bytes=64&lines=2");
    assert_eq!(before.number("next"), 600_000);
    let tail = looking.output(&id, "lines=2");
    assert_eq!(tail.text(), "200000\nend\n");
    assert_eq!(tail.number("next"), total);
    assert_eq!((tail.number("alive"), tail.number("dropped")), (1, 0));
    // Behind its end there is nothing, and one may wait for it.
    let begun = Instant::now();
    let none = looking.output(&id, &format!("at={total}&wait=300"));
    assert!(none.body.is_empty() && begun.elapsed().as_millis() >= 300);
    shown(&looking.home, &["jobs", "kill", &id]);
    // What has ended is read from its files.
    let ended = looking.output(&id, "at=600000&bytes=21");
    assert_eq!(ended.body, middle.body);
    assert_eq!(ended.number("alive"), 0);
    assert_eq!(
        looking
            .server
            .get(&looking.visitor, "/api/runs/none/output")
            .status,
        404
    );
}

impl Looking {
    fn until_end(&self, id: &str) {
        let begun = Instant::now();
        while !self.output(id, "lines=1").text().contains("end") {
            assert!(begun.elapsed() < server::LIMIT);
        }
    }
}

#[test]
fn a_search_finds_lines_with_their_places() {
    let looking = looking();
    let id = job(&looking.home, &[], "seq 1 50000; echo end; sleep 300");
    looking.until_end(&id);
    let found = looking
        .deed(&id, "search", &json!({"pattern": "^4999[89]$"}))
        .json();
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 2, "{found}");
    assert_eq!(found["searched_to"], found["total"]);
    let offset = hits[0]["line_offset"].as_u64().unwrap();
    let line = looking.output(&id, &format!("at={offset}&lines=1"));
    assert_eq!(line.text(), "49998\n");
    assert_eq!(
        looking.deed(&id, "search", &json!({"pattern": "("})).status,
        400
    );
    // One that is expensive to compile is refused.
    let large = json!({"pattern": "(?:\\w{500}){500}"});
    assert_eq!(looking.deed(&id, "search", &large).status, 400);
    shown(&looking.home, &["jobs", "kill", &id]);
    // Output that a reply did not show in full is stored, and searched, too.
    shown(&looking.home, &["run", "seq 1 30000"]);
    let log = shown(&looking.home, &["log", "--json", "--limit", "1"]).out();
    let call: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let call = call["id"].as_str().unwrap();
    let found = looking
        .deed(call, "search", &json!({"pattern": "^29999$"}))
        .json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(looking.output(call, "lines=1").text(), "30000\n");
}

#[test]
fn a_program_is_typed_at_resized_signalled_and_ended() {
    let looking = looking();
    let command = "trap 'stty size' WINCH; trap 'echo got-usr1' USR1; read -rsp 'Password: ' word; \
        echo; echo \"it is ${#word} long\"; sleep 300 & sleep 301";
    let id = job(&looking.home, &["--pty", "--record"], command);
    looking.until(&id, "Password: ");
    let about = looking
        .server
        .get(&looking.visitor, &format!("/api/runs/{id}"))
        .json();
    assert_eq!(about["takes"], "keys", "{about}");
    assert_eq!(
        looking
            .deed(&id, "size", &json!({"columns": 1, "rows": 1}))
            .status,
        400
    );
    assert_eq!(
        looking
            .deed(&id, "input", &json!({"text": "sesame\r"}))
            .status,
        200
    );
    let shown_text = looking.until(&id, "it is 6 long");
    assert!(!shown_text.contains("sesame"));
    let tree = looking
        .server
        .get(&looking.visitor, &format!("/api/runs/{id}/tree"))
        .json();
    let commands: Vec<&str> = tree["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|process| process["command"].as_str().unwrap())
        .collect();
    assert!(
        commands.iter().any(|line| line.contains("sleep 300")),
        "{tree}"
    );
    let sized = looking.deed(&id, "size", &json!({"columns": 101, "rows": 33}));
    assert_eq!(sized.status, 200);
    assert_eq!(
        looking
            .deed(&id, "signal", &json!({"signal": "NONSENSE"}))
            .status,
        400
    );
    assert_eq!(
        looking
            .deed(&id, "signal", &json!({"signal": "STOP"}))
            .status,
        200
    );
    assert_eq!(
        looking
            .deed(&id, "signal", &json!({"signal": "CONT"}))
            .status,
        200
    );
    let ended = looking.deed(&id, "end", &json!({})).json();
    assert!(ended["before"].as_array().unwrap().len() >= 3, "{ended}");
    assert_eq!(ended["after"], json!([]), "{ended}");
    assert_eq!(
        looking.deed(&id, "input", &json!({"text": "x"})).status,
        409
    );
    // What was typed is in no record, that somebody typed is.
    let log = shown(&looking.home, &["log", "--json"]).out();
    assert!(log.contains("job send") && !log.contains("sesame"), "{log}");
    assert!(log.contains("web:0"), "{log}");
    // Its recording has the new size, and that something was typed.
    let cast = shown(&looking.home, &["export", &id, "--cast"]).out();
    assert!(cast.contains(r#""r", "101x33""#), "{cast}");
    let typed = cast
        .lines()
        .any(|line| line.contains(r#", "i", "[not recorded]"#));
    assert!(typed && !cast.contains("sesame"), "{cast}");
}

#[test]
fn a_flood_is_followed_at_its_end_with_flat_memory() {
    let looking = looking();
    let bytes: u64 = if repeat::is_soak() {
        4 << 30
    } else {
        256 << 20
    };
    let command =
        format!("yes 0123456789012345678901234567890 | head -c {bytes}; echo; echo end; sleep 300");
    let id = job(&looking.home, &[], &command);
    let before = memory(looking.server.pid());
    let (mut at, mut asked) = (0, 0);
    let begun = Instant::now();
    loop {
        let cut = looking.output(&id, &format!("at={at}&wait=1000&bytes=131072"));
        asked += 1;
        // As the page does: far behind, it goes to the end.
        at = cut.number("next");
        if cut.number("total") - at > 1 << 20 {
            at = looking.output(&id, "bytes=131072").number("next");
        }
        if at > bytes {
            break;
        }
        assert!(begun.elapsed().as_secs() < 100, "{at} of {bytes}");
    }
    assert!(looking.output(&id, "lines=1").text().contains("end"));
    assert!(asked < 2000, "{asked}");
    let grown = memory(looking.server.pid()).saturating_sub(before);
    assert!(grown < 24 << 20, "{grown} bytes");
    // Its first byte is still there, though most of it is not.
    let first = looking.output(&id, "at=0&lines=1");
    assert_eq!(first.text().len(), 32);
    assert!(first.number("dropped") > 0);
    let gap = looking.output(&id, &format!("at={}&lines=1", bytes / 2));
    assert!(gap.number("skipped") > 0 && !gap.body.is_empty());
    shown(&looking.home, &["jobs", "kill", &id]);
}

/// Resident bytes of a process.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse().unwrap();
    kib << 10
}
