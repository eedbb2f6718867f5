//! What the pages about places show, run word by word: `docs/places.md` on a far machine,
//! `docs/containers.md` with a podman (that of Kubernetes in `kubernetes`).

use super::{Far, is_whole, wait_until};
use bashd_testkit::{Home, PodmanUser, small_root, sources};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The blocks of a page in this language, with what its comment says.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut all = sources::all().into_iter();
    let page = all.find(|source| source.path == page).unwrap();
    let fence = format!("```{language}\n");
    let begins = page
        .text
        .match_indices(&fence)
        .map(|(at, _)| at + fence.len());
    let block = |at: usize| {
        let (_, rest) = page.text.split_at(at);
        rest.split_once("```").unwrap().0.to_owned()
    };
    begins.map(block).collect()
}

/// The first block in that language with these words.
pub(super) fn block(page: &str, language: &str, words: &str) -> String {
    let mut all = blocks(page, language).into_iter();
    let found = all.find(|block| block.contains(words));
    found.unwrap_or_else(|| panic!("{page} has no {language} with {words}"))
}

/// Runs a line of a block, with bashd in `PATH`.
pub(super) fn line(home: &Home, env: &[(OsString, OsString)], line: &str) -> (Option<i32>, String) {
    let folder = Path::new(env!("CARGO_BIN_EXE_bashd")).parent().unwrap();
    let text = format!("PATH={}:$PATH; {line}", folder.display());
    let output = Command::new("bash")
        .args(["-c", &text])
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .current_dir(home.workspace())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let mut shown = output.stdout;
    shown.extend(output.stderr);
    let shown = String::from_utf8_lossy(&shown).into_owned();
    (output.status.code(), shown)
}

/// The lines of a block that are commands, without what they say about themselves.
pub(super) fn commands(block: &str) -> Vec<String> {
    let lines = block
        .lines()
        .map(|line| line.split("  #").next().unwrap_or_default());
    let lines = lines.map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// What shows the user's own hosts: `big`, and `node7`, which is only known there.
fn name_hosts(far: &Far) {
    let config = far.machine.client().join("config");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, before.replacen("Host far\n", "Host far big\n", 1)).unwrap();
    let there = far.machine.file("/home/u/.ssh");
    fs::create_dir(&there).unwrap();
    let key = far.machine.client().parent().unwrap().join("user");
    fs::copy(key, there.join("key")).unwrap();
    fs::set_permissions(there.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(
        there.join("config"),
        "Host node7\nHostName 127.0.0.1\nIdentityFile /home/u/.ssh/key\nStrictHostKeyChecking accept-new\n",
    )
    .unwrap();
    far.machine
        .sh("chown -R 4711:4711 /home/u/.ssh; chmod 700 /home/u/.ssh");
}

#[test]
fn what_the_page_about_places_shows_works_on_a_far_machine() {
    if !is_whole() {
        bashd_testkit::loudly("docs/places.md: run word by word by ./test --with places");
        return;
    }
    let Some(far) = super::any() else { return };
    name_hosts(&far);
    let page = "docs/places.md";
    let text = block(page, "toml", "[places.big]");
    // Outposts of a test leave soon; all else is as the page has it.
    let text = text.replace("kind = ", "idle_seconds = 1\nkind = ");
    fs::write(far.home.config().join("config.toml"), text).unwrap();
    // Where the page says that the program may be.
    let share = far.home.home().join(".local/share/bashd");
    fs::create_dir_all(&share).unwrap();
    let program = share.join(format!("bashd-outpost-{}", std::env::consts::ARCH));
    let mut strip = Command::new("strip");
    strip
        .arg("-s")
        .arg(env!("CARGO_BIN_EXE_bashd"))
        .arg("-o")
        .arg(&program);
    assert!(strip.status().unwrap().success());
    let env = far.env();
    let shown = block(page, "console", "--on there");
    let (asked, expected) = shown.split_once('\n').unwrap();
    let asked = asked.strip_prefix("$ ").unwrap();
    let (code, text) = line(&far.home, &env, asked);
    assert_eq!((code, text.trim()), (Some(3), expected.trim()), "{asked}");
    let mut ran = 0;
    for asked in commands(&block(page, "sh", "bashd places check big")) {
        let (code, text) = line(&far.home, &env, &asked);
        // A far machine has little room, which is said.
        let mut lacks = text.lines().filter(|line| line.starts_with("not ok"));
        let is_small = lacks.all(|line| line.ends_with("MiB left"));
        assert!(matches!(code, Some(0 | 1)) && is_small, "{asked}: {text}");
        assert!(
            text.contains("big") || text.contains("ok      far "),
            "{asked}: {text}"
        );
        ran += 1;
    }
    assert_eq!(ran, 3, "the page has other commands");
    for (place, host) in [("big", "far"), ("node7", "far")] {
        let asked = format!("bashd run --on {place} 'hostname; exit 5'");
        let (code, text) = line(&far.home, &env, &asked);
        assert_eq!((code, text.lines().next()), (Some(5), Some(host)), "{text}");
    }
    // A directory that is mapped nowhere is refused before anything runs.
    let asked = "bashd run --on big --cwd /etc 'touch ran'";
    let (code, text) = line(&far.home, &env, asked);
    assert_eq!(code, Some(125), "{text}");
    assert!(
        text.contains("is mapped to no directory of the place `big`"),
        "{text}"
    );
    assert!(!far.machine.file("/home/u/ran").exists());
    wait_until("the end of the outposts", || {
        far.machine.running("outpost --serve").is_empty()
    });
    super::end_outposts(&far.home);
}

#[test]
fn what_the_page_about_containers_shows_works_with_podman() {
    let Some(boxes) = super::containers::whole(PodmanUser::Root) else {
        return;
    };
    let page = "docs/containers.md";
    let root = tempfile::tempdir().unwrap();
    let names: Vec<&str> = small_root::USUAL.iter().copied().chain(["make"]).collect();
    small_root::make(root.path(), &names, Some(&boxes.program));
    boxes.rig.import(root.path(), "debian:12");
    boxes.rig.done(&[
        "run",
        "--detach",
        "--name=dev",
        "--network=none",
        "debian:12",
        "/bin/sleep",
        "1000",
    ]);
    let text = block(page, "toml", "[places.dev]");
    let program = boxes.program.display();
    let text = text.replace("kind = ", &format!("program = '{program}'\nkind = "));
    fs::write(boxes.home().config().join("config.toml"), text).unwrap();
    fs::write(
        boxes.home().workspace().join("Makefile"),
        "test:\n\t@echo tested in $$PWD\n",
    )
    .unwrap();
    let env = boxes.env();
    let of = |asked: &str| line(boxes.home(), &env, asked);
    let mut ran = Vec::new();
    for asked in commands(&block(page, "sh", "bashd run --on box 'make test'")) {
        let (code, text) = of(&asked);
        assert_eq!(code, Some(0), "{asked}: {text}");
        let said = match &*asked {
            "bashd run --on box 'make test'" => "tested in /work\n",
            "bashd places" => "box",
            "bashd places check box" => "subreaper and pidfd",
            "podman ps --filter label=bashd.place=box" => "bashd-box-",
            "bashd mcp --on box" => "",
            other => panic!("nobody looks at `{other}`"),
        };
        assert!(text.contains(said), "{asked}: {text}");
        ran.push(asked);
    }
    assert_eq!(ran.len(), 5, "{ran:?}");
    let (code, text) = of("bashd run --on dev 'echo in it; exit 4'");
    assert_eq!(
        (code, text.lines().next()),
        (Some(4), Some("in it")),
        "{text}"
    );
}
