//! Effects on real layers, as root and as nobody: what is applied is what the plain command leaves,
//! what is undone what was before. `model` does so with random commands, `projects` with what
//! people do all day; `asking` asks before they are real, `jobs` applies them when a job ends.

mod asking;
mod jobs;
mod model;
mod projects;

use bashd::changes::{ChangeFailure, ChangeState, ChangeStore, Effects, Moved};
use bashd::config::{Config, Surroundings};
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::unprivileged::is_nobody;
use bashd_testkit::{Home, as_each_user};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use tokio::runtime::Runtime;

/// An engine in a home of its own, whose changes may stay.
struct HoldingEngine {
    engine: Engine,
    runtime: Runtime,
    home: Home,
}

impl HoldingEngine {
    fn new() -> Self {
        Self::with(|_, _| {})
    }

    fn with(change: impl FnOnce(&Home, &mut Config)) -> Self {
        Self::at(None, change)
    }

    /// As its user has one: at this home, with what is installed there.
    fn of_user(home: &Path) -> Self {
        Self::at(Some(home), |_, _| {})
    }

    fn at(users: Option<&Path>, change: impl FnOnce(&Home, &mut Config)) -> Self {
        let home = Home::new().keeping_in_state(&["changes"]);
        let mut config = Config::new(home.state());
        config.minimizer.enabled = false;
        change(&home, &mut config);
        let mut env = home.env();
        if let Some(users) = users {
            for (name, value) in &mut env {
                if name == "HOME" {
                    *value = users.into();
                }
            }
        }
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

    /// Runs a command whose effects are held, and returns the id of its change.
    fn hold(&self, command: &str) -> String {
        let reply = self.run(Request::new(command).effects(Effects::Hold));
        let changes = reply.changes.as_ref();
        let id = changes.and_then(|changes| changes.id.clone());
        id.unwrap_or_else(|| panic!("{reply:?}"))
    }

    fn store(&self) -> ChangeStore {
        ChangeStore::in_state(&self.home.state())
    }

    fn apply(&self, id: &str) {
        let applied = self.store().apply(id, &Moved::default());
        let change = applied.unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(change.state(), ChangeState::Applied);
    }

    fn undo(&self, id: &str) {
        let undone = self.store().undo(id, &Moved::default());
        let change = undone.unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(change.state(), ChangeState::Undone);
    }
}

/// Waits until something holds.
fn until(holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed().as_secs() < 30, "it never came");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn bash(script: &str, directory: &Path) {
    let done = Command::new("bash")
        .args(["-c", script])
        .current_dir(directory)
        .output()
        .expect("bash");
    assert!(done.status.success(), "{script}: {done:?}");
}

/// Every path with its type, mode, links and content.
fn picture(root: &Path) -> String {
    fn add(path: &Path, root: &Path, lines: &mut Vec<String>) {
        let found = fs::symlink_metadata(path).expect("a path");
        let name = path.strip_prefix(root).expect("below").as_os_str();
        // Not every name is a text.
        let name = name.as_encoded_bytes().escape_ascii();
        let content = if found.is_symlink() {
            format!("{:?}", fs::read_link(path))
        } else if found.is_file() {
            // As nobody, what is closed can't be read.
            format!("{:?} {}", fs::read(path).ok(), found.nlink())
        } else {
            String::new()
        };
        lines.push(format!("{name} {:o} {content}", found.mode()));
        if found.is_dir()
            && let Ok(entries) = fs::read_dir(path)
        {
            for entry in entries {
                add(&entry.expect("an entry").path(), root, lines);
            }
        }
    }
    let mut lines = Vec::new();
    add(root, root, &mut lines);
    lines.sort();
    lines.join("\n")
}

/// Runs a command plainly in one directory and held in another that is alike, applies and undoes
/// it, and compares.
fn compare(prepare: &str, command: &str) {
    let site = HoldingEngine::new();
    let (root, plain) = (site.home.workspace(), site.home.root().join("plain"));
    fs::create_dir(&plain).expect("a directory");
    // The home's own mode may be another.
    fs::set_permissions(&plain, root.metadata().expect("it").permissions()).expect("its mode");
    for place in [&root, &plain] {
        bash(prepare, place);
    }
    let before = picture(&root);
    bash(command, &plain);
    let id = site.hold(command);
    assert_eq!(picture(&root), before, "held: {command}");
    site.apply(&id);
    assert_eq!(picture(&root), picture(&plain), "applied: {command}");
    site.undo(&id);
    assert_eq!(picture(&root), before, "undone: {command}");
    site.apply(&id);
    assert_eq!(picture(&root), picture(&plain), "applied again: {command}");
    // So that it can be removed.
    for place in [&root, &plain] {
        bash("chmod -R u+rwX . 2>/dev/null; true", place);
    }
}

#[test]
fn links_that_a_command_makes_are_links() {
    as_each_user(|| {
        compare(
            "mkdir d; echo a >a; echo b >d/b",
            "ln a linked; ln d/b d/c; ln d/b out; echo more >>out; ln -s a soft; ln soft soft2",
        );
    });
}

#[test]
fn read_only_unreadable_and_closed_things_are_held_as_any_other() {
    as_each_user(|| {
        compare(
            "mkdir ro shut gone; echo x >ro/x; echo y >shut/y; echo z >secret; echo w >w; mkdir gone/shut; \
             chmod 555 ro; chmod 000 shut gone/shut; chmod 000 secret; chmod 444 w; mkdir -m 311 drop; chmod 700 .",
            "chmod 755 ro; echo 2 >ro/two; rm ro/x; chmod 555 ro; mv secret secret2; rm -f w; echo new >w; chmod 400 w; \
             rmdir gone/shut; rmdir gone; mkdir -m 000 closed; mkdir new; echo n >new/n; chmod 500 new; echo d >drop/d; \
             mkdir later; chmod 000 later; chmod 500 .",
        );
    });
}

#[test]
fn a_directory_is_closed_and_opened_again_by_undoing() {
    as_each_user(|| {
        compare(
            "mkdir -p d/e; echo x >d/x",
            "echo y >d/y; chmod 000 d/e; chmod 000 d",
        );
    });
}

#[test]
fn fifos_sockets_odd_names_and_renames_by_case_are_held() {
    as_each_user(|| {
        let socket = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'";
        let prepare = "mkfifo old; mkdir r; mkfifo r/p; echo 1 >r/f; echo x >readme; mkdir Dir; echo i >Dir/i; touch \"$(printf 'q\\377')\"";
        let command = format!(
            "rm old; mkfifo new; {socket}; rm -r r; mkdir r; mkfifo r/p; echo 2 >r/g; mv readme README; mv Dir dir; \
             mv \"$(printf 'q\\377')\" \"$(printf '\\376\\n-x')\"; touch -- '-n' ' ' $'\\t' '*'; mkdir $'a\\nb'; echo >$'a\\nb/\\e[31m'"
        );
        compare(prepare, &command);
    });
}

/// A confined command can make none, but it can remove them.
#[test]
fn device_nodes_go_and_come_back() {
    if is_nobody() || !rustix::process::geteuid().is_root() {
        return bashd_testkit::loudly("not root: device nodes are NOT tried");
    }
    compare(
        "mknod null c 1 3; mkdir d e; mknod d/disk b 7 250; mknod e/zero c 1 5; mknod gone c 1 7; chmod 600 e/zero",
        "rm null gone; rm -r d; echo x >null; rm e/zero; mkdir gone; echo y >gone/y",
    );
}

#[test]
fn files_become_directories_and_back() {
    as_each_user(|| {
        compare(
            "mkdir -p d/e f; echo 1 >d/1; echo 2 >d/e/2; echo x >x; ln -s x l; ln -s d ld",
            "rm -r d; echo now >d; rm x; mkdir x; echo in >x/in; rm l; mkdir l; rm ld; ln -s f ld; rmdir f; ln -s nowhere f",
        );
    });
}

#[test]
fn a_hard_link_over_the_border_keeps_its_other_name() {
    as_each_user(|| {
        let site = HoldingEngine::new();
        let (root, outside) = (site.home.workspace(), site.home.root().join("outside"));
        fs::write(&outside, "shared").expect("a file");
        fs::hard_link(&outside, root.join("in")).expect("a link");
        let id = site.hold("echo changed >in");
        site.apply(&id);
        assert_eq!(fs::read_to_string(&outside).expect("it"), "shared");
        assert_eq!(
            fs::read_to_string(root.join("in")).expect("it"),
            "changed\n"
        );
        site.undo(&id);
        // The very same file is there again.
        let inode = |path: &Path| path.metadata().expect("it").ino();
        assert_eq!(inode(&outside), inode(&root.join("in")));
    });
}

#[test]
fn a_workspace_that_is_a_link_is_what_it_leads_to() {
    as_each_user(|| {
        let site = HoldingEngine::with(|home, config| {
            symlink(home.workspace(), home.root().join("link")).expect("a link");
            config.confinement.workspace = Some(home.root().join("link"));
        });
        let root = site.home.workspace();
        let id = site.hold("echo 1 >made; pwd");
        site.apply(&id);
        assert!(root.join("made").exists());
        // The link leads elsewhere by now; the change belongs to the directory.
        let link = site.home.root().join("link");
        fs::remove_file(&link).expect("removed");
        symlink("/", &link).expect("another link");
        site.undo(&id);
        assert!(!root.join("made").exists());
    });
}

#[test]
fn a_workspace_that_moved_is_left_alone() {
    as_each_user(|| {
        let site = HoldingEngine::new();
        let (root, away) = (site.home.workspace(), site.home.root().join("away"));
        let id = site.hold("echo 1 >made");
        fs::rename(&root, &away).expect("moved");
        fs::create_dir(&root).expect("another");
        let refused = site.store().apply(&id, &Moved::default());
        assert!(
            matches!(refused, Err(ChangeFailure::Conflicts(_))),
            "{refused:?}"
        );
        let force = Moved {
            force: true,
            paths: &[],
        };
        let refused = site.store().apply(&id, &force);
        assert!(
            matches!(refused, Err(ChangeFailure::Conflicts(_))),
            "{refused:?}"
        );
        assert_eq!(fs::read_dir(&root).expect("it").count(), 0);
        assert!(!away.join("made").exists());
        fs::remove_dir(&root).expect("removed");
        fs::rename(&away, &root).expect("moved back");
        site.apply(&id);
        assert!(root.join("made").exists());
    });
}

#[test]
fn the_workspace_of_another_owner_keeps_it() {
    as_each_user(|| {
        let site = HoldingEngine::new();
        let root = site.home.workspace();
        if !is_nobody() {
            std::os::unix::fs::chown(&root, Some(1234), Some(4321)).expect("chown");
        }
        fs::set_permissions(&root, Permissions::from_mode(0o2777)).expect("its mode");
        let facts = || {
            let found = root.metadata().expect("it");
            (found.mode(), found.uid(), found.gid())
        };
        let before = facts();
        let reply = site.run(Request::new("echo x >made").effects(Effects::Undoable));
        let changes = reply.changes.as_ref().expect("changes");
        assert_eq!((changes.created, changes.modified), (1, 0), "{reply:?}");
        assert_eq!(changes.state, "applied", "{reply:?}");
        assert_eq!(facts(), before);
    });
}

#[test]
fn one_byte_of_a_large_sparse_file_changes_and_it_stays_sparse() {
    let site = HoldingEngine::new();
    let large = site.home.workspace().join("large");
    let file = fs::File::create(&large).expect("a file");
    file.set_len(10 << 30).expect("its length");
    let begun = std::time::Instant::now();
    let id = site.hold("printf x | dd of=large bs=1 seek=5000000000 conv=notrunc status=none");
    site.apply(&id);
    // The kernel copies a file before its first byte changes: what is void is not written.
    let found = large.metadata().expect("it");
    assert_eq!(found.len(), 10 << 30);
    assert!(found.blocks() * 512 < 64 << 20, "{}", found.blocks());
    site.undo(&id);
    assert_eq!(large.metadata().expect("it").blocks(), 0);
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn a_held_session_is_one_change_over_its_calls() {
    as_each_user(|| {
        let site = HoldingEngine::new();
        let root = site.home.workspace();
        fs::write(root.join("old"), "old").expect("a file");
        let call = |command: &str| {
            let request = Request::new(command).session("s").effects(Effects::Hold);
            let reply = site.run(request);
            let changes = reply.changes.clone().unwrap_or_else(|| panic!("{reply:?}"));
            (reply, changes)
        };
        let (_, first) = call("x=1; echo a >a; rm old; mkdir d; cd d");
        let id = first.id.clone().expect("an id");
        assert_eq!(
            (&*first.state, first.created, first.deleted),
            ("running", 2, 1)
        );
        let (reply, second) = call("echo $x; cat ../a; ls ..; echo b >b");
        assert_eq!(&*reply.output, "1\na\na\nd\n", "{reply:?}");
        assert_eq!((second.id.as_deref(), second.created), (Some(&*id), 3));
        assert!(root.join("old").exists() && !root.join("a").exists());
        // A call whose effects are real has another shell, though the session has the same name.
        let now = site.run(Request::new("echo $x; echo real >real").session("s"));
        assert_eq!(&*now.output, "\n", "{now:?}");
        assert!(root.join("real").exists());
        let refused = site.store().apply(&id, &Moved::default());
        assert!(
            matches!(refused, Err(ChangeFailure::Failed(_))),
            "{refused:?}"
        );
        // A new shell goes on with the same change.
        let (reply, _) = call("exit 3");
        assert_eq!(reply.exit_code, Some(3), "{reply:?}");
        let (reply, third) = call("cat a; echo c >c");
        assert_eq!(&*reply.output, "a\n", "{reply:?}");
        assert_eq!((third.id.as_deref(), third.created), (Some(&*id), 4));
        call("exit");
        let before = picture(&root);
        site.apply(&id);
        assert!(root.join("d/b").exists() && root.join("c").exists() && !root.join("old").exists());
        site.undo(&id);
        assert_eq!(picture(&root), before);
        // What was applied, or undone, is over: the next call begins another.
        let (reply, fourth) = call("ls; echo e >e");
        assert_eq!(&*reply.output, "old\nreal\n", "{reply:?}");
        let next = fourth.id.expect("an id");
        assert_ne!(next, id);
        call("exit");
        site.store().discard(&next).expect("discarded");
        assert_eq!(picture(&root), before);
    });
}

#[test]
fn a_call_of_a_session_that_can_be_undone_has_its_own_shell_and_says_so() {
    let site = HoldingEngine::new();
    let undoable = |command: &str| {
        site.run(
            Request::new(command)
                .session("s")
                .effects(Effects::Undoable),
        )
    };
    let reply = undoable("x=1; echo a >a");
    assert!(
        reply.text.contains("runs in a shell of its own"),
        "{reply:?}"
    );
    assert!(site.home.workspace().join("a").exists());
    assert_eq!(&*undoable("echo \"<$x>\"; cat a").output, "<>\na\n");
}
