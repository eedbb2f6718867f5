//! Random commands in random trees, on layers of the kernel.

use super::{HoldingEngine, bash, picture};
use bashd::Request;
use bashd::changes::Effects;
use bashd_testkit::as_each_user;
use bashd_testkit::repeat::is_soak;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }

    fn path(&mut self) -> String {
        const NAMES: [&str; 5] = ["a", "b", "A", "'c d'", "$'e\\377'"];
        let depth = 1 + self.below(3);
        let parts: Vec<_> = (0..depth).map(|_| self.of(&NAMES)).collect();
        parts.join("/")
    }

    /// One thing that a command might do. Its failure is a part of it.
    fn line(&mut self) -> String {
        let (one, other, digit) = (self.path(), self.path(), self.below(10));
        let file_mode = self.of(&["600", "644", "755", "444"]);
        let directory_mode = self.of(&["700", "755", "750"]);
        match self.below(16) {
            // Who writes to a fifo waits for a reader.
            0 => format!("[[ -p {one} ]] || echo {digit} >{one}"),
            1 => format!("[[ -p {one} ]] || echo {digit} >>{one}"),
            2 => format!("mkdir -p {one}"),
            3 => format!("mkdir {one} && echo {digit} >{one}/b"),
            4 => format!("rm -rf {one}"),
            5 => format!("mv -T {one} {other}"),
            // How much of a directory `cp` copies into itself depends on the order of its names,
            // which layers may have otherwise.
            6 if format!("{other}/").starts_with(&format!("{one}/")) => "true".to_owned(),
            6 => format!("cp -a --remove-destination {one} {other}"),
            7 => format!("ln -sfT to{digit} {one}"),
            8 => format!("[[ -f {one} && ! -L {one} ]] && chmod {file_mode} {one}"),
            9 => format!("[[ -d {one} && ! -L {one} ]] && chmod {directory_mode} {one}"),
            10 => format!("rm -rf {one}; mkdir {one}; echo {digit} >{one}/a"),
            11 => format!("[[ -p {one} ]] || sed -i s/1/7/ {one}"),
            12 => format!("attribute {one} {digit}"),
            // Long ago: what a command itself says of a time is what there is to compare.
            13 => format!("[[ -f {one} && ! -L {one} ]] && touch -d @{digit}234567.{digit}5 {one}"),
            14 => format!("mkfifo -m {file_mode} {one}"),
            // In a new directory that is never moved: links end at a layer.
            _ => format!(
                "rm -rf links; mkdir links; echo {digit} >links/a; ln links/a links/{digit}; echo >>links/{digit}"
            ),
        }
    }

    fn script(&mut self, lines: u64) -> String {
        let lines: Vec<_> = (0..lines).map(|_| self.line()).collect();
        let lines = lines.join("\n");
        format!("umask 022; exec 2>/dev/null\n{ATTRIBUTE}\n{lines}\ntrue")
    }
}

/// Sets an extended attribute of a path, or removes it: no program for that is everywhere.
const ATTRIBUTE: &str = if cfg!(target_arch = "x86_64") {
    "attribute() { perl -e '($p, $v) = @ARGV; $n = qq(user.n) . $v % 2; \
     $v % 3 ? syscall(188, $p, $n, qq($v), 1, 0) : syscall(197, $p, $n)' \"$@\"; }"
} else {
    "attribute() { perl -e '($p, $v) = @ARGV; $n = qq(user.n) . $v % 2; \
     $v % 3 ? syscall(5, $p, $n, qq($v), 1, 0) : syscall(14, $p, $n)' \"$@\"; }"
};

