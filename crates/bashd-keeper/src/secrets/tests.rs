//! What is found and what is not; and what holds for any text.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

fn secrets(variables: &[(&str, &str)]) -> Secrets {
    let variables = variables.iter().map(|(n, v)| (n.into(), v.into()));
    Secrets::of(&variables.collect::<Vec<_>>())
}

/// Tokens are put together here, so that no scanner takes this file for a leak.
fn token(begins: &str, length: usize) -> String {
    let body = "0a1B2c3D4e5F6g7H8i9J".chars().cycle();
    begins.chars().chain(body.take(length)).collect()
}

#[test]
fn values_are_hidden_wherever_they_stand() {
    let known = secrets(&[
        ("API_TOKEN", "hunter2-0123456789"),
        ("DB_PASSWORD", "abcd"),
        ("MORE_TOKEN", "hunter2-0123456789-and-more"),
        ("QUOTED_SECRET", "say \"friend\""),
        ("USE_TOKEN", "true"),
        ("HOME", "/home/somebody"),
        ("WORD_TOKEN", "pässwörter-1"),
    ]);
    for (text, hidden) in [
        (
            "curl -H 'X: hunter2-0123456789'",
            "curl -H 'X: [secret API_TOKEN, 18 characters]'",
        ),
        (
            "xhunter2-0123456789y",
            "x[secret API_TOKEN, 18 characters]y",
        ),
        (
            "echo hunter2-0123456789-and-more",
            "echo [secret MORE_TOKEN, 27 characters]",
        ),
        ("psql abcd; echo abcde", "psql abcd; echo abcde"),
        (
            r#"{"x":"say \"friend\""}"#,
            r#"{"x":"[secret QUOTED_SECRET, 14 characters]"}"#,
        ),
        ("true; ls /home/somebody", "true; ls /home/somebody"),
        ("ü pässwörter-1 ü", "ü [secret WORD_TOKEN, 12 characters] ü"),
        (
            "\u{1b}[31mhunter2-\u{1b}[0m0123456789 x",
            "\u{1b}[31m[secret API_TOKEN, 18 characters]\u{1b}[0m x",
        ),
    ] {
        assert_eq!(known.hide(text), hidden, "{text}");
    }
}

#[test]
fn what_overlaps_is_hidden_as_one() {
    let known = secrets(&[("A_TOKEN", "abcdef-12345"), ("B_TOKEN", "12345-uvwxyz")]);
    assert_eq!(
        known.veil("<abcdef-12345-uvwxyz>"),
        "<[secret A_TOKEN, 19 characters]>"
    );
    assert_eq!(
        known.veil("abcdef-1234512345-uvwxyz"),
        "[secret A_TOKEN, 12 characters][secret B_TOKEN, 12 characters]"
    );
}

#[test]
fn long_values_are_found_across_line_breaks() {
    let value: String = (0..300)
        .map(|n| char::from(b'!' + (n * 7 % 90) as u8))
        .collect();
    let known = secrets(&[("LONG_TOKEN", &value)]);
    let wrapped = |text: &str, width: usize, end: &str| {
        let bytes: Vec<char> = text.chars().collect();
        let lines = bytes
            .chunks(width)
            .map(|line| line.iter().collect::<String>());
        lines.collect::<Vec<_>>().join(end)
    };
    for text in [
        wrapped(&STANDARD.encode(&value), 76, "\n"),
        wrapped(&STANDARD.encode(format!("x{value}\n")), 76, "\n"),
        wrapped(&value, 80, "\r\n"),
    ] {
        let shown = known.veil(&text);
        assert!(
            shown.starts_with("[secret LONG_TOKEN, ") || shown.starts_with('e'),
            "{shown}"
        );
        let breaks = |text: &str| text.matches('\n').count();
        assert_eq!(breaks(&shown), breaks(&text));
        assert!(shown.len() < 60, "{shown}");
    }
    let lines = "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7VJ\n";
    let known = secrets(&[("MY_KEY", lines)]);
    assert_eq!(
        known.veil("a MIIEvQIBADANBgkqhkiG9w0BAQEF b"),
        "a [secret MY_KEY, 28 characters] b"
    );
}

