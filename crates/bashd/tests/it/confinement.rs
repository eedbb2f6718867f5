//! What a confined command can do, what is told of it, and workspaces that can't be one. `probes`
//! tries what it can't do, `paths` does so along random paths, `refused_files` is what is told of
//! that; `traps` are what a command leaves for later; `waiting_views` are looked at again;
//! `developers` is what people do all day.

mod developers;
mod network;
mod paths;
mod probes;
mod refused_files;
mod traps;
mod waiting_views;
mod whole_protocols;

use bashd::config::{Config, Preset, Surroundings};
use bashd::plan::Level;
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::keeper_hook::process_mark;
use bashd_testkit::{Home, as_each_user, loudly};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Runtime;

/// What was planted, and must not be read; a server says it, too.
const CANARY: &str = "canary";

/// An engine in a home of its own.
struct ConfinedEngine {
    engine: Engine,
    runtime: Runtime,
    home: Home,
}

impl ConfinedEngine {
    fn new(change: impl FnOnce(&mut Config)) -> Self {
        Self::with(Home::new(), |home, config| {
            let _ = home;
            change(config);
        })
    }

    fn with(home: Home, change: impl FnOnce(&Home, &mut Config)) -> Self {
        let mut config = Config::new(home.state());
        config.minimizer.enabled = false;
        config.confinement.preset = Some(Preset::Workspace);
        change(&home, &mut config);
        let mut env = home.env();
        env.push(("PROBE_API_TOKEN".into(), CANARY.into()));
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env,
        };
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Self {
            engine,
            runtime: runtime.expect("a runtime"),
            home,
        }
    }

    fn run(&self, request: Request) -> Reply {
        self.runtime.block_on(self.engine.run(request))
    }

    fn level(&self, reply: &Reply) -> Option<Level> {
        let _ = self;
        reply.confinement.as_ref().map(|held| held.level)
    }
}

fn plant(path: &Path) {
    fs::write(path, CANARY).expect("a planted file");
}

#[test]
fn a_confined_command_works_in_its_workspace_and_its_own_places() {
    as_each_user(|| {
        let script = "set -e; echo a > made; cat made; echo b > /tmp/t; echo c > ~/cache; cat ~/cache; \
            mkfifo p; (echo d > p &) ; cat p; cat <(echo e); test -w /dev/null; \
            git init -q . 2>/dev/null || true; echo $$";
        let site = ConfinedEngine::new(|_| {});
        for request in [Request::new(script), Request::new(script).session("one")] {
            let _ = fs::remove_file(site.home.workspace().join("p"));
            let reply = site.run(request);
            assert_eq!(reply.exit_code, Some(0), "{reply:?}");
            assert!(reply.output.starts_with("a\nc\nd\ne\n"), "{reply:?}");
            assert_eq!(site.level(&reply), Some(Level::Full), "{reply:?}");
        }
        assert!(site.home.workspace().join("made").exists());
        // The home's layer went with the run.
        assert!(!site.home.home().join("cache").exists());
    });
}

#[test]
fn statuses_signals_and_deadlines_of_confined_commands_are_told() {
    as_each_user(|| {
        let site = ConfinedEngine::new(|_| {});
        let status = |script: &str| {
            let reply = site.run(Request::new(script));
            (reply.exit_code, reply.signal)
        };
        assert_eq!(status("exit 37"), (Some(37), None));
        assert_eq!(status("kill -KILL $$"), (None, Some(9)));
        assert_eq!(status("kill -TERM $$"), (None, Some(15)));
        let late =
            Request::new("setsid sleep 300 & setsid sleep 300").timeout(Duration::from_secs(1));
        let reply = site.run(late);
        assert!(reply.timed_out && reply.left_behind.is_empty(), "{reply:?}");
        // Survivors end with the run, and nobody waits for them.
        let reply = site.run(Request::new(
            "(setsid sleep 300 >/dev/null 2>&1 &) ; echo done",
        ));
        assert_eq!(&*reply.output, "done\n", "{reply:?}");
        assert!(
            reply.left_behind.is_empty() && reply.wall_ms < 1500,
            "{reply:?}"
        );
    });
}

