//! What a script really runs against the verdict: random scripts under real bash, with stubs in
//! place of the programs that could do harm.
//!
//! Each script hides one command by several means. It runs in a scratch directory with a `PATH`
//! that has nothing but stubs and a few harmless programs; a stub writes down its name and words.
//! Where a stub was called in a way that a rule denies, the verdict on the script must not be
//! `allow`. Where none was, the script was harmless, and refusals are counted.

use crate::disguises::{DisguiseTakes, HANDED, STRUCTURES};
use crate::guard_properties::Random;
use crate::spellings::{ROWS, spelled, spelled_by_row};
use crate::stage::Stage;
use bashd_script::guard::{Guard, RULES, Verdict};
use bashd_script::script::Script;
use bashd_testkit::repeat::is_soak;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Scripts in a soak run.
const SCRIPTS: usize = 100_000;

/// Scripts that one bash runs, one after the other: starting it takes longer than a script.
const AT_ONCE: usize = 50;

/// After so many, how many are left is told.
const TOLD_EACH: usize = 10_000;

/// One of so many may be missed in a soak run, and none in any other.
const MOST_MISSED: usize = 2000;

/// Rules that are about how something is run, whatever that is: text that is decoded and run, text
/// that is run where another host had a word in it, and scripts that nobody could judge. They may
/// object to one of so many harmless scripts, each of which is a disguise.
const HIDING: [&str; 3] = [
    "no_hidden_script",
    "no_pipe_to_shell",
    "script_within_bounds",
];
const MOST_ASKED: usize = 10;

/// One of so many may be one of which bash made something else than it says.
const MOST_ASTRAY: usize = 1000;

/// Means with which something else may run than did: the guard judges what may.
const POSSIBLE: [&str; 1] = ["branch"];

/// Means that the guard does not see through.
const UNSEEN: [&str; 0] = [];

/// Commands that a rule denies or asks about, and harmless ones of the same shape.
const BAD: [&[&str]; 23] = [
    &["rm", "-rf", "/"],
    &["rm", "-r", "-f", "/home/../"],
    &["rm", "-rf", "build", "/etc"],
    &["sudo", "rm", "-rf", "/usr"],
    &["git", "push", "--force", "origin"],
    &["git", "push", "origin", "+main"],
    &["git", "push", "origin", ":main"],
    &["git", "-c", "remote.o.mirror=true", "push", "o"],
    &["git", "-c", "alias.x=push", "x", "--force"],
    &["git", "reset", "--hard"],
    &["git", "checkout", ":/"],
    &["git", "restore", "src/.."],
    &["git", "clean", "-fd"],
    &["git", "stash", "clear"],
    &["dd", "if=x", "of=/dev/sda"],
    &["mkfs.ext4", "/dev/sda1"],
    &["wipefs", "-a", "/dev/sda"],
    &["chmod", "-R", "777", "/"],
    &["chown", "-R", "nobody", "/etc"],
    &["docker", "volume", "prune"],
    &["kubectl", "delete", "ns", "prod"],
    &["terraform", "destroy"],
    &["dropdb", "app"],
];
const GOOD: [&[&str]; 13] = [
    &["rm", "-rf", "build"],
    &["rm", "-f", "a.txt"],
    &["sudo", "rm", "-rf", "build"],
    &["git", "push", "origin", "main"],
    &["git", "push", "origin", "a:b"],
    &["git", "status"],
    &["git", "stash"],
    &["git", "restore", "--staged", "src"],
    &["dd", "if=x", "of=y.img", "count=1"],
    &["chmod", "-R", "755", "build"],
    &["docker", "ps", "-a"],
    &["kubectl", "get", "ns"],
    &["terraform", "plan"],
];

/// A script that runs a command by several means.
struct Hidden {
    text: String,
    /// Whether the command is one of the bad ones.
    means_harm: bool,
    means: Vec<&'static str>,
}

fn texts(scripts: &[Hidden]) -> Vec<&str> {
    scripts.iter().map(|script| script.text.as_str()).collect()
}

fn hide(random: &mut Random, command: &[&str]) -> Hidden {
    let mut means = Vec::new();
    let mut before = String::new();
    let mut spellings = Vec::new();
    for word in command {
        spellings.push(spelled(random, word, &mut means, &mut before));
    }
    let mut script = spellings.join(" ");
    let mut is_words = true;
    for _ in 0..random.next(4) {
        let from = if random.next(2) > 0 {
            HANDED
        } else {
            STRUCTURES
        };
        let around = &from[random.next(from.len())];
        if around.takes != DisguiseTakes::Text && !is_words {
            continue;
        }
        let is_line = !script.contains('\n') && !before.contains('\n');
        if around.takes_lines() && !is_line {
            continue;
        }
        // In an alias, bash looks for the text of a here-document behind the line that uses it.
        if around.name == "alias" && format!("{before}{script}").contains("<<E") {
            continue;
        }
        // Another shell gets the text with what the text needs.
        let needs = if around.is_read_here() { "" } else { &before };
        let Some(filled) = around.filled(&format!("{needs}{script}")) else {
            continue;
        };
        if !around.is_read_here() {
            before.clear();
        }
        script = filled;
        is_words &= around.takes == DisguiseTakes::Prefix;
        means.push(around.name);
    }
    Hidden {
        text: before + &script,
        means_harm: BAD.contains(&command),
        means,
    }
}

