//! Jobs whose effects are held, or become real when they end, also if who started them is gone.

use super::{HoldingEngine, bash, until};
use bashd::changes::{ChangeFailure, ChangeState, Effects};
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::as_each_user;
use std::fs;
use std::io::PipeWriter;

/// Starts a job that writes a file, waits until its input ends, and writes another.
fn begin(site: &HoldingEngine, effects: Effects) -> (Reply, PipeWriter) {
    bash("echo old >old", &site.home.workspace());
    // A fifo of the workspace would be another one in the layer.
    let (reading, writing) = std::io::pipe().expect("a pipe");
    let command = "echo one >one; rm old; cat >two; echo two >>two";
    let request = Request::new(command).stdin_from(reading).background();
    let reply = site.run(request.effects(effects));
    assert!(reply.job.is_some(), "{reply:?}");
    (reply, writing)
}

fn state(site: &HoldingEngine) -> Option<ChangeState> {
    let changes = site.store().list().expect("changes");
    changes.first().map(bashd::changes::Change::state)
}

#[test]
fn what_an_undoable_job_does_is_real_when_it_ends() {
    as_each_user(|| {
        let site = HoldingEngine::new();
        let root = site.home.workspace();
        let (reply, input) = begin(&site, Effects::Undoable);
        assert!(reply.text.contains("become real when it ends"), "{reply:?}");
        assert_eq!(state(&site), Some(ChangeState::Running));
        assert!(root.join("old").exists() && !root.join("one").exists());
        drop(input);
        // Nobody looks: the engine does it by itself.
        until(|| root.join("two").exists());
        assert!(root.join("one").exists() && !root.join("old").exists());
        until(|| state(&site) == Some(ChangeState::Applied));
        let id = site.store().list().expect("changes")[0].id().to_owned();
        site.undo(&id);
        assert!(root.join("old").exists() && !root.join("two").exists());
        // And nothing applies it again.
        site.store().finish_jobs();
        assert_eq!(state(&site), Some(ChangeState::Undone));
    });
}

#[test]
fn the_next_engine_applies_what_a_job_did_whose_own_is_gone() {
    let mut site = HoldingEngine::new();
    let root = site.home.workspace();
    let (_, input) = begin(&site, Effects::Undoable);
    // A mark alone is left of the first engine's promise: its thread is kept from doing it.
    let marks = site.home.state().join("changes/at-end");
    let mark = fs::read_dir(&marks).expect("marks").next().expect("one");
    let mark = mark.expect("one").path();
    fs::remove_file(&mark).expect("removed");
    drop(input);
    until(|| state(&site) == Some(ChangeState::Held));
    assert!(!root.join("two").exists());
    fs::write(&mark, "").expect("the mark");
    let (config, cwd, env) = (site.engine.config().clone(), root.clone(), site.home.env());
    let surroundings = bashd::Surroundings { cwd, env };
    site.engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
    until(|| root.join("two").exists() && !mark.exists());
}

#[test]
fn a_job_that_is_held_or_asked_about_is_held_until_somebody_applies_it() {
    for mode in [Effects::Hold, Effects::Ask] {
        let site = HoldingEngine::new();
        let root = site.home.workspace();
        let (reply, input) = begin(&site, mode);
        assert!(reply.text.contains("are held as"), "{reply:?}");
        drop(input);
        until(|| state(&site) == Some(ChangeState::Held));
        assert!(!root.join("two").exists() && root.join("old").exists());
        let id = site.store().list().expect("changes")[0].id().to_owned();
        site.apply(&id);
        assert!(root.join("two").exists() && !root.join("old").exists());
    }
}

#[test]
fn a_conflict_leaves_what_a_job_did_held() {
    let site = HoldingEngine::new();
    let root = site.home.workspace();
    let (_, input) = begin(&site, Effects::Undoable);
    fs::write(root.join("one"), "mine").expect("a file");
    let marks = site.home.state().join("changes/at-end");
    drop(input);
    until(|| fs::read_dir(&marks).is_ok_and(|mut marks| marks.next().is_none()));
    assert_eq!(state(&site), Some(ChangeState::Held));
    assert_eq!(fs::read_to_string(root.join("one")).expect("it"), "mine");
    assert!(root.join("old").exists() && !root.join("two").exists());
}

#[test]
fn what_somebody_removes_while_it_is_changed_does_not_come_back() {
    as_each_user(|| {
        let site = HoldingEngine::new();
        let root = site.home.workspace();
        let prepare =
            "for name in kept gone moved edited; do echo $name >$name; done; mkdir d; echo x >d/x";
        bash(prepare, &root);
        let (reading, writing) = std::io::pipe().expect("a pipe");
        let command = "echo 2 >>gone; echo 2 >>kept; mv moved renamed; mv edited changed; echo 2 >>changed; \
                       echo 2 >>d/x; echo new >new; cat; echo end >end";
        let request = Request::new(command).stdin_from(reading).background();
        let reply = site.run(request.effects(Effects::Hold));
        assert!(reply.job.is_some(), "{reply:?}");
        let id = site.store().list().expect("changes")[0].id().to_owned();
        let layer = site.home.state().join("changes").join(&id).join("0/upper");
        until(|| layer.join("new").exists());
        bash("rm gone; rm -r d", &root);
        drop(writing);
        until(|| state(&site) == Some(ChangeState::Held));
        let all = bashd::changes::Moved::default();
        let refused = site.store().apply(&id, &all);
        let Err(ChangeFailure::Conflicts(conflicts)) = refused else {
            panic!("{refused:?}")
        };
        let told: Vec<_> = conflicts
            .iter()
            .map(|one| {
                (
                    one.path.strip_prefix(&root).expect("below").to_owned(),
                    &*one.why,
                )
            })
            .collect();
        // What was renamed unchanged is told from what was removed; of what was renamed and changed
        // nothing can be told once its directory is another, so that is refused rather than lost.
        let removed = "was removed by somebody else meanwhile";
        let expected =
            ["changed", "d", "gone"].map(|name| (std::path::PathBuf::from(name), removed));
        assert_eq!(told, expected);
        assert!(!root.join("gone").exists() && !root.join("d").exists());
        let named: Vec<_> = ["kept", "renamed", "moved", "new", "end"]
            .map(|name| root.join(name))
            .into();
        let some = bashd::changes::Moved {
            paths: &named,
            force: false,
        };
        site.store().apply(&id, &some).expect("the others");
        assert!(root.join("renamed").exists() && !root.join("moved").exists());
    });
}

#[test]
fn what_is_renamed_and_changed_in_peace_is_no_conflict() {
    let site = HoldingEngine::new();
    let root = site.home.workspace();
    bash("echo one >one; echo two >two; mkdir d; echo x >d/x", &root);
    let id = site.hold("mv one three; echo 2 >>three; mv two d/two; echo 2 >>d/two; echo 2 >>d/x");
    site.apply(&id);
    assert!(
        root.join("three").exists() && root.join("d/two").exists() && !root.join("one").exists()
    );
}
