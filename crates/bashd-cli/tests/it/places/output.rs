//! Output at a place: what of it comes over the wire, and what stays there.

use super::{carrier, home_with, on, reply_of};
use serde_json::Value;
use std::fs;

/// A carrier that counts what comes from the outpost.
const COUNTED: &str = "\"$@\" | tee -a \"$TMPDIR/wire\"";

/// Bytes that may come over the wire of output that nobody reads.
const WIRE: u64 = 256 * 1024;

#[test]
fn of_long_output_little_comes_over_the_wire() {
    let carrier = [&["sh", "-c", COUNTED, "sh"], &carrier()[..]].concat();
    let home =
        home_with(&carrier, "").keeping_in_state(&["outpost", "places", "runs", "artifacts"]);
    let wire = home.tmp().join("wire");
    // The second is what the minimizer would take here.
    for bytes in [1_500_000, 4 << 20, 40_000_000] {
        let script = format!("yes 'a line as a compiler writes them' | head -c {bytes}; exit 7");
        let reply = reply_of(&on(&home, &["--json", &script]).run());
        assert_eq!(
            (&reply["exit_code"], &reply["output_bytes"]),
            (&Value::from(7), &Value::from(bytes)),
            "{reply}"
        );
        assert!(reply["artifact"].is_string(), "{reply}");
        let came = fs::metadata(&wire).unwrap().len();
        assert!(came < WIRE, "{came} bytes came of {bytes}");
        fs::remove_file(&wire).unwrap();
    }
    // What is short is brought here, and shown without its repetitions.
    let script = "yes 'a line as a compiler writes them' | head -n 4000";
    let reply = reply_of(&on(&home, &["--json", script]).run());
    let text = reply["text"].as_str().unwrap();
    assert!(text.len() < 10_000, "{text}");
    fs::remove_file(&wire).unwrap();
}

/// A carrier of which the first one is cut after so many bytes; no other one gets through until
/// there is a file.
const CUT: &str = "n=$(cat \"$TMPDIR/count\" 2>/dev/null || echo 0); \
    echo $((n + 1)) >\"$TMPDIR/count\"; exec 4<&0; \
    [ $n != 0 ] || exec stdbuf -o0 head -c 150000 < <(\"$@\" <&4); \
    [ -e \"$TMPDIR/open\" ] || { echo no way >&2; exit 0; }; exec \"$@\"";

#[test]
fn output_that_can_not_be_brought_here_stays_there_and_is_not_lost() {
    // Nobody comes back to say that he has everything.
    let patient = ["--orphaned", "0.3"];
    let carrier = [&["bash", "-c", CUT, "sh"], &carrier()[..], &patient].concat();
    let home =
        home_with(&carrier, "").keeping_in_state(&["outpost", "places", "runs", "artifacts"]);
    let reply = reply_of(&on(&home, &["--json", "seq 1 100000; exit 7"]).run());
    assert_eq!(
        (&reply["exit_code"], &reply["output_lines"]),
        (&Value::from(7), &Value::from(100_000)),
        "{reply}"
    );
    let text = reply["text"].as_str().unwrap();
    assert!(
        text.starts_with("1\n2\n") && text.contains("\n100000\n"),
        "{text}"
    );
    let id = reply["artifact"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"));
    fs::write(home.tmp().join("open"), "").unwrap();
    let read = crate::shown(&home, &["artifact", "read", id]);
    let numbers: Vec<String> = (1..=100_000).map(|number| format!("{number}\n")).collect();
    let whole = numbers.concat();
    assert_eq!(read.out(), whole, "{}", read.err());
    // What is longer is not brought here at all: its ends are all that is read, and came along.
    fs::remove_file(home.tmp().join("count")).unwrap();
    fs::remove_file(home.tmp().join("open")).unwrap();
    let reply = reply_of(&on(&home, &["--json", "seq 1 400000; exit 7"]).run());
    assert_eq!(
        (&reply["exit_code"], &reply["output_lines"]),
        (&Value::from(7), &Value::from(400_000)),
        "{reply}"
    );
    assert!(
        reply["text"].as_str().unwrap().contains("\n400000\n"),
        "{reply}"
    );
    let count = fs::read_to_string(home.tmp().join("count")).unwrap();
    assert_eq!(count.trim(), "1", "nothing was asked for after the end");
    fs::write(home.tmp().join("open"), "").unwrap();
    for left in ["open", "count"] {
        fs::remove_file(home.tmp().join(left)).unwrap();
    }
}
