//! Faults while changes are made and applied: the process is killed, the disk is full. A tree is as
//! before or as after, never in between.

use crate::effects::{BASHD, held_home, id, picture, run, succeeds, text};
use crate::rpc_under_test::Client;
use bashd_testkit::repeat::{is_soak, repetitions};
use bashd_testkit::{Home, loudly};
use serde_json::json;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Numbers that look random.
fn next(dice: &mut u64) -> u64 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    *dice
}

/// A project with many things to change.
const PROJECT: &str = "for d in 0 1 2 3 4 5 6 7; do mkdir d$d; for f in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do echo $f >d$d/$f; done; done";

/// Changes most of it, each thing by itself.
const COMMAND: &str = "sed -i s/^/new/ d?/[0-9]; rm d?/a; for d in d*; do mv $d/b $d/moved; echo >$d/added; mkdir $d/deep; \
                       echo >$d/deep/x; done; chmod 700 d0; rm -r d7; echo file >d7";

#[test]
fn a_killed_bashd_leaves_no_tree_in_between() {
    let home = held_home();
    let root = home.workspace();
    let made = Command::new("bash")
        .args(["-c", PROJECT])
        .current_dir(&root)
        .status();
    assert!(made.unwrap().success());
    let before = picture(&root);
    let held = id(&run(&home, "hold", COMMAND));
    let begun = Instant::now();
    succeeds(&home, &["changes", "apply", &held]);
    let longest = begun.elapsed();
    let after = picture(&root);
    assert_ne!(before, after);
    let (mut dice, mut is_applied) = (0x9e37_79b9_7f4a_7c15, true);
    let (mut unfinished, mut endings) = (0, [0, 0]);
    let kills = repetitions(200);
    for kill in 0..kills {
        let verb = if is_applied { "undo" } else { "apply" };
        let mut child = Command::new(BASHD)
            .args(["changes", verb, &held])
            .env_clear()
            .envs(home.env())
            .current_dir(&root)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A quarter of them at any moment, the others once there is a journal: what comes before
        // and after it takes longer than what is between.
        let mut most = longest.as_micros() as u64 + 1;
        if kill % 4 != 0 {
            let journal = home.state().join("changes/journals").join(&held);
            while !journal.exists() && child.try_wait().unwrap().is_none() {
                thread::yield_now();
            }
            most = 8_000;
        }
        thread::sleep(Duration::from_micros(next(&mut dice) % most));
        let _ = child.kill();
        child.wait().unwrap();
        let journals = home.state().join("changes/journals");
        unfinished +=
            usize::from(fs::read_dir(journals).is_ok_and(|mut left| left.next().is_some()));
        // Whoever looks next finishes it.
        succeeds(&home, &["changes"]);
        let found = picture(&root);
        is_applied = found == after;
        assert!(
            is_applied || found == before,
            "{verb}, kill {kill}:\n{found}"
        );
        endings[usize::from(is_applied)] += 1;
    }
    assert!(
        !is_soak() || unfinished > 10,
        "{unfinished} of {kills} kills came half way"
    );
    assert!(
        !is_soak() || endings.iter().all(|count| *count > 10),
        "{endings:?}"
    );
}

/// Runs a script in which `$bashd` is the program, with a small file system at `$small`.
fn on_a_small_disk(home: &Home, script: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        loudly("not root: full disks are NOT tried");
        return None;
    }
    let small = home.root().join("small");
    fs::create_dir(&small).unwrap();
    let whole = format!(
        "set -eu; mount -t tmpfs -o size=2m tmpfs \"$small\"; fill() {{ dd if=/dev/zero of=$small/ballast bs=4k 2>/dev/null || true; }}; {script}"
    );
    let done = Command::new("unshare")
        .args(["-m", "bash", "-c", &whole])
        .env_clear()
        .envs(home.env())
        .env("bashd", BASHD)
        .env("small", &small)
        .current_dir(home.workspace())
        .output()
        .unwrap();
    let said = text(&done.stdout) + &text(&done.stderr);
    assert!(done.status.success(), "{said}");
    Some(said)
}