/// How many scripts are run: all in a soak run, a fraction otherwise, or what `BASHD_FUZZ_SCRIPTS`
/// says.
fn scripts_to_run() -> usize {
    let told = std::env::var("BASHD_FUZZ_SCRIPTS")
        .ok()
        .and_then(|count| count.parse().ok());
    told.unwrap_or(if is_soak() { SCRIPTS } else { SCRIPTS / 200 })
}

/// Where the random numbers begin: always the same, or what `BASHD_FUZZ_SEED` says.
fn seed() -> u64 {
    let told = std::env::var("BASHD_FUZZ_SEED").ok();
    let told = told.and_then(|seed| seed.parse::<u64>().ok());
    0xB5AD_4ECE_DA1C_E2A9 ^ told.unwrap_or(0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn verdict(guard: &Guard, script: &str) -> Verdict {
    guard.check(&Script::parse(script), script)
}

/// Whether a call of a stub is one that a rule has something against.
fn is_bad(guard: &Guard, words: &[String]) -> bool {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
        .collect();
    verdict(guard, &quoted.join(" ")) != Verdict::Allow
}

/// What came of the scripts.
#[derive(Default)]
struct Tally {
    /// Scripts of which a stub was called in a way that a rule has something against, and others.
    ran_bad: usize,
    ran_good: usize,
    /// Harmless ones that a rule asked about because of how they hide.
    asked: usize,
    /// Scripts that say something bad, and were refused, of which bash made something harmless:
    /// in a function, `$1` is not that of the script.
    went_astray: usize,
    /// What was missed by means that nobody sees through.
    unseen: usize,
    missed: BTreeMap<String, Vec<String>>,
    refused: Vec<String>,
}

impl Tally {
    #[expect(
        clippy::print_stdout,
        reason = "who runs all of them sees at once what is missed, and what is refused"
    )]
    fn judge(&mut self, guard: &Guard, script: &Hidden, calls: &[Vec<String>]) {
        let given = verdict(guard, &script.text);
        let is_caught = given != Verdict::Allow;
        let by = match given {
            Verdict::Allow => None,
            Verdict::Ask(it) | Verdict::Deny(it) => Some(it.rule),
        };
        let has_one_of = |those: &[&str]| script.means.iter().any(|means| those.contains(means));
        if calls.iter().any(|call| is_bad(guard, call)) {
            self.ran_bad += 1;
            if !is_caught && has_one_of(&UNSEEN) {
                self.unseen += 1;
            } else if !is_caught {
                let means = script.means.join(", ");
                println!("missed, by {means}: {}", script.text);
                let missed = self.missed.entry(means).or_default();
                missed.push(script.text.clone());
            }
        } else if !calls.is_empty() {
            self.ran_good += 1;
            match by.as_deref() {
                Some(rule) if HIDING.contains(&rule) => self.asked += 1,
                Some(_) if has_one_of(&POSSIBLE) => {}
                Some(_) if script.means_harm => self.went_astray += 1,
                Some(rule) => {
                    println!("refused, by {rule}: {}", script.text);
                    self.refused.push(script.text.clone());
                }
                None => {}
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.ran_bad += other.ran_bad;
        self.ran_good += other.ran_good;
        self.asked += other.asked;
        self.went_astray += other.went_astray;
        self.unseen += other.unseen;
        for (means, scripts) in other.missed {
            self.missed.entry(means).or_default().extend(scripts);
        }
        self.refused.extend(other.refused);
    }
}

/// Scripts that are still to be made, for whoever runs the next of them.
struct Coming {
    random: Random,
    batches: usize,
}

impl Iterator for Coming {
    type Item = Vec<Hidden>;

    #[expect(
        clippy::print_stdout,
        reason = "who runs all of them sees how far they are"
    )]
    fn next(&mut self) -> Option<Self::Item> {
        self.batches = self.batches.checked_sub(1)?;
        // Who runs all of them waits for an hour, and wants to see how far they are.
        if (self.batches + 1).is_multiple_of(TOLD_EACH / AT_ONCE) {
            println!("{} scripts to go", (self.batches + 1) * AT_ONCE);
        }
        let mut one = || {
            let from: &[&[&str]] = if self.random.next(3) > 0 { &BAD } else { &GOOD };
            let command = from[self.random.next(from.len())];
            hide(&mut self.random, command)
        };
        Some((0..AT_ONCE).map(|_| one()).collect())
    }
}