#[test]
fn tokens_are_known_by_their_prefixes() {
    let none = Secrets::default();
    for (begins, length, name) in [
        ("ghp_", 36, "GitHub token"),
        ("github_pat_", 82, "GitHub token"),
        ("glpat-", 20, "GitLab token"),
        ("sk-proj-", 100, "OpenAI key"),
        ("sk-ant-", 90, "Anthropic key"),
        ("sk-", 48, "OpenAI key"),
        ("AIza", 35, "Google API key"),
        ("npm_", 36, "npm token"),
        ("hf_", 34, "Hugging Face token"),
        ("xoxb-", 40, "Slack token"),
        ("sk_live_", 24, "Stripe key"),
    ] {
        let token = token(begins, length);
        let shown = none.veil(&format!("x={token}, y")).into_owned();
        assert_eq!(
            shown,
            format!("x=[secret {name}, {} characters], y", token.len())
        );
        // Within a word, cut short, or of one character it is none.
        for text in [
            format!("a{token}"),
            token.get(..begins.len() + 8).unwrap().to_owned(),
            format!("{begins}{}", "x".repeat(length)),
        ] {
            assert_eq!(none.veil(&text), text);
        }
    }
    let jwt = format!("eyJ{0}.eyJ{0}.{0}", "hbGciOiJIUzI1NiJ9");
    assert_eq!(
        none.veil(&jwt),
        format!("[secret JSON web token, {} characters]", jwt.len())
    );
    let key = format!("AKIA{}", "ABCDEFGH234567ZY");
    assert_eq!(none.veil(&key), "[secret AWS access key, 20 characters]");
    let body = format!("{}\n", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(2)).repeat(3);
    let title = "PRIVATE KEY-----";
    let pem = format!("-----BEGIN {title}\n{body}-----END {title}");
    let characters = pem.len() - 4;
    assert_eq!(
        none.veil(&format!("a {pem}\nb")),
        format!("a [secret private key, {characters} characters]\n\n\n\n\nb")
    );
    let cut = format!("-----BEGIN {title}\n{body}");
    assert!(!none.veil(&cut).contains("MII"), "{}", none.veil(&cut));
    let talk = format!("grep -- '-----BEGIN {title}' *\nnothing\n");
    assert_eq!(none.veil(&talk), talk);
}

#[test]
fn what_a_text_gives_to_a_secret_name_is_hidden() {
    let none = Secrets::default();
    for (text, hidden) in [
        (
            "API_TOKEN=abc make",
            "API_TOKEN=[secret API_TOKEN, 3 characters] make",
        ),
        (
            "export A_SECRET='x y';ls",
            "export A_SECRET='[secret A_SECRET, 3 characters]';ls",
        ),
        (
            "A_SECRET=\"x \\\" y\" ls",
            "A_SECRET=\"[secret A_SECRET, 6 characters]\" ls",
        ),
        (
            "x --password=abc|y",
            "x --password=[secret password, 3 characters]|y",
        ),
        (
            r#"{"env":{"A_TOKEN" : "x\"y"},"z":1}"#,
            r#"{"env":{"A_TOKEN" : "[secret A_TOKEN, 4 characters]"},"z":1}"#,
        ),
        ("API_TOKEN=$OTHER make", "API_TOKEN=$OTHER make"),
        ("API_TOKEN= make; echo token", "API_TOKEN= make; echo token"),
        ("PATH=/x:$PATH ls --key=2", "PATH=/x:$PATH ls --key=2"),
    ] {
        assert_eq!(none.hide(text), hidden, "{text}");
    }
}

#[test]
fn a_host_may_register_any_value_that_is_long_enough() {
    let mut known = Secrets::default();
    known.register(&[("deploy\nkey", " disabled ")]).unwrap();
    assert_eq!(
        known.veil("is disabled."),
        "is [secret deploykey, 8 characters]."
    );
    let refused = known.register(&[("x", "short")]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the secret x can't be hidden: it has fewer than 8 characters"
    );
    for number in 0..1000 {
        known
            .register(&[("n", &*format!("value-{number:04}-Aa"))])
            .unwrap();
    }
    assert_eq!(known.veil("<value-0999-Aa>"), "<[secret n, 13 characters]>");
}

