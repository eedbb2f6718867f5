//! What a confined command can do, what is told of it, and workspaces that can't be one. `probes`
//! tries what it can't do.

mod probes;

use bashd::config::{Config, Preset, Surroundings};
use bashd::plan::Level;
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::{Home, as_each_user};
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
    let cases: [(PathBuf, Vec<String>, Preset, &str); 6] = [
        (
            "/".into(),
            vec![],
            Preset::Workspace,
            "the workspace is `/`",
        ),
        (
            home.root().join("gone"),
            vec![],
            Preset::Workspace,
            "can't be used",
        ),
        (file, vec![], Preset::Workspace, "is not a directory"),
        (
            home.workspace(),
            vec![".".to_owned()],
            Preset::Workspace,
            "which is hidden",
        ),
        (
            link.clone(),
            vec![home.root().display().to_string()],
            Preset::Workspace,
            "which is hidden",
        ),
        (
            home.workspace(),
            vec![],
            Preset::WorkspaceNet,
            "needs an allow-list of hosts",
        ),
    ];
    for (workspace, hide, preset, reason) in cases {
        let site = ConfinedEngine::new(|config| {
            config.confinement.workspace = Some(workspace.clone());
            config.confinement.hide = hide;
            config.confinement.preset = Some(preset);
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