#[test]
fn a_full_disk_below_the_workspace_loses_nothing() {
    let home = held_home();
    on_a_small_disk(
        &home,
        "mkdir $small/ws; cd $small/ws; echo keep >keep; seq 1000 >numbers; cp numbers ../numbers
        $bashd run --effects undoable 'head -c 5M /dev/zero >big; echo x >keep; sed -i s/1/2/ numbers; true' >../said 2>&1 || true
        $bashd changes | grep -q big || { cat ../said; exit 1; }
        $bashd undo
        [ \"$(ls)\" = \"$(printf 'keep\nnumbers')\" ] || { ls -la; exit 1; }
        [ $(cat keep) = keep ]; cmp numbers ../numbers
        # Full when it is applied: nothing is copied, so it works, or nothing happens.
        $bashd try 'echo new >keep; echo more >>numbers; mkdir deep' >/dev/null 2>&1
        id=$($bashd changes --json | grep '\"held\"' | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/')
        fill
        if $bashd changes apply $id; then [ $(cat keep) = new ] && [ -d deep ]; else [ $(cat keep) = keep ] && [ ! -d deep ]; fi
        rm $small/ballast; $bashd changes undo $id || true
        [ $(cat keep) = keep ]; cmp numbers ../numbers; [ ! -d deep ]",
    );
}

#[test]
fn a_full_disk_below_the_state_applies_nothing_in_part() {
    let home = held_home();
    let said = on_a_small_disk(
        &home,
        "export XDG_STATE_HOME=$small; echo old >f; echo old >g
        $bashd try 'echo new >f; echo new >g; rm -f nothing' >/dev/null 2>&1
        id=$($bashd changes --json | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/')
        fill
        if $bashd changes apply $id; then echo APPLIED; exit 1; fi
        [ $(cat f)$(cat g) = oldold ]
        rm $small/ballast; $bashd changes apply $id; [ $(cat f)$(cat g) = newnew ]
        fill
        if $bashd undo $id; then echo UNDONE; exit 1; fi
        [ $(cat f)$(cat g) = newnew ]
        rm $small/ballast; $bashd undo $id; [ $(cat f)$(cat g) = oldold ]
        fill
        $bashd try 'echo newer >f' 2>&1 | tail -n 3; [ $(cat f) = old ]; rm $small/ballast; $bashd changes discard $id",
    );
    if let Some(said) = said {
        assert!(said.contains("No space left"), "{said}");
    }
}

#[test]
fn where_something_is_mounted_below_the_workspace_nothing_runs() {
    let home = held_home();
    let said = on_a_small_disk(
        &home,
        "mkdir mnt; mount --bind $small mnt
        if $bashd try 'echo 1 >mnt/a; echo 2 >b'; then exit 1; fi
        [ ! -e mnt/a ] && [ ! -e b ]; [ -z \"$($bashd changes --json)\" ]
        umount mnt; $bashd try 'echo 2 >b'; $bashd changes prune --all",
    );
    if let Some(said) = said {
        assert!(said.contains("/mnt is mounted within"), "{said}");
    }
}

#[test]
fn who_holds_the_lock_of_changes_delays_only_calls_that_hold_theirs() {
    let home = held_home();
    id(&run(&home, "hold", "echo 1 >a")); // the store is there
    let lock = fs::File::open(home.state().join("changes/lock")).unwrap();
    lock.lock().unwrap();
    let mut client = Client::start(&home, &[]);
    let call = |id: String, arguments| json!({"id": id, "type": "call", "arguments": arguments});
    // More than may read at a time, and none may keep another from reading.
    for number in 0..6 {
        let command = format!("echo 2 >b{number}");
        let mode = if number % 2 == 0 { "hold" } else { "undoable" };
        let arguments = json!({"command": command, "effects": mode, "timeout": 2});
        client.say(&call(format!("held {number}"), arguments));
    }
    let begun = Instant::now();
    let much = json!({"command": "seq 100000"});
    let answer = client.ask(&call("plain".to_owned(), much));
    assert!(answer["data"]["text"].as_str().unwrap().contains("100000"));
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(2), "{taken:?}");
    for number in 0..6 {
        let answer = client.response(&format!("held {number}"));
        let said = answer["data"]["text"].as_str().unwrap();
        assert!(said.contains("somebody else holds their lock"), "{answer}");
    }
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(15), "{taken:?}");
    assert!(!home.workspace().join("b1").exists());
    drop(lock);
    // None of them is lost.
    assert_eq!(succeeds(&home, &["changes", "--json"]).lines().count(), 7);
    let again = json!({"command": "echo 3 >a; cat a", "effects": "hold"});
    let answer = client.ask(&call("again".to_owned(), again));
    assert_eq!(answer["data"]["exit_code"], 0, "{answer}");
    client.close();
}

/// What reaches the disk in which order, as the system was told: a loss of power may take away
/// everything that was not synced, so nothing that is needed then may be unsynced when the first
/// thing moves.
#[test]
fn the_journal_is_on_the_disk_before_the_first_thing_moves() {
    if Command::new("strace").arg("-V").output().is_err() {
        loudly("strace is missing: the order in which changes reach the disk is NOT tested");
        return;
    }
    let home = held_home();
    let root = home.workspace();
    fs::write(root.join("old"), "old").unwrap();
    fs::write(root.join("gone"), "gone").unwrap();
    let held = id(&run(
        &home,
        "hold",
        "echo new >old; rm gone; echo made >made",
    ));
    for words in [["changes", "apply", &held], ["changes", "undo", &held]] {
        let log = home.root().join("strace");
        let calls = "trace=fsync,syncfs,rename,renameat,renameat2,unlink,unlinkat";
        let traced = Command::new("strace")
            .args(["-f", "-y", "-s", "400", "-e", calls, "-o"])
            .arg(&log)
            .arg(BASHD)
            .args(words)
            .env_clear()
            .envs(home.env())
            .current_dir(&root)
            .output()
            .unwrap();
        assert!(traced.status.success(), "{}", text(&traced.stderr));
        let log = fs::read_to_string(&log).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        let places = |what: &[&str]| -> Vec<usize> {
            let is_it = |line: &&str| what.iter().all(|part| line.contains(part));
            let found = lines.iter().enumerate();
            found
                .filter(|(_, line)| is_it(line))
                .map(|(at, _)| at)
                .collect()
        };
        let only = |what: &[&str]| match *places(what) {
            [at] => at,
            ref other => panic!("{what:?} {other:?}:\n{log}"),
        };
        let journal = format!("journals/{held}");
        let trades = places(&["renameat2(", "RENAME_"]);
        assert_eq!(trades.len(), 3, "{log}");
        // What the command wrote, the journal, its name: then things move, then the record says so.
        let mut order = vec![
            only(&["syncfs("]),
            only(&["fsync(", &format!("{journal}.new>")]),
            only(&["rename", &format!("{journal}.new\"")]),
            only(&["fsync(", "/changes/journals>"]),
        ];
        order.extend(trades);
        order.extend([
            only(&["fsync(", "/record.new>"]),
            only(&["rename", "/record.new\""]),
            *places(&["unlink", &format!("{journal}\"")]).last().unwrap(),
        ]);
        assert!(order.is_sorted(), "{order:?}\n{log}");
    }
}