#[test]
fn a_value_of_64_kib_is_one_like_others() {
    let value: String = (0..65536_u32)
        .map(|n| char::from(b'!' + (n * n % 89) as u8))
        .collect();
    let known = secrets(&[("BIG_TOKEN", &value)]);
    let text = format!("a {value} b {} c", STANDARD.encode(&value));
    let shown = known.veil(&text);
    assert!(shown.starts_with("a [secret BIG_TOKEN, 65536 characters] b [secret BIG_TOKEN, "));
    assert!(shown.ends_with(" c") && shown.len() < 90, "{}", shown.len());
    assert_eq!(known.undecided(&text.as_bytes()[..60_000], true), 59_998);
}

/// Whoever sends or prints it can't make it slow: these took minutes.
#[test]
fn many_lines_many_values_and_many_beginnings_take_linear_time() {
    let begun = std::time::Instant::now();
    let lines: Vec<String> = (0..6000).map(|n| format!("line-{n:013}")).collect();
    let env: Vec<(std::ffi::OsString, std::ffi::OsString)> = (0..20_000)
        .map(|n| (format!("N{n}_KEY").into(), format!("value-{n:09}").into()))
        .chain([("A_KEY".into(), lines.join("\n").into())])
        .collect();
    let known = Secrets::of(&env);
    let text = "value-000019999 line-0000000005999";
    let shown = known.veil(text).into_owned();
    assert!(
        !shown.contains("value-0") && !shown.contains("line-0"),
        "{shown}"
    );
    let beginnings = "-eyJ".repeat(64 * 1024);
    assert_eq!(known.veil(&beginnings), beginnings);
    known.undecided(beginnings.as_bytes(), true);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

/// Values of a few characters, so that they overlap and hold one another.
fn value() -> impl Strategy<Value = String> {
    prop_oneof!["[a-cé]{8,14}x", "[a-zA-Z0-9/+]{8,40}", "(abc){3,5}x"]
}

fn known() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(value(), 1..4)
}

/// A text in which values stand among other things.
fn text(values: Vec<String>) -> impl Strategy<Value = String> {
    let encoded: Vec<String> = (values.iter())
        .flat_map(|value| ["", "x", "xy"].map(|before| STANDARD.encode(format!("{before}{value}"))))
        .collect();
    let wrapped: Vec<String> = (values.iter())
        .flat_map(|value| {
            let (half, rest) = value.split_at(value.floor_char_boundary(4));
            ["\n", "\r\n"].map(|end| format!("{}{half}{end}{rest}", "y".repeat(60)))
        })
        .collect();
    let coloured: Vec<String> = values
        .iter()
        .map(|value| {
            let (half, rest) = value.split_at(value.floor_char_boundary(4));
            format!("{half}\u{1b}[1;31m{rest}")
        })
        .collect();
    let one = prop_oneof![
        proptest::sample::select(values),
        proptest::sample::select(encoded),
        proptest::sample::select(coloured),
        proptest::sample::select(wrapped),
        Just(format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            token("MIIE", 60)
        )),
        Just("\n-----END PGP PRIVATE KEY BLOCK-----".to_owned()),
        Just("ghp_".to_owned() + &"ab".repeat(20)),
        "[a-cé \n]{0,9}",
        "\\PC{0,6}",
        Just(token("ghp_", 36)),
        Just("ghp_".to_owned()),
        "\u{1b}\\[[0-9]{0,2}m",
        Just("y".repeat(70) + "\n"),
    ];
    proptest::collection::vec(one, 0..12).prop_map(|parts| parts.concat())
}

fn known_and_text() -> impl Strategy<Value = (Vec<String>, String)> {
    known().prop_flat_map(|values| (Just(values.clone()), text(values)))
}

fn all_of(values: &[String]) -> Secrets {
    let mut known = Secrets::default();
    for value in values {
        known.register(&[("IT", value)]).unwrap();
    }
    known
}

/// Whatever is decided while a text grows by single bytes.
fn decided_stays(known: &Secrets, text: &[u8]) {
    let whole = known.find(text, true);
    for upto in 0..text.len() {
        let so_far = &text[..upto];
        let settled = upto - known.undecided(so_far, true);
        let before = |runs: &[SecretRun<'_>]| -> Vec<_> {
            let runs = runs.iter().filter(|run| run.range.start < settled);
            runs.map(|run| run.range.clone()).collect()
        };
        assert_eq!(before(&known.find(so_far, true)), before(&whole), "{upto}");
    }
}

