//! `phoenix`: what went wrong first, then the output.

use super::*;
use proptest::prelude::*;

#[test]
fn p_13_the_timeout_line_comes_first_then_the_partial_output() {
    let timed_out = |out: &str| {
        ran("phoenix", out, "")
            .signal(15)
            .ended_by(EndedBy::Timeout)
    };
    assert_eq!(timed_out("").text(), "[command timed out after 30s]");
    let reply = timed_out("part\n").reply();
    assert_eq!(reply.text, "[command timed out after 30s]\npart\n");
    assert!(reply.is_error && reply.timed_out);
    let slow = timed_out("").limit(Duration::from_mins(15));
    assert_eq!(slow.text(), "[command timed out after 900s]");
}

#[test]
fn p_21_exactly_128_kib_is_untouched_and_one_more_byte_is_cut() {
    let whole = "a".repeat(131_072);
    assert_eq!(ran("phoenix", whole.as_str(), "").text(), whole);
    let text = ran("phoenix", vec![b'a'; 131_073], "").text();
    assert!(text.starts_with("[output truncated in middle: got 128kB, max is 128kB]\n"));
}

#[test]
fn p_22_the_middle_is_snipped_in_the_documents_form() {
    let flood = ["a".repeat(100_000), "b".repeat(100_000)].concat();
    let expected = format!(
        "[output truncated in middle: got 195kB, max is 128kB]\n{}\n\n[snip]\n\n{}",
        "a".repeat(4096),
        "b".repeat(4096)
    );
    assert_eq!(ran("phoenix", flood, "").text(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn p_23_never_more_than_the_limit_and_200_bytes(
        part in proptest::collection::vec(any::<u8>(), 1..40),
        length in prop_oneof![0_usize..300_000, 43_000_usize..44_500, 130_900_usize..131_200],
        code in 0..256,
    ) {
        let bytes: Vec<u8> = part.iter().copied().cycle().take(length).collect();
        let text = ran("phoenix", bytes, "").exit(code).text();
        prop_assert!(text.len() <= 131_072 + 200, "{}", text.len());
    }
}

#[test]
fn p_24_characters_at_the_borders_stay_whole() {
    for shift in 0..4 {
        let flood = ["a".repeat(shift), "😀".repeat(50_000), "b".repeat(shift)].concat();
        let text = ran("phoenix", flood, "").text();
        assert!(!text.contains('\u{FFFD}'));
        assert!(text.contains("😀\n\n[snip]\n\n😀"), "{shift}");
        assert!(text.len() <= 2 * 4096 + 100);
    }
}

#[test]
fn p_25_a_failure_begins_with_its_exit_code() {
    let reply = ran("phoenix", "out\n", "").exit(1).reply();
    assert_eq!(reply.text, "[command failed: exit code 1]\nout\n");
    assert!(reply.is_error);
    assert_eq!(
        ran("phoenix", "", "").exit(127).text(),
        "[command failed: exit code 127]\n"
    );
    let text = ran("phoenix", vec![b'a'; 200_000], "").exit(2).text();
    assert!(text.starts_with("[command failed: exit code 2]\n[output truncated in middle: got "));
}

#[test]
fn p_26_a_signal_is_128_and_its_number_and_no_status_is_minus_one() {
    let killed = ran("phoenix", "", "").signal(9);
    assert_eq!(killed.text(), "[command failed: exit code 137]\n");
    let unknown = ran("phoenix", "", "").without_status();
    assert_eq!(unknown.text(), "[command failed: exit code -1]\n");
}

#[test]
fn p_27_success_is_the_plain_output() {
    let reply = ran("phoenix", "hi\n", "").reply();
    assert_eq!((reply.text.as_str(), reply.is_error), ("hi\n", false));
    assert_eq!(ran("phoenix", "", "").text(), "");
}

#[test]
fn p_32_a_denial_is_the_rules_message() {
    let denied = Denied {
        rule: "no_force_push".to_owned(),
        message: "permission denied: git push --force is not allowed".to_owned(),
        suggested_tool: None,
    };
    let reply = reply(&profile("phoenix"), &Ending::Denied(denied), Duration::ZERO);
    assert_eq!(
        reply.text,
        "permission denied: git push --force is not allowed"
    );
    assert!(reply.is_error);
}

#[test]
fn p_34_an_empty_command_is_refused() {
    let reply = refused("phoenix", r#"{"command":""}"#);
    assert_eq!(
        (reply.text.as_str(), reply.is_error),
        ("Command cannot be empty", true)
    );
}

#[test]
fn p_37_a_system_error_reads_unlike_a_failed_command() {
    let reply = failed("phoenix", Error::new(ErrorKind::Spawn, "EAGAIN"));
    assert_eq!(reply.text, "Failed to spawn process: EAGAIN");
    assert!(reply.is_error);
    assert_eq!(reply.error.unwrap(), "Failed to spawn process: EAGAIN");
}

#[test]
fn p_38_cancelled_is_the_first_line_and_a_field() {
    let reply = ran("phoenix", "part\n", "")
        .signal(9)
        .ended_by(EndedBy::Cancel)
        .reply();
    assert_eq!(reply.text, "[command cancelled]\npart\n");
    assert!(reply.cancelled && reply.is_error);
    let marker = ran("phoenix", "[command cancelled]\n", "").reply();
    assert!(!marker.cancelled && !marker.is_error);
}
