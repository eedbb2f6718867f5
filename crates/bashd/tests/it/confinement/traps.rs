//! What a command prepares for later: for the next command, which would be given more, or for
//! somebody who is not confined. Each is shown possible where nothing is confined.

use super::{CANARY, ConfinedEngine, plant};
use bashd::config::{Config, Preset};
use bashd::plan::Level;
use bashd::{Reply, Request};
use bashd_testkit::{Home, as_each_user, loudly};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

/// What stands for everything outside of the workspace, with a file in it.
fn outside(home: &Home) -> PathBuf {
    let outside = home.root().join("outside");
    fs::create_dir(&outside).expect("a directory outside");
    plant(&outside.join("file"));
    outside
}

fn confined(change: impl FnOnce(&Home, &mut Config)) -> (ConfinedEngine, PathBuf) {
    let home = Home::new();
    let outside = outside(&home);
    let site = ConfinedEngine::with(home, |home, config| {
        config.confinement.read = ["/", &outside.display().to_string()]
            .map(str::to_owned)
            .to_vec();
        change(home, config);
    });
    (site, outside)
}

fn done(reply: &Reply) -> bool {
    reply.exit_code == Some(0)
}

#[test]
fn a_link_that_a_command_made_gives_the_next_one_nothing() {
    as_each_user(|| {
        for (level, gives) in [
            (Level::Full, "write"),
            (Level::Landlock, "write"),
            (Level::Full, "sockets"),
        ] {
            let (site, outside) = confined(|_, config| {
                config.confinement.most = level;
                config.confinement.require = level;
                let given = vec!["given".to_owned()];
                match gives {
                    "write" => config.confinement.write = given,
                    _ => config.confinement.sockets = given,
                }
            });
            let link = format!("ln -s {} given", outside.display());
            assert!(done(&site.run(Request::new(link))));
            let write = format!("echo changed > {}/file", outside.display());
            let reply = site.run(Request::new(write));
            let error = reply.error.clone().unwrap_or_default();
            assert!(
                error.contains("is found through the link"),
                "{level}: {reply:?}"
            );
            let text = fs::read_to_string(outside.join("file"));
            assert_eq!(text.expect("the file"), CANARY, "{level}");
            // Nothing runs, so nobody inside can take it away; a person can.
            fs::remove_file(site.home.workspace().join("given")).expect("the link");
            assert!(done(&site.run(Request::new("true"))));
        }
    });
}

#[test]
fn a_link_where_no_command_may_write_still_gives() {
    let (site, outside) = confined(|home, config| {
        let link = home.root().join("link");
        symlink(home.root().join("outside"), &link).expect("a link");
        config.confinement.write = vec![link.display().to_string()];
    });
    let write = format!("echo changed > {}/file", outside.display());
    let reply = site.run(Request::new(write));
    assert!(done(&reply), "{reply:?}");
}