/// Runs and judges scripts on a stage of its own until none are left.
fn run_some(guard: &Guard, coming: &Mutex<Coming>) -> Tally {
    let home = tempfile::tempdir().expect("a scratch directory");
    let stage = Stage::new(home.path());
    let mut tally = Tally::default();
    loop {
        let next = coming.lock().expect("the others go on").next();
        let Some(scripts) = next else {
            return tally;
        };
        for (script, calls) in scripts.iter().zip(stage.run(&texts(&scripts))) {
            tally.judge(guard, script, &calls);
        }
    }
}

/// How many run scripts side by side: most of the time is that of starting shells.
fn runners(count: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if count > SCRIPTS / 100 { processors } else { 1 }
}

#[test]
fn what_scripts_really_run_is_what_was_judged() {
    let guard = Guard::new(RULES.iter().map(|rule| rule.name), &[]);
    let count = scripts_to_run();
    let coming = Mutex::new(Coming {
        random: Random(seed()),
        batches: count / AT_ONCE,
    });
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let run = || scope.spawn(|| run_some(&guard, &coming));
        let runners: Vec<_> = (0..runners(count)).map(|_| run()).collect();
        for runner in runners {
            match runner.join() {
                Ok(some) => tally.add(some),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    let (ran_bad, ran_good, asked) = (tally.ran_bad, tally.ran_good, tally.asked);
    assert!(
        ran_bad > count / 3 && ran_good > count / 10,
        "{ran_bad} and {ran_good} ran"
    );
    let classes = tally.missed.iter();
    let classes: Vec<String> = classes
        .map(|(means, scripts)| format!("{} by {means}: {}", scripts.len(), scripts[0]))
        .collect();
    let missed_count: usize = tally.missed.values().map(Vec::len).sum();
    let told = format!(
        "{missed_count} of {ran_bad} were missed:\n{}\n\n{} of {ran_good} were refused:\n{}",
        classes.join("\n"),
        tally.refused.len(),
        tally.refused.join("\n")
    );
    println!("{asked} of {ran_good} harmless ones were asked about because of how they hide");
    println!(
        "{} said something bad and did something else",
        tally.went_astray
    );
    println!(
        "{} more were missed by means that nobody sees through: {UNSEEN:?}",
        tally.unseen
    );
    // Whoever runs more of them sees what is missed, by class.
    println!("{told}");
    assert!(
        missed_count <= ran_bad / MOST_MISSED
            && tally.refused.is_empty()
            && tally.went_astray <= ran_good / MOST_ASTRAY
            && asked <= ran_good / MOST_ASKED,
        "{told}"
    );
}

/// Each row of both tables alone: that it runs what it should, and that the guard sees it.
#[test]
fn each_means_alone_is_seen_through() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let stage = Stage::new(home.path());
    let guard = Guard::new(RULES.iter().map(|rule| rule.name), &[]);
    let mut random = Random(1);
    let mut scripts = Vec::new();
    for command in ["rm -rf /", "git push --force", "docker volume prune"] {
        for around in STRUCTURES.iter().chain(HANDED) {
            scripts.push(Hidden {
                text: around.filled(command).expect("plain words stand anywhere"),
                means_harm: true,
                means: vec![around.name],
            });
        }
        let words: Vec<&str> = command.split(' ').collect();
        for (row, place) in (0..ROWS).flat_map(|row| [(row, 0), (row, words.len() - 1)]) {
            let mut text = String::new();
            let (means, spelling) = spelled_by_row(&mut random, row, words[place], &mut text);
            let mut words: Vec<&str> = words.clone();
            words[place] = &spelling;
            text.push_str(&words.join(" "));
            let means = vec![means];
            scripts.push(Hidden {
                text,
                means_harm: true,
                means,
            });
        }
    }
    let (mut wrong, mut ran) = (Vec::new(), vec![false; scripts.len() / 3]);
    let rows = ran.len();
    for (chunk, scripts) in scripts.chunks(AT_ONCE).enumerate() {
        for (index, (script, calls)) in scripts.iter().zip(stage.run(&texts(scripts))).enumerate() {
            if calls.iter().any(|call| is_bad(&guard, call)) {
                ran[(chunk * AT_ONCE + index) % rows] = true;
                let is_known = UNSEEN.contains(&script.means[0]);
                if !is_known && verdict(&guard, &script.text) == Verdict::Allow {
                    wrong.push(format!("missed, {}: {}", script.means[0], script.text));
                }
            }
        }
    }
    // A row that never runs anything would show nothing.
    let idle = scripts.iter().zip(&ran).filter(|(_, ran)| !**ran);
    wrong.extend(idle.map(|(script, _)| format!("does not run: {}", script.text)));
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
