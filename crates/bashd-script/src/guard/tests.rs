//! Small facts about the rules; most cases are data, in `tests/cases/guard/`.

use super::*;

fn rules(toml: &str) -> Vec<UserRule> {
    #[derive(serde::Deserialize)]
    struct File {
        rules: Vec<UserRule>,
    }
    let file: File = toml::from_str(toml).expect("rules");
    for rule in &file.rules {
        assert_eq!(rule.problem(), None);
    }
    file.rules
}

fn verdict(guard: &Guard, text: &str) -> (u8, String) {
    let verdict = guard.check(&Script::parse(text), text);
    match verdict {
        Verdict::Allow => (0, String::new()),
        Verdict::Ask(objection) => (1, objection.rule),
        Verdict::Deny(objection) => (2, objection.rule),
    }
}

const OWN: &str = "
[[rules]]
name = 'free'
decision = 'allow'
command = 'git'
[[rules]]
name = 'ask-git'
decision = 'ask'
message = 'sure?'
command = 'git'
subcommand = ['stash drop', 'push']
[[rules]]
name = 'no-etc'
decision = 'deny'
message = 'not there'
paths = ['/etc', '~/.ssh']
[[rules]]
name = 'no-forced-helm'
decision = 'deny'
message = 'no force'
command = 'helm'
flags = ['-f', '--force']
[[rules]]
name = 'no-secret'
decision = 'deny'
message = 'a secret'
regex = 'AKIA[0-9A-Z]{4}'
";

#[test]
fn user_rules_match_over_the_view() {
    let guard = Guard::new([], &rules(OWN));
    for (text, expected) in [
        ("git status", (0, "")),
        ("git -C x stash drop", (1, "ask-git")),
        ("sudo git push origin x", (1, "ask-git")),
        ("git stash list", (0, "")),
        ("echo x > /etc/hosts", (2, "no-etc")),
        ("cp x /etc/", (2, "no-etc")),
        ("cat < /etc/hosts", (0, "")),
        ("cp x /etcetera", (0, "")),
        ("tar -xf a --directory=/etc/x", (2, "no-etc")),
        ("cat ~/.ssh/id", (2, "no-etc")),
        ("cat \"$HOME/.ssh\"", (2, "no-etc")),
        ("cat ~/.sshx", (0, "")),
        ("helm -xf --force=true y", (2, "no-forced-helm")),
        ("helm --force y", (0, "")),
        ("echo AKIA1234", (2, "no-secret")),
    ] {
        let (strictness, rule) = verdict(&guard, text);
        assert_eq!((strictness, rule.as_str()), expected, "{text}");
    }
}

#[test]
fn who_is_asked_about_the_text_is_asked_before_what_it_did() {
    const BOTH: &str = "
[[rules]]
name = 'effects-of-make'
decision = 'ask'
ask = 'effects'
message = 'look'
command = ['make', 'sudo']
[[rules]]
name = 'text-of-sudo'
decision = 'ask'
message = 'sure?'
command = 'sudo'
";
    let gate = Gate {
        guard: Guard::new([], &rules(BOTH)),
        ..Gate::default()
    };
    let judged = |text: &str| {
        let command = crate::rewrite::Command::as_given(text);
        let judgement = gate.judge(&command);
        let name = |objection: Option<&Objection>| objection.map(|found| found.rule.clone());
        (name(judgement.objection()), name(judgement.about_effects()))
    };
    let (effects, text) = ("effects-of-make".to_owned(), "text-of-sudo".to_owned());
    assert_eq!(
        judged("make"),
        (Some(effects.clone()), Some(effects.clone()))
    );
    assert_eq!(judged("make; sudo x"), (Some(text), Some(effects)));
    assert_eq!(judged("ls"), (None, None));
    let bad: UserRule =
        toml::from_str("name='x'\ndecision='deny'\nask='effects'\nmessage='m'\ncommand='x'")
            .expect("a rule");
    assert!(
        bad.problem()
            .is_some_and(|text| text.contains("decision is not `ask`"))
    );
}

#[test]
fn the_strictest_decision_wins_and_of_equals_the_first() {
    let guard = Guard::new(["no_force_push", "no_blind_git_add"], &rules(OWN)).to_the_letter();
    assert_eq!(verdict(&guard, "git push").1, "ask-git");
    assert_eq!(verdict(&guard, "git push -f").1, "no_force_push");
    assert_eq!(
        verdict(&guard, "git add -A; git push -f").1,
        "no_force_push"
    );
}

#[test]
fn what_can_not_be_read_is_denied_if_a_guard_is_on() {
    let deep = "( ".repeat(200);
    let guard = Guard::new(["no_mkfs"], &[]);
    assert_eq!(verdict(&guard, &deep).1, WITHIN_BOUNDS);
    assert_eq!(verdict(&Guard::default(), &deep).0, 0);
    assert_eq!(
        verdict(&guard, &format!("mkfs /dev/sdx; {deep}")).1,
        "no_mkfs"
    );
}

#[test]
fn an_objection_points_at_the_command() {
    let text = "echo a && sudo rm -rf / ; echo b";
    let guard = Guard::new(["no_dangerous_rm"], &[]);
    let Verdict::Deny(objection) = guard.check(&Script::parse(text), text) else {
        panic!("allowed");
    };
    let span = objection.span.expect("a span");
    assert_eq!(text.get(span.start..span.end), Some("rm -rf /"));
}

fn above() -> &'static [Ancestor] {
    static ABOVE: std::sync::OnceLock<[Ancestor; 2]> = std::sync::OnceLock::new();
    ABOVE.get_or_init(|| {
        [
            Ancestor::new(77, "bashd", "/usr/bin/bashd mcp"),
            Ancestor::new(55, "node", "node /opt/agent/cli.js --model x"),
        ]
    })
}

#[test]
fn what_would_end_a_process_above_asks() {
    let guard = Guard::new(["no_kill_all"], &[]);
    let asks = |text: &str| {
        !guard
            .objections(&Script::parse(text), text, above)
            .is_empty()
    };
    for text in [
        "kill 77",
        "kill -9 55",
        "kill -s KILL 1 77",
        "kill -- -55",
        "pkill node",
        "pkill -9 nod",
        "pkill -f cli.js",
        "pkill -f agent",
        "killall node",
        "killall -r 'no.e'",
        "pkill -x bashd",
        "sudo pkill -KILL bashd",
        "pkill -f 'node /opt'",
    ] {
        assert!(asks(text), "{text}");
    }
    for text in [
        "kill 78",
        "kill -0 77",
        "pkill -f 'node server.js'",
        "pkill -x nod",
        "killall nod",
        "pkill vite",
        "killall python3",
        "pkill -f ['x",
        "pgrep node",
        "kill %1",
        "pkill -f 'next dev'",
    ] {
        assert!(!asks(text), "{text}");
    }
}

#[test]
fn names_are_unique_and_messages_are_one_line() {
    for (index, rule) in RULES.iter().enumerate() {
        assert!(RULES[..index].iter().all(|other| other.name != rule.name));
    }
    for rule in RULES.iter().chain(DOCUMENTED) {
        let line = rule.line();
        assert!(!line.contains('\n'), "{line}");
        assert!(
            !rule.message.ends_with('.') && !rule.instead.ends_with('.'),
            "{line}"
        );
        let guard = Guard::new([rule.name], &[]);
        assert_eq!(verdict(&guard, rule.example).1, rule.name, "its example");
    }
    for rule in DOCUMENTED {
        assert!(rule.message.starts_with("permission denied: "));
    }
}