/// Says the word to whoever connects, until it is dropped.
struct Serving {
    listener: UnixListener,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    fn at(socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).expect("a socket");
        let heard = listener.try_clone().expect("a descriptor");
        let thread = std::thread::spawn(move || {
            while let Ok((made, _)) = heard.accept() {
                let _ = (&made).write_all(CANARY.as_bytes());
            }
        });
        let thread = Some(thread);
        Self { listener, thread }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn connecting_to(socket: &Path) -> String {
    format!(
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.settimeout(5); \
         s.connect('{}'); print(s.recv(9))\"",
        socket.display()
    )
}

/// Somebody outside may listen in the workspace, or be found by a way with links.
#[test]
fn a_socket_is_hidden_wherever_it_is_and_whatever_way_led_to_it() {
    as_each_user(|| {
        let (site, outside) = confined(|_, _| {});
        let way = site.home.root().join("way");
        symlink(&outside, &way).expect("a link");
        let own = site.home.workspace().join("socket");
        let renamed = outside.join("renamed");
        let _first = Serving::at(&way.join("before"));
        fs::rename(way.join("before"), &renamed).expect("another name");
        let _second = Serving::at(&way.join("socket"));
        let _third = Serving::at(&own);
        for socket in [&outside.join("socket"), &renamed, &own] {
            let script = connecting_to(socket);
            let reply = site.run(Request::new(&script));
            assert!(reply.output.contains("Permission denied"), "{reply:?}");
            let tried = Command::new("sh").args(["-c", &script]).output();
            let said = tried.expect("sh").stdout;
            assert!(
                String::from_utf8_lossy(&said).contains(CANARY),
                "{socket:?}"
            );
        }
    });
}

#[test]
fn a_socket_of_the_workspace_is_there_if_it_was_granted_or_is_its_own() {
    let (site, _) = confined(|_, config| config.confinement.sockets = vec!["given".to_owned()]);
    let given = site.home.workspace().join("given");
    let _serving = Serving::at(&given);
    let reply = site.run(Request::new(connecting_to(&given)));
    assert!(reply.output.contains(CANARY), "{reply:?}");
    let own = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(); print('up', flush=True); \
               s.accept()[0].sendall(b'canary')";
    let started =
        format!("python3 -c \"{own}\" > said & until grep -q up said; do sleep 0.01; done");
    let connected = connecting_to(Path::new("own"));
    let reply = site.run(Request::new(format!("{started}; {connected}; wait")));
    assert!(reply.output.contains(CANARY), "{reply:?}");
}

/// A protected file or directory may be a link, or lie behind one.
#[test]
fn what_is_protected_behind_a_link_can_not_be_replaced() {
    as_each_user(|| {
        let (site, _) = confined(|_, _| {});
        let workspace = site.home.workspace();
        for directory in ["settings", "ci/all/workflows"] {
            fs::create_dir_all(workspace.join(directory)).expect("a directory");
        }
        for file in ["settings/envrc", "ci/all/workflows/one.yml"] {
            plant(&workspace.join(file));
        }
        symlink("settings/envrc", workspace.join(".envrc")).expect("a link");
        symlink("ci/hop", workspace.join(".github")).expect("a link");
        symlink("all", workspace.join("ci/hop")).expect("a link");
        for attempt in [
            "echo changed > .envrc",
            "echo changed > settings/envrc",
            "rm -f .envrc && echo changed > .envrc",
            "mv .envrc away",
            "ln -sf elsewhere .envrc",
            "mv settings away",
            "rm .github && mkdir -p .github/workflows",
            "rm ci/hop && mkdir ci/hop",
            "mv ci away",
            "echo changed > ci/all/workflows/one.yml",
            "echo changed > ci/all/workflows/two.yml",
        ] {
            let reply = site.run(Request::new(attempt));
            assert!(!done(&reply), "{attempt}: {reply:?}");
        }
        let text = |path: &str| fs::read_to_string(workspace.join(path)).expect("a file");
        assert_eq!(text(".envrc"), CANARY);
        assert_eq!(text(".github/workflows/one.yml"), CANARY);
        assert!(done(
            &site.run(Request::new("cat .envrc && echo x > settings/other"))
        ));
    });
}

fn git(directory: &Path, words: &[&str]) -> String {
    let tried = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e"])
        .args(words)
        .current_dir(directory)
        .env("HOME", directory)
        .output()
        .expect("git");
    assert!(tried.status.success(), "git {words:?}: {tried:?}");
    String::from_utf8_lossy(&tried.stdout).into_owned()
}

/// In a work tree of git `.git` is a file, and says where hooks and configuration are.
#[test]
fn the_file_that_says_where_a_repository_is_stays() {
    as_each_user(|| {
        let (site, _) = confined(|_, _| {});
        let file = site.home.workspace().join(".git");
        fs::write(&file, "gitdir: ../elsewhere").expect("a file");
        for attempt in ["echo gitdir: made > .git", "rm -f .git", "mv .git away"] {
            let reply = site.run(Request::new(attempt));
            assert!(!done(&reply), "{attempt}: {reply:?}");
        }
        assert_eq!(
            fs::read_to_string(&file).expect("it"),
            "gitdir: ../elsewhere"
        );
    });
}

/// A repository with a file `commondir` has its configuration elsewhere: that a command can make
/// one can't be kept from it, so it is taken away before anybody hears of the command's end.
#[test]
fn no_repository_is_given_another_configuration() {
    if !Path::new("/usr/bin/git").exists() {
        return loudly("no git: whether a repository can be turned is NOT tested");
    }
    as_each_user(|| {
        let attempt = "mkdir made && cp -r .git/objects .git/refs made/ && cp .git/HEAD made/ && \
                       printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = \"touch ran; false\"\\n' > made/config && \
                       echo ../made > .git/commondir";
        for preset in [Preset::Off, Preset::Workspace] {
            for session in [None, Some("one")] {
                let (site, _) = confined(|_, config| config.confinement.preset = Some(preset));
                let workspace = site.home.workspace();
                git(&workspace, &["init", "-q", "."]);
                git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]);
                let request = Request::new(attempt);
                let reply = site.run(match session {
                    Some(name) => request.session(name),
                    None => request,
                });
                assert!(done(&reply), "{reply:?}");
                git(&workspace, &["status", "--short"]);
                let is_confined = preset == Preset::Workspace;
                let ran = workspace.join("ran").exists();
                assert_eq!(ran, !is_confined, "{session:?}: {reply:?}");
                let is_told = reply.text.contains(".git/commondir");
                assert_eq!(is_told, is_confined, "{session:?}: {reply:?}");
            }
        }
    });
}

#[test]
fn what_is_made_where_others_run_it_is_told_once() {
    let (site, _) = confined(|_, _| {});
    let session = |script: &str| site.run(Request::new(script).session("one"));
    let said = "made where others run it, and protected from now on: ";
    assert!(!session("echo x > file").text.contains(said));
    let made = session("echo x > .envrc; mkdir -p .git/hooks");
    assert!(
        made.text.contains(said) && made.text.contains(".git/hooks"),
        "{made:?}"
    );
    assert!(made.text.contains(".envrc"), "{made:?}");
    assert!(!session("echo y > .envrc").text.contains(said));
}
