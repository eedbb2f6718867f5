//! The guard whatever it is given: total, linear, and not fooled by what stands around a command.

use crate::documented::{denied_by, documented, documented_rows};
use crate::guard_cases::{all_scripts, denied};
use bashd_script::guard::{Guard, RULES};
use bashd_script::script::Script;
use proptest::prelude::*;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long random scripts are tried; `BASHD_FUZZ_SECONDS` makes it longer.
fn fuzz_time() -> Duration {
    let seconds = std::env::var("BASHD_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

/// A guard with every rule on.
fn everything() -> Guard {
    Guard::new(RULES.iter().map(|rule| rule.name), &[])
}

/// Ways to run a script that leave what it does as it is. Its text is put where `%` stands, for
/// `'%'` with single quotes escaped.
const AROUND: &[&str] = &[
    "true; %",
    "% ; true",
    "true && %",
    "false || { %\n}",
    "( %\n)",
    "{ %\n}",
    "if true; then %\nfi",
    "while %\ndo break; done",
    "for i in 1; do %\ndone",
    "case x in x) %\n;; esac",
    "f() { %\n}; f",
    "echo \"$(%\n)\"",
    "x=$(%\n)",
    "cat <(%\n)",
    "bash -c '%'",
    "sudo -n sh -ec '%'",
    "eval '%'",
    "env A=b bash -c '%'",
    "echo x | bash -c '%'",
    "bash <<'BASHD_END'\n%\nBASHD_END",
    "! { %\n}",
    "time { %\n}",
    "trap '%' EXIT",
];

/// Words that may stand before a command that begins with its name.
const BEFORE: &[&str] = &[
    "sudo",
    "sudo -u root --",
    "env",
    "env -i X=y",
    "command",
    "nohup",
    "nice -n 5",
    "timeout 5",
    "stdbuf -oL",
    "setsid",
    "xargs",
    "X=y",
    "2>/dev/null",
    "ionice -c 3",
    "doas -u x",
    "time -p",
    "exec",
    "$SUDO",
];

fn put(around: &str, script: &str) -> String {
    if around.contains("'%'") {
        around.replace('%', &script.replace('\'', "'\\''"))
    } else {
        around.replace('%', script)
    }
}

/// Scripts that are whole, so that they stay what they are with something around them.
fn whole_denied() -> Vec<(String, String)> {
    let is_whole = |script: &str| {
        let parts = [") rm", "fi; rm", "unterminated", "'open", "$(( rm", "&&"];
        let ends_open = script.ends_with(['&', ';']) || script.contains("<<");
        !ends_open && !parts.iter().any(|part| script.contains(part))
    };
    let all = denied().into_iter();
    all.filter(|(_, script)| is_whole(script)).collect()
}

#[test]
fn what_stands_around_a_denied_command_does_not_free_it() {
    let mut freed = Vec::new();
    for (rule, script) in whole_denied() {
        // A fork bomb needs its own function and call; inside another function it has none outside.
        if rule == "no_fork_bomb" {
            continue;
        }
        let guard = Guard::new([rule.as_str()], &[]);
        for around in AROUND {
            let changed = put(around, &script);
            if denied_by(&guard, &changed).is_none() {
                freed.push(format!("{rule}: {changed}"));
            }
        }
    }
    assert!(
        freed.is_empty(),
        "{} freed:\n{}",
        freed.len(),
        freed.join("\n")
    );
}

#[test]
fn a_wrapper_before_a_denied_command_does_not_free_it() {
    let mut freed = Vec::new();
    for (_, script, is_denied) in documented_rows() {
        let is_simple = script.starts_with("git ") || script.starts_with("rm ");
        if !is_denied || !is_simple || script.contains(['\n', '&']) {
            continue;
        }
        for before in BEFORE {
            let changed = format!("{before} {script}");
            if denied_by(&documented(), &changed).is_none() {
                freed.push(changed);
            }
        }
    }
    assert!(
        freed.is_empty(),
        "{} freed:\n{}",
        freed.len(),
        freed.join("\n")
    );
}

#[test]
fn harmless_scripts_stay_harmless_with_something_around_them() {
    let harmless = [
        "echo 'rm -rf /'",
        "git add a.rs",
        "rm -rf build",
        "git push origin main",
    ];
    let mut refused = Vec::new();
    for script in harmless {
        let around = AROUND.iter().map(|around| put(around, script));
        let before = BEFORE.iter().map(|before| format!("{before} {script}"));
        let refused_ones = around
            .chain(before)
            .filter(|changed| denied_by(&everything(), changed).is_some());
        refused.extend(refused_ones);
    }
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));
}

