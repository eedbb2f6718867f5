//! What people say about changes: which, since when, which paths of them; what is shown, and what
//! goes by itself. And what is left where somebody is killed while a command is held.

use crate::console::tmux::Tmux;
use crate::effects::{BASHD, held_home, id, picture, run, succeeds, text};
use bashd_testkit::{Home, loudly};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn says(home: &Home, words: &[&OsStr]) -> Output {
    let mut command = Command::new(BASHD);
    command.args(words).env_clear().envs(home.env());
    command.current_dir(home.workspace()).output().unwrap()
}

fn refused(home: &Home, words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(OsStr::new).collect();
    let done = says(home, &words);
    assert!(!done.status.success(), "{words:?}");
    text(&done.stderr)
}

fn states(home: &Home) -> Vec<(String, String)> {
    let listed = succeeds(home, &["changes", "--json"]);
    let line = |line: &str| {
        let change: Value = serde_json::from_str(line).unwrap();
        let part = |name: &str| change[name].as_str().unwrap().to_owned();
        (part("id"), part("state"))
    };
    listed.lines().map(line).collect()
}

fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).unwrap().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_was_applied_since_a_time_is_undone_the_newest_first() {
    let home = held_home();
    let root = home.workspace();
    run(&home, "undoable", "echo 1 >a");
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let listed: Value = serde_json::from_str(&succeeds(&home, &["changes", "--json"])).unwrap();
    let applied = listed["moved_ms"].as_u64().unwrap();
    while now().as_millis() as u64 <= applied {
        std::thread::yield_now();
    }
    let mut date = Command::new("date");
    let date = date.args(["-u", "+%Y-%m-%dT%H:%M:%S.%NZ"]).output();
    let since = text(&date.unwrap().stdout).trim().to_owned();
    // The third writes what the second wrote: undone in another order, it would be a conflict.
    run(&home, "undoable", "echo 2 >b");
    run(&home, "undoable", "echo 3 >b; echo 3 >c");
    run(&home, "undoable", "echo 4 >d");
    succeeds(&home, &["undo", "--since", &since, "d"]);
    assert_eq!(names(&root), ["a", "b", "c"], "only what is named");
    succeeds(&home, &["undo", "--since", &since]);
    assert_eq!(names(&root), ["a"]);
    let none = refused(&home, &["undo", "--since", &since]);
    assert!(none.contains("no change that was applied"), "{none}");
    assert!(refused(&home, &["undo", "--since", "soon"]).contains("can't use"));
    succeeds(&home, &["undo", "--last", "a"]);
    assert_eq!(names(&root), [""; 0]);
}

#[test]
fn the_newest_that_is_not_applied_needs_no_name() {
    let home = held_home();
    let root = home.workspace();
    assert!(refused(&home, &["changes", "apply"]).contains("<ID>"));
    let none = refused(&home, &["changes", "apply", "--last"]);
    assert!(none.contains("no change that is not applied"), "{none}");
    run(&home, "hold", "echo 1 >a; echo 1 >b");
    run(&home, "undoable", "echo 2 >real");
    succeeds(&home, &["changes", "apply", "--last", "a"]);
    assert_eq!(names(&root), ["a", "real"]);
    succeeds(&home, &["changes", "apply", "--last"]);
    assert_eq!(names(&root), ["a", "b", "real"]);
    let path = refused(&home, &["undo", "b"]);
    assert!(path.contains("that is a path"), "{path}");
    run(&home, "hold", "echo 3 >dropped");
    succeeds(&home, &["changes", "discard", "--last"]);
    assert_eq!(states(&home).len(), 2);
    assert!(refused(&home, &["changes", "discard", "--last"]).contains("not applied"));
    succeeds(&home, &["undo"]);
    assert_eq!(names(&root), ["real"], "what was applied last");
    let all: Vec<String> = states(&home).into_iter().map(|(id, _)| id).collect();
    // One that is not there: nothing goes.
    refused(&home, &["changes", "discard", &all[0], "nothing"]);
    assert_eq!(states(&home).len(), 2);
}

