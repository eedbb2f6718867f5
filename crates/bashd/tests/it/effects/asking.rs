//! Asking by effects: a command runs, somebody sees what it did, and says whether it becomes real.

use super::{HoldingEngine, bash, picture, until};
use bashd::approval::{Approval, ApprovalAnswer};
use bashd::changes::{ChangeState, Effects};
use bashd::config::{ConfigFile, Sources, resolve};
use bashd::{Call, Reply, Request};
use bashd_testkit::{Home, as_each_user};
use std::fs;
use std::sync::{Arc, Mutex};

/// What somebody was asked.
type Asked = Arc<Mutex<Vec<Approval>>>;

/// A call whose approver says this, and what it was asked.
fn asked_call(request: Request, answer: ApprovalAnswer) -> (Call, Asked) {
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    let call = Call::from(request).approved_by(Arc::new(move |approval: Approval| {
        noted.lock().expect("it").push(approval);
        Box::pin(async move { answer })
    }));
    (call, asked)
}

impl HoldingEngine {
    fn ask(&self, request: Request, answer: ApprovalAnswer) -> (Reply, Vec<Approval>) {
        let (call, asked) = asked_call(request, answer);
        let reply = self.runtime.block_on(self.engine.run(call));
        let asked = asked.lock().expect("it").drain(..).collect();
        (reply, asked)
    }

    /// An engine with this configuration.
    fn configured(text: &str) -> Self {
        Self::with(|home: &Home, config| {
            let sources = Sources {
                state_dir: home.state(),
                file: Some(ConfigFile {
                    path: home.root().join("config.toml"),
                    text: text.to_owned(),
                }),
                ..Sources::default()
            };
            *config = resolve(&sources).expect("a configuration").0;
        })
    }
}

fn changes(reply: &Reply) -> (&str, u64, u64, u64) {
    let changes = reply.changes.as_ref();
    let changes = changes.unwrap_or_else(|| panic!("{reply:?}"));
    let state = &*changes.state;
    (state, changes.created, changes.modified, changes.deleted)
}

const BUSY: &str = "echo new >made; rm -r src; echo 2 >>kept; echo done; echo x >../bashd-none";

#[test]
fn what_somebody_allows_becomes_real_and_can_be_undone() {
    as_each_user(|| {
        let site = HoldingEngine::new();
        let root = site.home.workspace();
        bash("mkdir src; echo a >src/a; echo 1 >kept", &root);
        let before = picture(&root);
        let request = || Request::new(BUSY).effects(Effects::Ask);
        let (reply, asked) = site.ask(request(), ApprovalAnswer::Once);
        let [asked] = &*asked else {
            panic!("one question: {asked:?}")
        };
        let effects = asked.effects.as_ref().expect("effects");
        let paths: Vec<_> = effects.change.paths();
        assert_eq!(paths.len(), 3, "a directory that is gone is one: {paths:?}");
        assert_eq!(effects.told.changed, "1 created, 1 modified, 2 deleted");
        assert!(
            effects
                .told
                .refused
                .iter()
                .any(|line| line.contains("bashd-none")),
            "{effects:?}"
        );
        assert_eq!(changes(&reply), ("applied", 1, 1, 2), "{reply:?}");
        assert!(
            reply.denied.is_none() && reply.output.starts_with("done\n"),
            "{reply:?}"
        );
        assert!(root.join("made").exists() && !root.join("src").exists());
        let id = reply.changes.and_then(|changes| changes.id).expect("an id");
        site.undo(&id);
        assert_eq!(picture(&root), before);
    });
}