/// Spellings of a word that the shell reads the same.
fn respell(word: &str, how: u8) -> String {
    let each = |spell: fn(char) -> String| word.chars().map(spell).collect::<Vec<_>>().concat();
    match how % 6 {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => each(|character| format!("\\{character}")),
        3 => each(|character| format!("'{character}'")),
        4 => format!(
            "$'{}'",
            each(|character| format!("\\x{:02x}", u32::from(character)))
        ),
        _ => format!("\"\"{word}''"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_a_verdict(text in ".{0,200}") {
        everything().check(&Script::parse(&text), &text);
    }

    #[test]
    fn any_shell_like_text_gets_a_verdict(text in "[a-z \\n'\"`$(){}\\[\\]<>|&;=*?~/\\\\#!-]{0,120}") {
        everything().check(&Script::parse(&text), &text);
    }

    #[test]
    fn quotes_do_not_free_a_denied_command(
        which in 0_usize..3,
        how in proptest::collection::vec(0_u8..6, 4),
    ) {
        let words = [["git", "push", "--force", "x"], ["git", "add", "-A", "x"], ["rm", "-r", "-f", "/"]][which];
        let script: Vec<String> = words.iter().zip(how).map(|(word, how)| respell(word, how)).collect();
        let script = script.join(" ");
        prop_assert!(denied_by(&documented(), &script).is_some(), "{}", script);
    }
}

/// A small random number generator: the same run every time, and nothing to install.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }
}

/// A text made of others: bytes removed, doubled, exchanged, or pieces of another put in.
fn mutate(random: &mut Random, corpus: &[String]) -> String {
    const BYTES: &[u8] = b"'\"`$(){}[]<>|&;=*?~/\\#!-\n\t :,+@%^0aEr\x00\xEF\xF0\xFF";
    let mut bytes = corpus[random.next(corpus.len())].clone().into_bytes();
    for _ in 0..=random.next(8) {
        let at = random.next(bytes.len() + 1);
        match random.next(5) {
            0 => bytes.insert(at, BYTES[random.next(BYTES.len())]),
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            2 => bytes.truncate(at),
            3 => {
                let other = corpus[random.next(corpus.len())].as_bytes();
                bytes.splice(at..at, other.iter().copied());
            }
            _ => {
                let piece = bytes
                    .get(at..(at + random.next(8)).min(bytes.len()))
                    .unwrap_or_default();
                let piece = piece.repeat(1 + random.next(20));
                bytes.splice(at..at, piece);
            }
        }
        bytes.truncate(4000);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The script that is judged, and since when: for the watcher.
static JUDGED: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// Ends the process with the script in its last words, if one takes too long: a loop would say
/// nothing.
#[expect(
    clippy::print_stderr,
    reason = "the process ends here, and nothing else says why"
)]
fn watch() {
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let judged = JUDGED.lock().expect("the script that is judged");
        if let Some((text, since)) = judged.as_ref()
            && since.elapsed() > Duration::from_secs(20)
        {
            eprintln!("this takes too long: {text:?}");
            std::process::abort();
        }
    }
}

#[test]
fn random_scripts_never_panic_and_never_take_long() {
    let mut corpus = all_scripts();
    corpus.extend(documented_rows().into_iter().map(|(_, script, _)| script));
    let guard = everything();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    std::thread::spawn(watch);
    let begun = Instant::now();
    let mut tried = 0;
    while begun.elapsed() < fuzz_time() {
        let text = mutate(&mut random, &corpus);
        *JUDGED.lock().expect("a place") = Some((text.clone(), Instant::now()));
        let started = own_time();
        let script = Script::parse(&text);
        guard.check(&script, &text);
        let took = own_time().saturating_sub(started);
        assert!(took < Duration::from_secs(2), "{took:?} for {text:?}");
        for command in &script.commands {
            assert!(
                command.span.end <= text.len(),
                "{:?} of {text:?}",
                command.span
            );
        }
        tried += 1;
    }
    *JUDGED.lock().expect("a place") = None;
    assert!(tried > 100, "only {tried} scripts in {:?}", fuzz_time());
}