#[test]
fn a_path_that_is_no_text_is_applied_and_undone_by_its_name() {
    let home = held_home();
    let root = home.workspace();
    let held = id(&run(
        &home,
        "hold",
        "echo 1 >$'q\\377'; echo 2 >$'q\\376'; mkdir d; echo 3 >d/x",
    ));
    let odd = OsStr::from_bytes(b"q\xff");
    for (verb, expected) in [("apply", 1), ("undo", 0)] {
        let words = ["changes", verb, &held].map(OsStr::new);
        let done = says(&home, &[&words[..], &[odd]].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert_eq!(names(&root).len(), expected);
        assert_eq!(root.join(odd).exists(), expected == 1);
    }
    // A new directory is one thing.
    let part = refused(&home, &["changes", "apply", &held, "d/x"]);
    assert!(part.contains("is a part of"), "{part}");
    let foreign = refused(&home, &["changes", "apply", &held, "elsewhere"]);
    assert!(foreign.contains("is not a part of the change"), "{foreign}");
    let next = format!("hint: bashd changes show {held} says what is in it");
    assert!(foreign.contains(&next), "{foreign}");
    assert_eq!(names(&root), [""; 0]);
}

/// Of the names that begin with `user.` those of a path, with their values.
fn attribute(path: &Path) -> Option<Vec<u8>> {
    let mut room = [0; 64];
    let length = rustix::fs::lgetxattr(path, "user.seen", &mut room).ok()?;
    Some(room[..length].to_vec())
}

#[test]
fn attributes_owners_and_empty_directories_are_shown_and_applied() {
    let home = held_home();
    let root = home.workspace();
    for name in ["file", "time", "owned", "set"] {
        fs::write(root.join(name), "text\n").unwrap();
    }
    fs::create_dir(root.join("stays")).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(root.join("file"), "user.seen", b"1", flags).unwrap();
    let before = picture(&root);
    let python = "python3 -c 'import os; os.setxattr(\"file\", \"user.seen\", b\"two\"); os.setxattr(\"stays\", \"user.seen\", b\"3\")'";
    let is_root = rustix::process::geteuid().is_root();
    let command = format!(
        "{python} && mkdir empty && touch -d @1000000 time && install -m 4755 /dev/null new && chmod 600 set"
    );
    let held = id(&run(&home, "hold", &command));
    let shown = succeeds(&home, &["changes", "show", &held]);
    for line in [
        "M file (extended attributes)",
        "M stays/ (extended attributes)",
        "A empty/",
        "M time (time)",
        "A new (mode 4755)",
        "M set (mode 644 to 600)",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    succeeds(&home, &["changes", "apply", &held]);
    assert_eq!(attribute(&root.join("file")).as_deref(), Some(&b"two"[..]));
    assert_eq!(attribute(&root.join("stays")).as_deref(), Some(&b"3"[..]));
    let time = root.join("time").metadata().unwrap().modified().unwrap();
    assert_eq!(time, UNIX_EPOCH + Duration::from_secs(1_000_000));
    assert!(root.join("empty").is_dir());
    succeeds(&home, &["undo", &held]);
    assert_eq!(picture(&root), before);
    assert_eq!(attribute(&root.join("file")).as_deref(), Some(&b"1"[..]));
    assert_eq!(attribute(&root.join("stays")), None);
    if !is_root {
        loudly("not root: other owners are NOT tried");
        return;
    }
    // A confined command can give nothing away; what it replaces is its own by then.
    std::os::unix::fs::chown(root.join("owned"), Some(1234), Some(4321)).unwrap();
    let held = id(&run(&home, "hold", "sed -i s/text/other/ owned"));
    let shown = succeeds(&home, &["changes", "show", &held]);
    assert!(shown.contains("M owned"), "{shown}");
    let owner = || {
        use std::os::unix::fs::MetadataExt;
        let found = root.join("owned").metadata().unwrap();
        (found.uid(), found.gid())
    };
    succeeds(&home, &["changes", "apply", &held]);
    let applied = owner();
    if applied != (1234, 4321) {
        assert!(shown.contains("owner 1234:4321 to "), "{shown}");
    }
    succeeds(&home, &["undo", &held]);
    assert_eq!(owner(), (1234, 4321));
}

#[test]
fn binary_large_and_closed_files_are_said_to_be_that() {
    let home = held_home();
    let root = home.workspace();
    fs::write(root.join("blob"), b"x\0y").unwrap();
    let command = "printf 'a\\0b\\0' >blob; yes line | head -n 1000000 >large; echo text >small";
    let held = id(&run(&home, "hold", command));
    let diff = succeeds(&home, &["changes", "show", &held, "--diff"]);
    for line in [
        "Binary files a/blob and b/blob differ",
        "Large files a/large and b/large differ: 0 and 5000000 bytes",
        "+text",
    ] {
        assert!(diff.lines().any(|shown| shown == line), "{line}: {diff}");
    }
    let stat = succeeds(&home, &["changes", "show", &held, "--stat"]);
    for line in [
        "M blob 3 -> 4 bytes",
        "A large 0 -> 5000000 bytes",
        "A small +1 -0",
    ] {
        assert!(stat.lines().any(|shown| shown == line), "{line}: {stat}");
    }
}

#[test]
fn at_most_twenty_paths_are_in_a_reply_and_all_are_counted() {
    let home = held_home();
    let reply = run(&home, "hold", "touch $(seq 25); mkdir d; touch d/$(seq 1)");
    let changes = &reply["changes"];
    assert_eq!(changes["paths"].as_array().unwrap().len(), 20, "{reply}");
    assert_eq!(
        (&changes["more"], &changes["created"]),
        (&6.into(), &27.into())
    );
    let shown = succeeds(&home, &["changes", "show"]);
    assert_eq!(shown.lines().count(), 27, "{shown}");
}

#[test]
fn what_is_too_much_or_too_old_goes_and_what_runs_stays() {
    let home = held_home();
    let write = |name: &str| {
        id(&run(
            &home,
            "hold",
            &format!("head -c 100k /dev/zero >{name}"),
        ))
    };
    let (first, second, third) = (write("a"), write("b"), write("c"));
    let said = succeeds(&home, &["changes", "prune"]);
    assert_eq!(
        (said.as_str(), states(&home).len()),
        ("", 3),
        "there is room"
    );
    let limited = ["--set", "effects.total_bytes=250000", "changes", "prune"];
    succeeds(&home, &limited);
    let left: Vec<String> = states(&home).into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, [second.clone(), third.clone()], "the oldest goes");
    assert!(!home.state().join("changes").join(&first).exists());
    // By itself: not more often than once an hour.
    let small = [
        "run",
        "--effects",
        "hold",
        "--set",
        "effects.total_bytes=150000",
    ];
    succeeds(&home, &[&small[..], &["echo 1 >d"]].concat());
    assert_eq!(states(&home).len(), 3);
    let mark = fs::File::options()
        .write(true)
        .open(home.state().join("changes/pruned"));
    let hours = SystemTime::now() - Duration::from_hours(2);
    mark.unwrap().set_modified(hours).unwrap();
    succeeds(&home, &[&small[..], &["echo 1 >e"]].concat());
    let left: Vec<String> = states(&home).into_iter().map(|(id, _)| id).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(!left.contains(&second) && left.contains(&third), "{left:?}");
    succeeds(&home, &["changes", "prune", "--all"]);
    assert_eq!(states(&home).len(), 0);
    assert_eq!(names(&home.workspace()), [""; 0]);
}

#[test]
fn at_a_terminal_a_difference_is_coloured_and_a_long_one_is_paged() {
    let home = held_home();
    fs::write(home.workspace().join("f"), "old\n").unwrap();
    run(&home, "hold", "echo new >f");
    let Some(tmux) = Tmux::shell(&home, (60, 14)) else {
        return;
    };
    tmux.line(&format!("clear; {BASHD} changes show --diff; echo ov''er"));
    tmux.until("\nover\n");
    let seen = tmux.run(&["capture-pane", "-p", "-e"]);
    let seen = String::from_utf8(seen.stdout).unwrap();
    let is_in = |line: &str, colour: &str| {
        let mut lines = seen.lines();
        lines.any(|shown| shown.contains(line) && shown.contains(colour))
    };
    assert!(is_in("-old", "31m") && is_in("+new", "32m"), "{seen}");
    run(&home, "hold", "seq 100 >f");
    tmux.line(&format!(
        "clear; PAGER='sed s/^/paged:/ | head -n 3' {BASHD} changes show --diff"
    ));
    tmux.until("paged:diff --git");
    succeeds(&home, &["changes", "prune", "--all"]);
}

/// A process and all below it, the nearest first.
fn all_below(process: u32) -> Vec<u32> {
    let parent = |process: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.split(' ').nth(1)?.parse().ok()
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<(u32, u32)> = numbers
        .filter_map(|process| Some((process, parent(process)?)))
        .collect();
    let mut found = vec![process];
    let mut next = 0;
    while let Some(of) = found.get(next).copied() {
        let children = all.iter().filter(|(_, parent)| *parent == of);
        found.extend(children.map(|(process, _)| *process));
        next += 1;
    }
    found
}

fn begin(home: &Home, mode: &str) -> Child {
    let command = "echo new >made; rm old; echo more >>kept; echo 1 >ready; sleep 600";
    let mut started = Command::new(BASHD);
    started
        .args(["run", "--json", "--effects", mode, command])
        .env_clear();
    started.envs(home.env()).current_dir(home.workspace());
    started.stdout(Stdio::null()).stderr(Stdio::null());
    started.spawn().unwrap()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed().as_secs() < 30, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn whoever_is_killed_while_a_command_is_held_leaves_the_tree_as_it_was() {
    let home = held_home();
    let root = home.workspace();
    for name in ["old", "kept"] {
        fs::write(root.join(name), name).unwrap();
    }
    let before = picture(&root);
    for mode in ["hold", "undoable"] {
        // bashd itself, its keeper, and what is below: in the end the shell and its command.
        for level in 0.. {
            let mut bashd = begin(&home, mode);
            let layers = home.state().join("changes");
            let is_ready = || {
                let changes = fs::read_dir(&layers).into_iter().flatten().flatten();
                changes
                    .into_iter()
                    .any(|change| change.path().join("0/upper/ready").exists())
            };
            until("the command wrote", is_ready);
            assert_eq!(picture(&root), before, "{mode}, {level}");
            let processes = all_below(bashd.id());
            assert!(processes.len() > 2, "{processes:?}");
            let last = processes.len() - 1;
            let process = processes[level.min(last)];
            let process = rustix::process::Pid::from_raw(process as i32).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
            let _ = bashd.wait().unwrap();
            let is_over = || states(&home).iter().all(|(_, state)| state != "running");
            until("the command has ended", is_over);
            let [(held, state)] = &*states(&home) else {
                panic!("{mode}, {level}");
            };
            // A command that ends by a signal has ended: all of it is real, or nothing.
            if state == "applied" {
                assert!(mode == "undoable" && level > 0, "{mode}, {level}");
                assert!(root.join("made").exists() && !root.join("old").exists());
                succeeds(&home, &["undo", held]);
            } else {
                assert_eq!(state, "held", "{mode}, {level}");
            }
            assert_eq!(picture(&root), before, "{mode}, {level}");
            succeeds(&home, &["changes", "discard", held]);
            if level >= last {
                break;
            }
        }
    }
}

/// Where a file system can share what two files have in common, the copy that a first write makes
/// takes no room.
#[test]
fn where_there_are_reflinks_a_large_file_is_not_copied() {
    if !rustix::process::geteuid().is_root() {
        loudly("not root: file systems with reflinks are NOT tried");
        return;
    }
    for (make, kind) in [("mkfs.xfs -q", "xfs"), ("mkfs.btrfs -q", "btrfs")] {
        let home = held_home();
        let script = format!(
            "set -eu; cd {}; truncate -s 1G image; {make} image || exit 77
             mkdir disk; mount -o loop image disk || exit 77
             mkdir disk/ws disk/state; export XDG_STATE_HOME=$PWD/disk/state; cd disk/ws
             head -c 300M /dev/urandom >large; sync -f .
             used() {{ sync -f .; df --output=used -B1M . | tail -n 1; }}
             before=$(used)
             {BASHD} try 'printf x | dd of=large bs=1 seek=1000 conv=notrunc status=none' >/dev/null 2>&1
             echo grown $(($(used) - before))
             {BASHD} changes apply --last; {BASHD} undo; {BASHD} changes prune --all",
            home.root().display()
        );
        let done = Command::new("unshare")
            .args(["-m", "bash", "-c", &script])
            .env_clear()
            .envs(home.env())
            .output()
            .unwrap();
        let said = text(&done.stdout) + &text(&done.stderr);
        if done.status.code() == Some(77) {
            loudly(&format!(
                "{kind} can't be made here: its reflinks are NOT tried: {said}"
            ));
            continue;
        }
        assert!(done.status.success(), "{kind}: {said}");
        let grown = said.lines().find_map(|line| line.strip_prefix("grown "));
        let grown: i64 = grown.and_then(|text| text.parse().ok()).expect("a number");
        assert!(grown < 50, "{kind}: {grown} MiB more: {said}");
    }
}