#[test]
fn what_nobody_allows_is_discarded_and_the_model_is_told() {
    for (answer, why) in [
        (ApprovalAnswer::Refused, "did not allow them"),
        (ApprovalAnswer::Nobody, "nobody could be asked"),
    ] {
        let site = HoldingEngine::new();
        let root = site.home.workspace();
        bash("mkdir src; echo a >src/a; echo 1 >kept", &root);
        let before = picture(&root);
        let (reply, asked) = site.ask(Request::new(BUSY).effects(Effects::Ask), answer);
        assert_eq!(asked.len(), 1);
        assert_eq!(changes(&reply), ("discarded", 1, 1, 2), "{reply:?}");
        assert!(
            reply.is_error && reply.text.contains("nothing of it is real"),
            "{reply:?}"
        );
        assert!(
            reply.text.contains(why) && reply.output.contains("done"),
            "{reply:?}"
        );
        let denied = reply.denied.as_ref().expect("a denial");
        assert!(
            denied.rule == "effects" && denied.message.contains("was discarded"),
            "{denied:?}"
        );
        assert_eq!(picture(&root), before);
        assert!(site.store().list().expect("changes").is_empty());
    }
    // Nobody at all.
    let site = HoldingEngine::new();
    let reply = site.run(Request::new("echo x >made").effects(Effects::Ask));
    assert_eq!(changes(&reply).0, "discarded", "{reply:?}");
    assert!(!site.home.workspace().join("made").exists());
}

#[test]
fn who_changes_nothing_is_not_asked_about_and_an_answer_is_for_once() {
    let site = HoldingEngine::new();
    let (reply, asked) = site.ask(
        Request::new("ls").effects(Effects::Ask),
        ApprovalAnswer::Refused,
    );
    assert_eq!((asked.len(), changes(&reply).0), (0, "none"), "{reply:?}");
    for answer in [ApprovalAnswer::Always, ApprovalAnswer::Session] {
        for _ in 0..2 {
            let request = Request::new("date +%N >made").effects(Effects::Ask);
            let (reply, asked) = site.ask(request, answer);
            assert_eq!(asked.len(), 1, "asked again");
            assert_eq!(changes(&reply).0, "applied", "{reply:?}");
        }
    }
    assert!(!site.home.state().join("grants").exists());
}

const RULES: &str = "
[[rules]]
name = 'look-at-make'
decision = 'ask'
ask = 'effects'
message = 'a makefile does anything'
command = 'make'
examples.deny = ['make x']
examples.allow = ['ls']
[[rules]]
name = 'sure'
decision = 'ask'
message = 'sure?'
command = 'touch'
examples.deny = ['touch x']
examples.allow = ['ls']
";

#[test]
fn a_rule_asks_by_effects() {
    let site = HoldingEngine::configured(RULES);
    let root = site.home.workspace();
    bash("printf 'x:\\n\\techo made >x\\n' >Makefile", &root);
    let (reply, asked) = site.ask(Request::new("make x"), ApprovalAnswer::Refused);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].objection.rule, "look-at-make");
    assert!(asked[0].effects.is_some());
    assert_eq!(reply.denied.as_ref().expect("it").rule, "look-at-make");
    assert!(!root.join("x").exists());
    // By text first, and only then by what it did.
    let (reply, asked) = site.ask(Request::new("make x; touch y"), ApprovalAnswer::Once);
    let by: Vec<_> = asked
        .iter()
        .map(|one| (&*one.objection.rule, one.effects.is_some()))
        .collect();
    assert_eq!(by, [("sure", false), ("look-at-make", true)]);
    assert_eq!(changes(&reply), ("applied", 2, 0, 0), "{reply:?}");
    let (reply, asked) = site.ask(Request::new("make x; touch z"), ApprovalAnswer::Refused);
    assert_eq!(asked.len(), 1, "it did not run");
    assert_eq!(reply.exit_code, None, "{reply:?}");
    // What no rule is about is real at once.
    let (reply, asked) = site.ask(Request::new("echo >plain"), ApprovalAnswer::Refused);
    assert!(asked.is_empty() && reply.changes.is_none() && root.join("plain").exists());
    // What is only held is not asked about: a person applies it.
    let held = Request::new("rm x; make x").effects(Effects::Hold);
    let (reply, asked) = site.ask(held, ApprovalAnswer::Once);
    assert!(asked.is_empty(), "{asked:?}");
    assert_eq!(changes(&reply).0, "held", "{reply:?}");
}