/// What is said of every path beside what `picture` has: extended attributes, and when a file was
/// written last, if that is before this moment.
fn remarks(root: &Path, before: i64) -> String {
    fn add(path: &Path, before: i64, lines: &mut Vec<String>) {
        let found = fs::symlink_metadata(path).expect("a path");
        if found.is_symlink() {
            return;
        }
        let shown = path.as_os_str().as_encoded_bytes().escape_ascii();
        let mut room = [0; 64];
        for name in ["user.n0", "user.n1"] {
            if let Ok(length) = rustix::fs::lgetxattr(path, name, &mut room) {
                lines.push(format!("{shown} {name} {:?}", &room[..length]));
            }
        }
        if found.is_file() && found.mtime() < before {
            lines.push(format!("{shown} {} {}", found.mtime(), found.mtime_nsec()));
        }
        if let Ok(entries) = fs::read_dir(path) {
            for entry in entries {
                add(&entry.expect("an entry").path(), before, lines);
            }
        }
    }
    let mut lines = Vec::new();
    add(root, before, &mut lines);
    lines.sort();
    // The same in every tree that is compared.
    lines.join("\n").replace(&root.display().to_string(), "")
}

/// Everything of a tree that must be the same in another one.
fn whole(root: &Path) -> String {
    const LONG_AGO: i64 = 100_000_000;
    picture(root) + "\n" + &remarks(root, LONG_AGO)
}

/// Everything of a tree that must be the same as before.
fn exact(root: &Path) -> String {
    picture(root) + "\n" + &remarks(root, i64::MAX)
}

/// A tenth of the rounds: 200 in all, 10,000 in soak, each as every user.
fn rounds(part: u64) {
    let rounds = if is_soak() { 1000 } else { 20 };
    let site = HoldingEngine::new();
    let (root, plain) = (site.home.workspace(), site.home.root().join("plain"));
    let (mut with_some, mut with_attributes) = (0, 0);
    for seed in part * 1000 + 1..=part * 1000 + rounds {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        bash("find . -mindepth 1 -delete", &root);
        bash(&dice.script(25), &root);
        let _ = fs::remove_dir_all(&plain);
        bash("cp -a . ../plain", &root);
        let before = exact(&root);
        assert_eq!(whole(&root), whole(&plain), "{seed}");
        let lines = 1 + dice.below(8);
        let script = dice.script(lines);
        bash(&script, &plain);
        let (was, after) = (whole(&root), whole(&plain));
        with_attributes += u64::from(after.contains(" user.n") && after != was);
        let reply = site.run(Request::new(script.clone()).effects(Effects::Hold));
        let changes = reply.changes.as_ref().expect("changes");
        assert_eq!(exact(&root), before, "held, {seed}: {script}");
        let Some(id) = &changes.id else {
            assert_eq!(was, after, "{seed}: {script}");
            continue;
        };
        with_some += 1;
        if dice.below(8) == 0 {
            site.store().discard(id).expect("discarded");
            assert_eq!(exact(&root), before, "discarded, {seed}: {script}");
            continue;
        }
        site.apply(id);
        assert_eq!(whole(&root), after, "applied, {seed}: {script}");
        site.undo(id);
        assert_eq!(exact(&root), before, "undone, {seed}: {script}");
        let mut last = before;
        if dice.below(2) == 0 {
            site.apply(id);
            assert_eq!(whole(&root), after, "applied again, {seed}: {script}");
            last = exact(&root);
        }
        site.store().discard(id).expect("discarded");
        assert_eq!(exact(&root), last, "what is there stays, {seed}: {script}");
    }
    // Of twenty rounds only so much can be said.
    assert!(with_some * 3 > rounds, "{with_some}");
    assert!(with_attributes > 0 || rounds < 100, "no attribute was set");
}

/// Tests of its parts: each can be run, and repeated, by itself.
macro_rules! parts {
    ($($name:ident $part:literal),*) => {
        $(
            #[test]
            fn $name() {
                as_each_user(|| rounds($part));
            }
        )*
    };
}

/// What is applied is what the plain command leaves, what is undone or discarded what was before.
mod what_is_applied_is_what_the_plain_command_leaves {
    use super::{as_each_user, rounds};

    parts!(part_0 0, part_1 1, part_2 2, part_3 3, part_4 4, part_5 5, part_6 6, part_7 7, part_8 8, part_9 9);
}