#[test]
fn a_session_keeps_its_state_and_its_processes_when_confined() {
    let site = ConfinedEngine::new(|_| {});
    let said = |script: &str| site.run(Request::new(script).session("one"));
    assert_eq!(
        said("x=5; cd /usr; (sleep 300 >/dev/null 2>&1 &) ; echo $$").exit_code,
        Some(0)
    );
    let reply = said("echo $x $PWD; pgrep -c sleep; touch /usr/x; echo $?; nosuch");
    let lines: Vec<&str> = reply.output.lines().collect();
    assert_eq!(lines.first(), Some(&"5 /usr"), "{reply:?}");
    assert_eq!(lines.get(1), Some(&"1"), "{reply:?}");
    assert!(reply.output.contains("\nbash: line "), "{reply:?}");
    assert!(reply.output.contains("Read-only file system"), "{reply:?}");
}

#[test]
fn a_command_in_a_terminal_is_confined() {
    let site = ConfinedEngine::new(|config| config.virtual_terminal = true);
    let outside = site.home.root().join("outside-file");
    let script = format!("echo x > {}; echo status $?", outside.display());
    let mut request = Request::new(&script);
    request.pty = true;
    request.ui = true;
    let reply = site.run(request);
    assert!(reply.output.contains("status 1"), "{reply:?}");
    assert_eq!(site.level(&reply), Some(Level::Full), "{reply:?}");
    assert!(!outside.exists());
}

#[test]
fn a_directory_that_is_not_seen_inside_is_named_with_what_to_do() {
    for started_shells in [0, 1] {
        let site = ConfinedEngine::new(|config| config.started_shells = started_shells);
        let elsewhere = tempfile::tempdir_in("/tmp").expect("a directory");
        let place = elsewhere.path().display().to_string();
        // With a shell or a view that waits, and without.
        assert_eq!(site.run(Request::new("true")).exit_code, Some(0));
        let told = |error: &str| {
            let workspace = site.home.workspace().display().to_string();
            for word in [&place, &workspace, "confinement.read"] {
                assert!(error.contains(word), "{word}: {error:?}");
            }
            assert!(!error.contains("/bash:"), "{error:?}");
        };
        let reply = site.run(Request::new("true").cwd(elsewhere.path()));
        told(reply.error.as_deref().unwrap_or_default());
        // A session is somewhere else already, and its shell says it.
        let reply = site.run(Request::new("true").session("one").cwd(elsewhere.path()));
        assert!(
            reply.output.contains(&format!("cd: {place}: No such file")),
            "{reply:?}"
        );
        drop(site);
        let site = ConfinedEngine::new(|config| config.confinement.read = vec!["/".into(), place]);
        for request in [Request::new("pwd"), Request::new("pwd").session("one")] {
            let reply = site.run(request.cwd(elsewhere.path()));
            assert_eq!(reply.exit_code, Some(0), "{reply:?}");
        }
    }
}

#[test]
fn a_session_that_would_begin_where_nothing_is_seen_says_so() {
    let home = Home::new();
    let workspace = home.root().join("other");
    fs::create_dir(&workspace).expect("a workspace");
    let site = ConfinedEngine::with(home, |_, config| {
        config.confinement.workspace = Some(workspace.clone());
    });
    let reply = site.run(Request::new("true").session("one"));
    let error = reply.error.as_deref().unwrap_or_default();
    for place in [site.home.workspace(), workspace] {
        assert!(error.contains(&*place.to_string_lossy()), "{reply:?}");
    }
    assert!(error.contains("confinement.read"), "{reply:?}");
}

#[test]
fn a_terminal_has_its_name_inside() {
    as_each_user(|| {
        let site = ConfinedEngine::new(|config| config.virtual_terminal = true);
        for _ in 0..2 {
            let mut request = Request::new("tty; test -t 0 && test -r \"$(tty)\" && stty size");
            request.pty = true;
            request.ui = true;
            let reply = site.run(request);
            assert!(reply.output.starts_with("/dev/pts/0"), "{reply:?}");
            assert_eq!(reply.exit_code, Some(0), "{reply:?}");
        }
    });
}