#[test]
fn a_profile_asks_by_effects() {
    let site = HoldingEngine::with(|home, config| {
        let own = include_str!("../../../profiles/default.toml")
            .replace("name = \"default\"", "name = \"looking\"");
        let (before, after) = own.split_once("[guard]\n").expect("a guard");
        let directory = home.root().join("profiles");
        fs::create_dir(&directory).expect("a directory");
        let own = format!("{before}[guard]\nask = \"effects\"\n{after}");
        fs::write(directory.join("looking.toml"), own).expect("a profile");
        config.profiles_dir = Some(directory);
        config.profile = "looking".to_owned();
    });
    let (reply, asked) = site.ask(
        Request::new("echo x >made").profile("looking"),
        ApprovalAnswer::Once,
    );
    assert_eq!(
        (asked.len(), changes(&reply).0),
        (1, "applied"),
        "{reply:?}"
    );
    let (reply, asked) = site.ask(
        Request::new("echo x >now").profile("default"),
        ApprovalAnswer::Refused,
    );
    assert!(asked.is_empty() && reply.changes.is_none(), "{reply:?}");
}

#[test]
fn who_goes_away_while_somebody_is_asked_leaves_nothing() {
    let site = HoldingEngine::new();
    let made = site.home.workspace().join("made");
    let request = || Request::new("echo x >made").effects(Effects::Ask);
    // Its future is dropped, or the call is cancelled.
    for cancels in [false, true] {
        let (asks, mut asked) = tokio::sync::mpsc::unbounded_channel();
        let call = Call::from(request()).approved_by(Arc::new(move |_| {
            asks.send(()).expect("somebody");
            Box::pin(std::future::pending())
        }));
        let cancel = bashd::CancellationToken::new();
        let call = call.cancel_by(cancel.clone());
        let reply = site.runtime.block_on(async {
            let mut running = Box::pin(site.engine.run(call));
            tokio::select! {
                reply = &mut running => panic!("{reply:?}"),
                asked = asked.recv() => asked.expect("a question"),
            }
            if cancels {
                cancel.cancel();
                Some(running.await)
            } else {
                None
            }
        });
        if let Some(reply) = reply {
            assert_eq!(changes(&reply).0, "discarded", "{reply:?}");
            assert!(reply.text.contains("cancelled"), "{reply:?}");
        }
        until(|| site.store().list().expect("changes").is_empty());
        assert!(!made.exists());
    }
}

#[test]
fn what_a_person_decided_elsewhere_meanwhile_stays() {
    let site = HoldingEngine::new();
    let root = site.home.workspace();
    for (applies, answer) in [
        (true, ApprovalAnswer::Refused),
        (false, ApprovalAnswer::Once),
    ] {
        let store = site.store();
        let call = Call::from(Request::new("echo x >>made").effects(Effects::Ask));
        let call = call.approved_by(Arc::new(move |approval: Approval| {
            let id = approval
                .effects
                .as_ref()
                .expect("effects")
                .change
                .id()
                .to_owned();
            if applies {
                store
                    .apply(&id, &bashd::changes::Moved::default())
                    .expect("applied");
            } else {
                store.discard(&id).expect("discarded");
            }
            Box::pin(async move { answer })
        }));
        let reply = site.runtime.block_on(site.engine.run(call));
        let expected = if applies { "applied" } else { "discarded" };
        assert_eq!(changes(&reply).0, expected, "{reply:?}");
        assert_eq!(fs::read_to_string(root.join("made")).expect("it"), "x\n");
    }
    let listed = site.store().list().expect("changes");
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].state(), ChangeState::Applied);
}

#[test]
fn where_layers_can_not_be_had_it_does_not_run() {
    let site = HoldingEngine::configured("[confinement]\nmost = 'landlock'");
    let (reply, asked) = site.ask(
        Request::new("touch made").effects(Effects::Ask),
        ApprovalAnswer::Once,
    );
    assert!(asked.is_empty());
    assert!(
        reply
            .error
            .as_deref()
            .is_some_and(|why| why.contains("`full`")),
        "{reply:?}"
    );
    assert!(!site.home.workspace().join("made").exists());
}

#[test]
fn a_session_says_that_the_call_runs_apart() {
    let site = HoldingEngine::new();
    let request = Request::new("echo x >made")
        .session("s")
        .effects(Effects::Ask);
    let (reply, asked) = site.ask(request, ApprovalAnswer::Once);
    assert_eq!(asked.len(), 1);
    assert!(
        reply.text.contains("runs in a shell of its own"),
        "{reply:?}"
    );
    assert!(site.home.workspace().join("made").exists());
}
