//! Which files and system calls a confined command was refused, as its reply tells it.

use super::{ConfinedEngine, plant};
use bashd::approval::{ApprovalAnswer, Approver};
use bashd::config::{Config, RefusalReport};
use bashd::plan::Level;
use bashd::request::NeededAccess;
use bashd::{Reply, Request};
use bashd_testkit::{Home, as_each_user, repetitions};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn watching(config: &mut Config) {
    config.confinement.report = RefusalReport::All;
}

/// An engine with a directory beside its workspace, which commands see and can't write.
fn site(change: impl FnOnce(&mut Config)) -> (ConfinedEngine, PathBuf) {
    let home = Home::new();
    let outside = home.root().join("outside");
    fs::create_dir(&outside).expect("a directory outside");
    plant(&outside.join("file"));
    plant(&outside.join("gone"));
    fs::create_dir(home.home().join(".ssh")).expect("a directory of keys");
    plant(&home.home().join(".ssh/id"));
    fs::create_dir_all(home.workspace().join(".git/hooks")).expect("hooks");
    plant(&home.workspace().join(".git/config"));
    let seen = vec!["/".to_owned(), outside.display().to_string()];
    let site = ConfinedEngine::with(home, |_, config| {
        config.confinement.read = seen;
        change(config);
    });
    (site, outside)
}

fn told(reply: &Reply) -> Vec<(String, u64)> {
    let refused = reply.refused.iter();
    let text = |one: &bashd::plan::Refused| format!("{} {}", one.kind.name(), one.what);
    refused.map(|one| (text(one), one.count)).collect()
}

#[test]
fn refused_files_are_told_and_nothing_else() {
    as_each_user(|| {
        for most in [Level::Full, Level::Landlock] {
            let (site, outside) = site(|config| {
                watching(config);
                (config.confinement.most, config.confinement.require) = (most, most);
            });
            let out = outside.display();
            // What works, what is not there, and what nobody may do are no refusals.
            let allowed = format!(
                "echo x > made; mv made other; rm other; mkdir d; rmdir d; echo x > ${{TMPDIR:-/tmp}}/t; \
                 cat {out}/file /nosuch/file; echo x > /dev/null; echo x > /dev/stderr; \
                 echo x > /nosuch/file; ls /; test -w {out}/file; chmod 700 .; true"
            );
            let reply = site.run(Request::new(allowed));
            assert_eq!(told(&reply), [], "{most}: {reply:?}");
            let held = reply.confinement.expect("a confinement");
            assert!(held.files_watched && held.level == most, "{held:?}");

            let key = site.home.home().join(".ssh/id");
            let refused = format!(
                "cd {out}; echo x > file; echo x > file; echo x > new; mkdir d; rm -f gone; mv gone x; \
                 cat {}; cd /; echo x > ..{out}/./file; unshare -U true",
                key.display()
            );
            let reply = site.run(Request::new(refused));
            let expected = [
                (format!("write {out}/file"), 3),
                (format!("write {out}/new"), 1),
                (format!("write {out}/d"), 1),
                (format!("write {out}/gone"), 2),
                (format!("write {out}/x"), 1),
                (format!("read {}", key.display()), 1),
                ("syscall unshare".to_owned(), 1),
            ];
            assert_eq!(told(&reply), expected, "{most}: {reply:?}");
            let line = format!("[refused by confinement: write {out}/file (3 times); ");
            assert!(reply.text.contains(&line), "{reply:?}");
            // A person can grant the files; for what is not there, its directory.
            let grantable = reply.grantable.expect("something to grant");
            let [file, gone] =
                ["file", "gone"].map(|name| outside.join(name).display().to_string());
            assert_eq!(grantable.write, [file, out.to_string(), gone]);
            assert!(grantable.network.is_empty(), "{grantable:?}");
        }
    });
}

#[test]
fn what_is_protected_is_told_when_it_would_be_replaced() {
    as_each_user(|| {
        let (site, _) = site(|config| {
            watching(config);
            config.guard_disable = vec!["no_tree_replaced".to_owned()];
        });
        let script = "echo x > .git/lock && mv -f .git/lock .git/config; echo x > .git/hooks/made; \
                      mv .git elsewhere";
        let reply = site.run(Request::new(script));
        let place = site.home.workspace().join(".git");
        let place = place.display();
        let told = told(&reply);
        for path in ["/config", "/hooks/made", ""] {
            let wanted = format!("write {place}{path}");
            assert!(
                told.iter().any(|(text, _)| *text == wanted),
                "{wanted}: {reply:?}"
            );
        }
        assert_eq!(
            fs::read_to_string(format!("{place}/config")).unwrap(),
            super::CANARY
        );
    });
}

#[test]
fn a_session_tells_what_each_of_its_calls_was_refused() {
    let (site, outside) = site(watching);
    let write = |name: &str| format!("echo x > {}/{name}", outside.display());
    for name in ["a", "b", "a"] {
        let reply = site.run(Request::new(write(name)).session("one"));
        let expected = (format!("write {}/{name}", outside.display()), 1);
        assert_eq!(told(&reply), [expected], "{reply:?}");
    }
}