/// The processes of keepers of this test that are the second of a pid namespace: those that wait in
/// views that were built ahead, or what they became. Each with its start, since numbers are used
/// again.
fn inhabitants() -> Vec<(u32, String)> {
    let field = |pid: u32, name: &str| -> Option<String> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let is_ours = |keeper: &str| {
        let environment = fs::read(format!("/proc/{keeper}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(process_mark())
    };
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let found = processes.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let numbers = field(pid, "NSpid")?;
        let inside = numbers.split_whitespace().nth(1)?;
        field(pid, "PPid").filter(|keeper| inside == "2" && is_ours(keeper))?;
        field(pid, "State").filter(|state| state.starts_with('S'))?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, after) = stat.rsplit_once(')')?;
        Some((pid, after.split_whitespace().nth(19)?.to_owned()))
    });
    found.collect()
}

/// Waits for something that must happen.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "it never comes");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_view_that_waited_is_what_would_be_built_now() {
    /// What somebody does while a view waits, and whether it still suits then.
    type Change = (fn(&Path), bool);
    let changes: [Change; 4] = [
        (|at| plant(&at.join("other")), true),
        (
            |at| fs::create_dir_all(at.join(".git/hooks")).expect("hooks"),
            false,
        ),
        // What covers a file is gone with that file, in every view.
        (
            |at| {
                plant(&at.join("new"));
                fs::rename(at.join("new"), at.join(".envrc")).expect("another file");
            },
            false,
        ),
        (
            |at| {
                fs::remove_file(at.join(".envrc")).expect("no file");
                plant(&at.join(".envrc"));
            },
            false,
        ),
    ];
    if !rustix::process::geteuid().is_root() {
        return loudly("not root: whether a view that waited is used is NOT tested");
    }
    for started_shells in [0, 1] {
        let site = ConfinedEngine::new(|config| config.started_shells = started_shells);
        let workspace = site.home.workspace();
        plant(&workspace.join(".envrc"));
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, workspace.join("go"), kind, mode, 0).expect("a pipe");
        assert_eq!(site.run(Request::new("true")).exit_code, Some(0));
        for (change, suits) in changes {
            // With started shells others wait, too, so which one a call met is not known.
            let waits = until(|| match &*inhabitants() {
                [one] => Some(one.clone()),
                [one, ..] if started_shells > 0 => Some(one.clone()),
                _ => None,
            });
            change(&workspace);
            let script = "echo x > began; read x < go; \
                              echo x > .git/hooks/pre-commit; echo x > .envrc";
            let reply = std::thread::scope(|scope| {
                let call = scope.spawn(|| site.run(Request::new(script)));
                until(|| fs::remove_file(workspace.join("began")).ok());
                let is_used = inhabitants().contains(&waits);
                assert!(
                    started_shells > 0 || is_used == suits,
                    "{waits:?}: {is_used}"
                );
                fs::write(workspace.join("go"), "x\n").expect("a word");
                call.join().expect("a reply")
            });
            assert_ne!(reply.exit_code, Some(0), "{reply:?}");
            let kept = fs::read_to_string(workspace.join(".envrc")).expect("a file");
            assert_eq!(kept, CANARY, "{reply:?}");
            assert!(!workspace.join(".git/hooks/pre-commit").exists());
            until(|| (started_shells > 0 || !inhabitants().contains(&waits)).then_some(()));
        }
    }
}

#[test]
fn our_configuration_can_be_neither_made_nor_moved_by_a_granted_write_above_it() {
    as_each_user(|| {
        for is_there in [false, true] {
            let home = Home::new();
            let configuration = home.home().join(".config/bashd");
            let file = configuration.join("config.toml");
            if is_there {
                fs::create_dir_all(&configuration).expect("a configuration");
                plant(&file);
            }
            let site = ConfinedEngine::with(home, |home, config| {
                config.confinement.write = vec![home.home().display().to_string()];
                config.guard_disable =
                    vec!["no_system_writes".to_owned(), "no_tree_replaced".to_owned()];
            });
            let place = configuration.display();
            let script = format!(
                "mkdir -p {place}; echo x > {place}/config.toml; cd; echo x > may && mv .config elsewhere; \
                 mkdir -p {place} && echo x > {place}/config.toml"
            );
            let reply = site.run(Request::new(script));
            assert_ne!(reply.exit_code, Some(0), "{reply:?}");
            assert!(site.home.home().join("may").exists(), "{reply:?}");
            let kept = fs::read_to_string(&file).ok();
            assert_eq!(kept.as_deref(), is_there.then_some(CANARY), "{reply:?}");
        }
    });
}