#[test]
fn what_may_go_on_is_not_decided() {
    let known = all_of(&["abcabcabcx".to_owned()]);
    let full = "y".repeat(60);
    let key = token("MIIE", 60);
    for text in [
        "YWJjYWJjYWJjeA==ghp_".to_owned(),
        // Too few different characters, so far.
        format!("ghp_{}1B2c3D4e5F", "ab".repeat(20)),
        format!("{full}abca\r\nbcabcx"),
        format!("{full}abca\r\u{1b}[1m\nbcabcx"),
        format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n"),
        format!(
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{key}\n-----END PGP PRIVATE KEY BLOCK-----\n"
        ),
    ] {
        decided_stays(&known, text.as_bytes());
    }
}

proptest! {
    #[test]
    fn no_value_stays_and_nothing_else_goes((values, text) in known_and_text()) {
        let known = all_of(&values);
        let shown = known.veil(&text).into_owned();
        let plain = |text: &str| {
            let squeezed = search_without_colours(text);
            values.iter().any(|value| squeezed.contains(value.trim()))
        };
        prop_assume!(!values.iter().any(|value| "[secret IT, 8 characters]".contains(&**value)));
        prop_assert!(!plain(&shown), "{shown:?}");
        // Whatever is not part of a run is there, in its order.
        let runs = known.find(text.as_bytes(), true);
        let mut rest = &*shown;
        let mut from = 0;
        for run in &runs {
            let between = text.get(from..run.range.start).unwrap();
            rest = rest.strip_prefix(between).unwrap().strip_prefix(&*run.mark()).unwrap();
            for part in &run.between {
                rest = rest.strip_prefix(text.get(part.clone()).unwrap()).unwrap();
            }
            from = run.range.end;
        }
        prop_assert_eq!(rest, text.get(from..).unwrap());
        prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
    }

    /// What was decided of a text that grows stays so.
    #[test]
    fn what_is_decided_stays_so((values, text) in known_and_text(), cut in 0.0..1.0_f64) {
        let known = all_of(&values);
        let bytes = text.as_bytes();
        let upto = (bytes.len() as f64 * cut) as usize;
        let so_far = &bytes[..upto];
        let settled = upto - known.undecided(so_far, true);
        let before = |text: &[u8]| -> Vec<_> {
            let runs = known.find(text, true).into_iter();
            let runs = runs.filter(|run| run.range.start < settled);
            runs.map(|run| (run.range, run.name.to_owned())).collect()
        };
        prop_assert_eq!(before(so_far), before(bytes));
    }

    /// A part with enough around it reads like the whole.
    #[test]
    fn what_is_near_decides((values, text) in known_and_text(), far in "[a-c ]{0,50}") {
        let known = all_of(&values);
        let padding = format!("{} {far}", " .".repeat(known.reach()));
        let whole = format!("{far}{padding}{text}{padding}");
        let part = format!("{padding}{text}{padding}");
        let shifted: Vec<_> = known.find(whole.as_bytes(), true).into_iter()
            .filter(|run| run.range.start >= far.len())
            .map(|run| run.range.start - far.len()..run.range.end - far.len()).collect();
        let alone: Vec<_> = known.find(part.as_bytes(), false).into_iter().map(|run| run.range).collect();
        prop_assert_eq!(shifted, alone);
    }

    #[test]
    fn any_text_is_read(text in "(\\PC|TOKEN|=|\"|'|:| ){0,60}") {
        let once = Secrets::default().hide(&text).into_owned();
        prop_assert_eq!(Secrets::default().hide(&once), once.as_str());
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), values in known()) {
        let known = all_of(&values);
        prop_assert!(known.undecided(&bytes, true) <= bytes.len());
        for run in known.find(&bytes, false) {
            prop_assert!(run.range.end <= bytes.len() && !run.range.is_empty());
        }
    }
}

/// A text as a terminal shows it.
fn search_without_colours(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        shown.push_str(before);
        rest = after.trim_start_matches(|one: char| one.is_ascii_digit() || one == ';');
        rest = rest.strip_prefix(|_: char| true).unwrap_or(rest);
    }
    shown + rest
}