#[test]
fn files_are_not_watched_unless_that_is_asked_for() {
    let (site, outside) = site(|_| {});
    let reply = site.run(Request::new(format!("echo x > {}/a", outside.display())));
    assert!(
        reply.refused.is_empty() && reply.grantable.is_none(),
        "{reply:?}"
    );
    assert!(!reply.confinement.expect("a confinement").files_watched);
}

#[test]
fn a_command_that_may_be_repeated_is_watched_after_it_failed() {
    for started_shells in [0, 1] {
        let (site, outside) = site(|config| {
            config.confinement.report = RefusalReport::Retry;
            config.started_shells = started_shells;
        });
        let runs = || {
            let text = fs::read_to_string(site.home.workspace().join("runs"));
            text.unwrap_or_default().lines().count()
        };
        let fails = format!("echo run >> runs; cat; echo x > {}/a", outside.display());
        let request = || {
            let mut request = Request::new(&fails);
            request.stdin = bashd::plan::StdinSource::Bytes(b"typed".to_vec());
            request
        };
        let once = site.run(request());
        assert!(runs() == 1 && once.refused.is_empty(), "{once:?}");
        let twice = site.run(request().repeatable());
        assert_eq!(runs(), 3, "{twice:?}");
        let refused = told(&twice);
        let expected = (format!("write {}/a", outside.display()), 1);
        assert!(
            refused == [expected] && twice.exit_code == Some(1),
            "{twice:?}"
        );
        assert_eq!(twice.output.matches("typed").count(), 1, "{twice:?}");
        assert!(twice.text.contains("ran a second time"), "{twice:?}");
        let works = site.run(Request::new("echo run >> runs").repeatable());
        assert!(runs() == 4 && works.exit_code == Some(0), "{works:?}");
    }
}

#[test]
fn a_refused_call_is_repeated_with_exactly_what_it_was_refused() {
    let (site, outside) = site(watching);
    let yes: Approver = Arc::new(|_| Box::pin(async { ApprovalAnswer::Once }));
    site.engine.ask(yes);
    let file = outside.join("file");
    let command = format!("echo granted > {}", file.display());
    let refused = site.run(Request::new(&command));
    assert_eq!(refused.exit_code, Some(1), "{refused:?}");
    let grantable = refused.grantable.expect("something to grant");
    let mut needs = NeededAccess::default();
    (needs.write, needs.network) = (grantable.write, grantable.network);
    needs.reason = "the file is to be written".to_owned();
    let granted = site.run(Request::new(&command).needs(needs));
    assert!(
        granted.exit_code == Some(0) && granted.refused.is_empty(),
        "{granted:?}"
    );
    assert_eq!(fs::read_to_string(file).unwrap(), "granted\n");
}

/// Bytes of memory that watchers of this machine have at most.
fn watchers_memory() -> u64 {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let memory = processes.filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("status")).ok()?;
        let is_watcher = text.starts_with("Name:\tbashd-watcher");
        let line = text.lines().find(|line| line.starts_with("RssAnon:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        is_watcher.then_some(kib * 1024)
    });
    memory.max().unwrap_or(0)
}

#[test]
fn a_flood_of_refusals_is_counted_and_slows_nobody_else() {
    const MOST_MEMORY: u64 = 8 << 20;
    let count = repetitions(100_000) as u64;
    // Files by their numbers; the same again and again would be one entry.
    let script = format!(
        "import os\nfor n in range({count}):\n try: os.open('{{}}/%d' % (n % 1000), os.O_WRONLY|os.O_CREAT)\n except OSError: pass"
    );
    let flooding = |change: fn(&mut Config)| {
        let (site, outside) = site(change);
        let script = script.replace("{}", &outside.display().to_string());
        let request =
            Request::new(format!("python3 -c \"{script}\"")).timeout(Duration::from_mins(5));
        let (mut times, mut memory) = (Vec::new(), 0);
        let others = async {
            loop {
                let begun = Instant::now();
                assert_eq!(
                    site.engine.run(Request::new("true")).await.exit_code,
                    Some(0)
                );
                times.push(begun.elapsed());
                memory = memory.max(watchers_memory());
            }
        };
        let reply = site.runtime.block_on(async {
            tokio::select! {
                reply = site.engine.run(request) => reply,
                () = others => unreachable!("others have no end"),
            }
        });
        times.sort();
        let middle = times.get(times.len() / 2).copied();
        (reply, middle.expect("a call of others"), memory)
    };
    let (_, usual, _) = flooding(|_| {});
    let (reply, during, memory) = flooding(watching);
    let listed: u64 = reply.refused.iter().map(|one| one.count).sum();
    assert_eq!(reply.refused.len(), 10, "{reply:?}");
    assert_eq!(listed + reply.refused_more, count, "{reply:?}");
    assert!(memory < MOST_MEMORY, "{memory} bytes");
    // Two processes work instead of one: others may get less of the cores, never wait for it.
    assert!(
        during < usual * 5 + Duration::from_millis(20),
        "{during:?}, else {usual:?}"
    );
}