/// A call chooses the variables of its command.
#[test]
fn a_call_that_names_another_home_sees_no_more_of_the_real_one() {
    as_each_user(|| {
        let site = ConfinedEngine::new(|config| {
            config.confinement.hide = vec!["~/private".into()];
            config.confinement.write = vec!["~/open".into()];
        });
        let home = site.home.home();
        for name in [".ssh", ".aws", "private", "open"] {
            fs::create_dir_all(home.join(name)).expect("a directory");
            plant(&home.join(name).join("key"));
        }
        let script = format!(
            "cd {}; cat .ssh/key .aws/key private/key; echo more >open/key",
            home.display()
        );
        for other in ["/tmp", "/", "/etc", ""] {
            let reply = site.run(Request::new(&*script).env("HOME", other));
            assert!(!reply.output.contains(CANARY), "{other}: {reply:?}");
            let written = fs::read_to_string(home.join("open/key")).expect("a file");
            assert_eq!(written, "more\n", "{other}: {reply:?}");
            plant(&home.join("open/key"));
        }
    });
}

#[test]
fn a_call_can_only_narrow_its_confinement() {
    let site = ConfinedEngine::new(|_| {});
    let refused = site.run(Request::new("touch made").confine(Preset::Off));
    assert!(
        refused
            .error
            .as_ref()
            .is_some_and(|text| text.contains("only narrow")),
        "{refused:?}"
    );
    let reply = site.run(Request::new("touch made").confine(Preset::ReadOnly));
    assert!(reply.output.contains("Read-only file system"), "{reply:?}");
    assert_eq!(
        reply.confinement.map(|held| held.preset).as_deref(),
        Some("read-only")
    );
    assert!(!site.home.workspace().join("made").exists());
    drop(site);
    let off = ConfinedEngine::new(|config| config.confinement.preset = None);
    assert_eq!(off.run(Request::new("true")).confinement, None);
    let asked = off.run(Request::new("true").confine(Preset::Workspace));
    assert_eq!(off.level(&asked), Some(Level::Full), "{asked:?}");
}

#[test]
fn what_can_not_be_confined_is_refused_with_the_reason() {
    let home = Home::new();
    let link = home.root().join("link");
    std::os::unix::fs::symlink(home.workspace(), &link).expect("a link");
    let file = home.root().join("file");
    plant(&file);
    let cases: [(PathBuf, Vec<String>, &str); 5] = [
        ("/".into(), vec![], "the workspace is `/`"),
        (home.root().join("gone"), vec![], "can't be used"),
        (file, vec![], "is not a directory"),
        (home.workspace(), vec![".".to_owned()], "which is hidden"),
        (
            link.clone(),
            vec![home.root().display().to_string()],
            "which is hidden",
        ),
    ];
    for (workspace, hide, reason) in cases {
        let site = ConfinedEngine::new(|config| {
            config.confinement.workspace = Some(workspace.clone());
            config.confinement.hide = hide;
        });
        let reply = site.run(Request::new("touch made"));
        let told = reply
            .error
            .as_ref()
            .is_some_and(|text| text.contains(reason));
        assert!(told, "{}: {reply:?}", workspace.display());
        assert!(!site.home.workspace().join("made").exists());
    }
    // A link is where it leads.
    let site = ConfinedEngine::new(|config| config.confinement.workspace = Some(link));
    let made = home.workspace().join("made");
    let reply = site.run(Request::new(format!("touch {}", made.display())).cwd(home.workspace()));
    assert!(reply.exit_code == Some(0) && made.exists(), "{reply:?}");
}

#[test]
fn ten_thousand_protected_paths_are_protected() {
    let home = Home::new();
    let names: Vec<String> = (0..10_000).map(|number| format!("many/{number}")).collect();
    fs::create_dir(home.workspace().join("many")).expect("a directory");
    for name in &names {
        plant(&home.workspace().join(name));
    }
    let site = ConfinedEngine::with(home, |_, config| {
        config.confinement.protect.clone_from(&names);
    });
    let script = "echo x > many/0; echo x > many/9999; echo x > other && echo wrote";
    let reply = site.run(Request::new(script).timeout(Duration::from_mins(1)));
    assert_eq!(
        reply.output.matches("Read-only file system").count(),
        2,
        "{reply:?}"
    );
    assert!(reply.output.ends_with("wrote\n"), "{reply:?}");
}