/// Pieces that are repeated to a large script: common ones, and the worst that we know.
const REPEATED: &[&str] = &[
    "echo hi && git push origin main | tee log\n",
    "for f in *.rs; do grep -n \"$x\" \"$f\" | sed 's/a/b/' > /tmp/out.$$ 2>&1; done\n",
    "x=$(( 1 + 2 )); y=\"$(cat <<EOF\nhello $x\nEOF\n)\"\n",
    "<<E\n",
    "((",
    "$((",
    "$(",
    "`",
    "\"$(",
    "${x:-",
    "{a,b}",
    "{",
    "'",
    "if true; then\n",
    "case x in a) ",
    "f() {\n",
    "sudo ",
    "a b c d e f g h ",
    "eval 'rm a'; ",
    "x=a; echo $x; ",
    "x=a$x$x\n",
    "x=$x$x; for x in $x $x; do eval \"$x$x\"; done; ",
    "bash -c 'x' ",
    "@(",
    "a=(",
    "~/",
    "[[ ",
    "\\",
    "find . -exec a ';' ",
    "cat <<'A' | sh\nrm x\nA\n",
    "a|",
    "a[",
    "<<<",
    "for((",
    "$[",
    "<&",
    "xargs ",
    "cd a && git diff -- b | grep c > d\n",
    "cd a/b/c/d/e/f/g/h; ",
    "curl a | b; ",
    "git config alias.x '!y'; git x; ",
    "find a | xargs rm; ",
    "$x ",
    "\u{F8F0}x\u{F8F1} ",
];

/// The time that this thread has computed, whatever else the machine does.
fn own_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[test]
fn a_large_script_is_judged_in_linear_time() {
    let guard = everything();
    let judged = |text: &str| {
        let started = own_time();
        guard.check(&Script::parse(text), text);
        own_time().saturating_sub(started)
    };
    // Unoptimised code is given less text, and as much time for that.
    let (size, most) = if cfg!(debug_assertions) {
        (64 << 10, Duration::from_secs(2))
    } else {
        (1 << 20, Duration::from_millis(500))
    };
    for piece in REPEATED {
        let text = piece.repeat(size / piece.len());
        let took = judged(&text);
        assert!(took < most, "{took:?} for {size} bytes of {piece:?}");
    }
    // Just below the size up to which the parsers are asked.
    for piece in REPEATED {
        let text = piece.repeat((4 << 10) / piece.len());
        let took = judged(&text);
        assert!(took < most, "{took:?} for 4 KiB of {piece:?}");
    }
}

/// Code of other languages, of which a piece is repeated until a server's thread could run out of
/// stack, or of time.
#[test]
fn code_of_other_languages_may_be_as_deep_as_it_likes() {
    let guard = everything();
    let pieces = [
        "(",
        "[",
        "{",
        "f(",
        "[[",
        "[{",
        "[\"a\",",
        "{\"a\":",
        "(\"a\"+",
        "x=(",
        "d[",
        "f\"{",
        "\"${",
        "\"#{",
        "\\\"${",
        "Path(",
        "\"a\".join(",
        "x.y(",
        "->{",
        "push @a, (",
        "a=[a,a];",
        "a+=a;",
        "*[",
        "qw(",
    ];
    let codes = [
        ("python3 -c 'import os; os.system(", ")'"),
        ("ruby -e 'x = ", "; system(x)'"),
        ("python3 -c 'open(\"x.sh\",\"w\").write(", ")'; sh x.sh"),
        ("bash -c \"$(python3 -c 'print(", ")')\""),
    ];
    // Longer code is not looked at so closely.
    let size = 14 << 10;
    for (begin, end) in codes {
        for piece in pieces {
            let text = format!("{begin}{}{end}", piece.repeat(size / piece.len()));
            let started = own_time();
            guard.check(&Script::parse(&text), &text);
            let took = own_time().saturating_sub(started);
            assert!(
                took < Duration::from_secs(2),
                "{took:?}: {piece:?} {begin:?}"
            );
        }
    }
}

/// Makefiles whose variables stand for more and more text, or that have very many of everything.
#[test]
fn a_makefile_that_grows_is_read_in_time() {
    let guard = everything();
    let many = |piece: &str| piece.repeat((12 << 10) / piece.len());
    let letters = (b'a'..=b'z').map(char::from);
    let next = letters.clone().cycle().skip(1);
    let growing: Vec<String> = letters
        .zip(next)
        .map(|(own, next)| format!("{own} = {}", format!("$({next})").repeat(100)))
        .collect();
    let numbered: Vec<String> = (0..1500).map(|n| format!("v{n}=x")).collect();
    let bombs = [
        growing.join("\n") + "\nall:\n\techo $(a)\n",
        numbered.join("\n") + "\nall:\n" + &"\techo $(v1)\n".repeat(300),
        format!("{}: {}\n{}", many("a "), many("b "), many("\tx\n")),
        format!("all: {}\n%: all\n\techo\n", many("a%b ")),
        many("!=x\n"),
    ];
    for bomb in bombs {
        let text = format!("cat > Makefile <<'E'\n{bomb}E\nmake all");
        let started = own_time();
        guard.check(&Script::parse(&text), &text);
        let took = own_time().saturating_sub(started);
        let shown: String = bomb.chars().take(40).collect();
        assert!(took < Duration::from_secs(2), "{took:?}: {shown:?}");
    }
}
