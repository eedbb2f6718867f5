//! The view of scripts small enough to be judged by eye, and what the parsers add to it.

use super::*;

/// Every command as its words, unknown ones as `?`.
fn shown(commands: &[SimpleCommand]) -> Vec<String> {
    let shown = commands.iter().map(|command| {
        let words = command.words.iter();
        let words = words.map(|word| word.known().unwrap_or("?").to_owned());
        words.collect::<Vec<_>>().join(" ")
    });
    shown.filter(|words| !words.is_empty()).collect()
}

fn commands(text: &str) -> Vec<String> {
    let script = Script::parse(text);
    assert_eq!(script.bound, None, "{text}");
    shown(&script.commands)
}

#[test]
fn quotes_are_removed_as_the_shell_removes_them() {
    for (text, expected) in [
        (r#"a b"c"'d'\e"#, "a bcde"),
        (r#"a "b \$c \" \x \\""#, "a b $c \" \\x \\"),
        (r"a 'b\n'", "a b\\n"),
        (r"a $'\x41\102\u43\t\'\cA'", "a AB\u{43}\t'\u{1}"),
        ("a \\\nb", "a b"),
        ("a 'x'''\"\"", "a x"),
        ("a $\"b\"", "a b"),
        ("a '*' \\? \"[x]\"", "a * ? [x]"),
        ("a b$ $", "a b$ $"),
        ("a é\\ü", "a éü"),
    ] {
        assert_eq!(commands(text), [expected], "{text}");
    }
}

#[test]
fn what_is_not_known_is_said_to_be_what_it_is() {
    let script =
        Script::parse("a *.rs ~/x ~root $HOME/y \"$z\" $(w) ${v%x} ${u:-t} @(a|b) [ab [ab]");
    let words = script.commands[0].arguments();
    let part = |index: usize| words[index].parts[0].clone();
    assert_eq!(part(0), WordPart::Glob("*".into()));
    assert_eq!(words[0].literal_or_glob().as_deref(), Some("*.rs"));
    assert_eq!(part(1), WordPart::Tilde("".into()));
    assert_eq!(part(2), WordPart::Tilde("root".into()));
    for home in &words[1..4] {
        assert!(home.after_home().is_some(), "{home:?}");
    }
    assert!(matches!(part(4), WordPart::Variable { quoted: true, .. }));
    assert_eq!(part(5), WordPart::Unknown { quoted: false });
    assert_eq!(part(6), WordPart::Unknown { quoted: false });
    assert!(words[9].has_glob() && words[9].is_literal_or_glob());
    assert_eq!(words[10].known(), Some("[ab"));
    assert!(words[11].has_glob());
}

#[test]
fn braces_make_several_words() {
    assert_eq!(commands("a x{1,2}y {b,{c,d}}"), ["a x1y x2y b c d"]);
    assert_eq!(commands("a {} {x} '{1,2}' {,}x"), ["a {} {x} {1,2} x x"]);
    assert_eq!(
        commands("a {1..3} {c..a} {1..999} ${x}"),
        ["a 1 2 3 a b c ? ?"]
    );
    assert_eq!(commands("a {~,b} c,~"), ["a ? b c,~"]);
    let many = format!("a {}", "{b,c}".repeat(5000));
    assert_eq!(commands(&many), ["a ?"]);
}

#[test]
fn places_tell_where_a_command_stands() {
    let script =
        Script::parse("a | b && c & (d); if e; then f; fi; g() { h; }; while i; do j; done | k");
    let place = |name: &str| {
        let found = script
            .commands
            .iter()
            .find(|command| command.name() == Some(name));
        found.map(|command| command.place).expect(name)
    };
    assert_eq!((place("a").stage, place("b").stage), (0, 1));
    assert_eq!(place("a").pipeline, place("b").pipeline);
    assert!(place("b").reads_pipe && !place("a").reads_pipe && !place("c").reads_pipe);
    assert_eq!(
        (place("b").joint, place("c").joint),
        (Joint::Pipe, Joint::And)
    );
    assert!(place("a").background && place("c").background && !place("d").background);
    assert!(place("d").inside.contains(Construct::Subshell));
    assert!(place("e").inside.contains(Construct::Condition));
    assert!(place("h").inside.contains(Construct::Function));
    assert!(place("j").inside.contains(Construct::Loop));
    assert_eq!((place("k").stage, place("k").reads_pipe), (1, true));
    assert_eq!(script.functions, ["g"]);
    let script = Script::parse("a | (b; c | d)");
    let reads = script
        .commands
        .iter()
        .map(|command| command.place.reads_pipe);
    assert_eq!(reads.collect::<Vec<_>>(), [false, true, true, true]);
}

#[test]
fn redirects_have_operator_descriptor_and_target() {
    use RedirectOperator as O;
    let script = Script::parse("a >x 2>&1 &>y >&z 3<>w {fd}<v >>\"$u\" <<<t <&- >|s");
    let redirects = &script.commands[0].redirects;
    let seen: Vec<_> = redirects
        .iter()
        .map(|r| (r.descriptor.as_deref(), r.operator, r.target.known()))
        .collect();
    let expected = [
        (None, O::Write, Some("x")),
        (Some("2"), O::DuplicateOutput, Some("1")),
        (None, O::WriteBoth, Some("y")),
        (None, O::WriteBoth, Some("z")),
        (Some("3"), O::ReadWrite, Some("w")),
        (Some("{fd}"), O::Read, Some("v")),
        (None, O::Append, None),
        (None, O::HereString, Some("t")),
        (None, O::DuplicateInput, Some("-")),
        (None, O::Clobber, Some("s")),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn here_documents_are_text_with_expansions() {
    let script = Script::parse("a <<E <<-'F'; b\nx $y $(c)\nE\n\tz $w\n\tF\nd");
    assert_eq!(shown(&script.commands), ["a", "b", "c", "d"]);
    let redirects = &script.commands[0].redirects;
    assert_eq!(redirects[0].target.known_beginning(), "x ");
    assert_eq!(redirects[1].target.known(), Some("z $w\n"));
}

#[test]
fn substitutions_hold_commands() {
    for (text, expected) in [
        ("a \"$(b; c)\"", vec!["a ?", "b", "c"]),
        ("a `b \\`c\\``", vec!["a ?", "b ?", "c"]),
        ("a ${ b; { c; }; } d", vec!["a ? d", "b", "c"]),
        ("a <(b) >(c)", vec!["a ? ?", "b", "c"]),
        ("a ${x:-$(b)} $((1 + $(c)))", vec!["a ? ?", "b", "c"]),
        ("x=(1 $(b)) a", vec!["a", "b"]),
    ] {
        let mut seen = commands(text);
        seen.sort();
        assert_eq!(seen, expected, "{text}");
    }
}

#[test]
fn wrappers_are_seen_through() {
    for (text, inner) in [
        ("sudo -u x -n -- a b", "a b"),
        ("sudo --user x A=1 a", "a"),
        ("env -i A=1 -u B a", "a"),
        ("timeout -s KILL 5 a", "a"),
        ("nice -n 5 ionice -c2 -n 3 a", "a"),
        ("stdbuf -oL -e 0 a", "a"),
        ("time -p a", "a"),
        ("exec -a n a", "a"),
        ("find . -name x -exec a b \\; -print", "a b"),
        ("bash -lc 'a b'", "a b"),
        ("zsh -o x -c 'a b'", "a b"),
        ("eval a 'b'", "a b"),
        ("trap 'a b' EXIT", "a b"),
        ("su - x -c 'a b'", "a b"),
        ("bash <<'E'\na b\nE", "a b\n"),
        ("echo 'a b' | sudo sh", "a b"),
        ("echo b | xargs -n 1 a", "a b"),
        ("$SUDO a b", "a b"),
        ("busybox a", "a"),
        ("\\sudo a", "a"),
    ] {
        let seen = commands(text);
        assert_eq!(
            seen.last().map(String::as_str),
            Some(inner.trim()),
            "{text}: {seen:?}"
        );
    }
    for text in [
        "command -v a",
        "sudo -l",
        "trap - EXIT",
        "bash x.sh",
        "timeout 5",
        "bash",
    ] {
        assert_eq!(commands(text).len(), 1, "{text}");
    }
}

#[test]
fn a_brace_opens_nothing_behind_a_command_that_is_timed() {
    for (text, expected) in [
        ("time a { -b /", vec!["time a { -b /"]),
        ("time a if", vec!["time a if"]),
        ("time -p a { b", vec!["time -p a { b"]),
        ("time -pp { b", vec!["time -pp { b"]),
        ("time { a; }", vec!["a"]),
        ("time -p { a; }", vec!["a"]),
        ("time -p -- if a; then b; fi", vec!["a", "b"]),
        ("time -- (a)", vec!["a"]),
        ("coproc n { a; }", vec!["a"]),
    ] {
        let mut scan = ScriptReader::new(text, 0);
        scan.read_all();
        assert!(scan.is_sound(), "{text}");
        let script = scan.finish(Readings::ScanOnly);
        assert_eq!(shown(&script.commands), expected, "{text}");
    }
}

#[test]
fn plain_variables_are_followed() {
    for (text, expected) in [
        ("x=b; a $x", "a b"),
        ("x=b; y=${x}c; a \"$y\"", "a bc"),
        ("x='b c'; a $x \"$x\"", "a b c b c"),
        ("x=; a $x b", "a b"),
        ("for x in b c; do a $x; done", "a b c"),
        ("export x=b; a $x", "a b"),
        ("x=b; x=$(y); a $x", "a ?"),
        ("x=b; read x; a $x", "a ?"),
        ("x=b; if y; then x=c; fi; a $x", "a b c"),
        ("bash -c 'a $1 $0' n b", "a b n"),
        ("x=b; eval 'a $x'", "a b"),
        ("x=b bash -c 'a $x'", "a b"),
        ("bash -c \"a $x '$y'\"", "a ? ?"),
    ] {
        let seen = commands(text);
        assert!(seen.iter().any(|seen| seen == expected), "{text}: {seen:?}");
    }
}

#[test]
fn spans_point_into_the_text() {
    let text = "x && bash -c 'y; rm  a' && sudo rm b";
    let script = Script::parse(text);
    let spans: Vec<&str> = script
        .commands
        .iter()
        .filter(|command| command.name() == Some("rm"))
        .filter_map(|command| text.get(command.span.start..command.span.end))
        .collect();
    assert_eq!(spans, ["rm  a", "rm b"]);
}

#[test]
fn bounds_fail_closed_and_nothing_below_them() {
    let nested = |depth: usize| format!("{}x{}", "( ".repeat(depth), ")".repeat(depth));
    assert_eq!(Script::parse(&nested(3000)).bound, Some(Bound::Depth));
    assert_eq!(Script::parse(&nested(40)).bound, None);
    assert_eq!(
        Script::parse(&"sudo ".repeat(1000)).bound,
        Some(Bound::Depth)
    );
    assert_eq!(
        Script::parse(&" ".repeat(MOST_BYTES + 1)).bound,
        Some(Bound::Size)
    );
    let mut script = "x".to_owned();
    for _ in 0..12 {
        script = format!(
            "eval \"{}\"",
            script.replace('\\', "\\\\").replace('"', "\\\"")
        );
    }
    assert_eq!(Script::parse(&script).bound, Some(Bound::Depth));
}

#[test]
fn who_could_read_it_is_said() {
    let readings = |text: &str| Script::parse(text).readings;
    for text in [
        "a b",
        "for x in a; do b $x; done",
        "[[ -d ~ ]] && a",
        "cat <<'E'; a\n1\nE",
    ] {
        assert_eq!(readings(text), Readings::ScanAndCheck, "{text}");
    }
    // The check does not know everything that bash accepts, nor what changes the grammar.
    for text in ["echo `date`", "shopt -s extglob; echo \"$(b)\""] {
        assert_eq!(readings(text), Readings::ScanAndTree, "{text}");
    }
    for text in ["cat <<A <<B\n1\nA\n2\nB", "for x do a; done", "a @(b)"] {
        assert_eq!(readings(text), Readings::ScanOnly, "{text}");
    }
    assert_eq!(readings("a 'b"), Readings::ScanOnly);
    assert_eq!(
        readings("99999999999999>x <<A <<B\nA\nB\n"),
        Readings::ScanOnly
    );
}

/// Scripts of the case files that bash accepts, if a parser may read them.
fn oracle_scripts() -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct File {
        case: Vec<Case>,
    }
    #[derive(serde::Deserialize)]
    struct Case {
        script: String,
    }
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../bashd/tests/cases/oracle");
    let entries = std::fs::read_dir(folder).expect("the oracle's cases");
    let texts = entries.map(|entry| std::fs::read_to_string(entry.expect("an entry").path()));
    let files = texts.map(|text| toml::from_str::<File>(&text.expect("a file")).expect("cases"));
    let scripts = files.flat_map(|file| file.case).map(|case| case.script);
    scripts
        .filter(|script| parser_limits::allow(script))
        .collect()
}

#[test]
fn the_scan_and_the_parsers_see_the_same_commands() {
    let scripts = oracle_scripts();
    assert!(scripts.len() > 150, "only {} scripts", scripts.len());
    let mut differences = Vec::new();
    for text in &scripts {
        let mut scan = ScriptReader::new(text, 0);
        scan.read_all();
        let seen: Vec<usize> = scan.command_starts().collect();
        // brush-parser is strict about syntax, tree-sitter takes `done` for a command.
        let strict = second_opinion::read(text);
        if strict.is_some() && !scan.is_sound() {
            differences.push(format!("unsound: {text:?}"));
        }
        let tree = || tree::read(text).filter(|tree| !tree.has_error);
        let parsed = match strict {
            // tree-sitter takes arithmetic in a here-document for a substitution.
            None if text.contains("<<") => None,
            None => tree().map(|tree| tree.starts),
            strict => strict,
        };
        for start in parsed.into_iter().flatten() {
            // `time` is a word to us, and its command is seen through it.
            let is_timed = text
                .get(..start)
                .is_some_and(|before| before.ends_with("time "));
            if scan.is_sound() && !is_timed && !seen.contains(&start) {
                differences.push(format!("{:?} in {text:?}", text.get(start..)));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{}:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn statements_on_lines_of_their_own_are_told_apart() {
    for (text, expected) in [
        ("a", vec!["a"]),
        ("a; b && c\nd", vec!["a; b && c", "d"]),
        ("a \\\n  b", vec!["a \\\n  b"]),
        (
            "for x in 1\ndo\n  y\ndone",
            vec!["for x in 1\ndo\n  y\ndone"],
        ),
        ("cat <<E\nx\nE\n", vec!["cat <<E\nx\nE"]),
        ("# why\na # this\n\nb", vec!["a # this", "b"]),
        ("echo 'a\nb'", vec!["echo 'a\nb'"]),
        ("echo 'a", vec!["echo 'a"]),
        ("", vec![""]),
        ("echo ä\necho ö", vec!["echo ä", "echo ö"]),
    ] {
        assert_eq!(super::statements(text), expected, "{text:?}");
    }
}
