//! Random commands in random trees, on layers of the kernel.

use super::{HoldingEngine, bash, picture};
use bashd_testkit::as_each_user;
use bashd_testkit::repeat::repetitions;
use std::fs;

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
        match self.below(13) {
            0 => format!("echo {digit} >{one}"),
            1 => format!("echo {digit} >>{one}"),
            2 => format!("mkdir -p {one}"),
            3 => format!("mkdir {one} && echo {digit} >{one}/b"),
            4 => format!("rm -rf {one}"),
            5 => format!("mv -T {one} {other}"),
            // How much of a directory `cp` copies into itself depends on the order of its names,
            // which layers may have otherwise.
            6 if format!("{other}/").starts_with(&format!("{one}/")) => "true".to_owned(),
            6 => format!("cp -a {one} {other}"),
            7 => format!("ln -sfT to{digit} {one}"),
            8 => format!("[[ -f {one} && ! -L {one} ]] && chmod {file_mode} {one}"),
            9 => format!("[[ -d {one} && ! -L {one} ]] && chmod {directory_mode} {one}"),
            10 => format!("rm -rf {one}; mkdir {one}; echo {digit} >{one}/a"),
            11 => format!("sed -i s/1/7/ {one}"),
            // In a new directory that is never moved: links end at a layer.
            _ => format!(
                "rm -rf links; mkdir links; echo {digit} >links/a; ln links/a links/{digit}; echo >>links/{digit}"
            ),
        }
    }

    fn script(&mut self, lines: u64) -> String {
        let lines: Vec<_> = (0..lines).map(|_| self.line()).collect();
        format!("umask 022; exec 2>/dev/null\n{}\ntrue", lines.join("\n"))
    }
}

#[test]
fn on_real_layers_what_is_applied_is_what_the_plain_command_leaves() {
    as_each_user(|| {
        let site = HoldingEngine::new();
        let (root, plain) = (site.home.workspace(), site.home.root().join("plain"));
        let mut rounds_with_some = 0;
        let rounds = repetitions(1000) as u64;
        for seed in 1..=rounds {
            let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            bash("find . -mindepth 1 -delete", &root);
            bash(&dice.script(25), &root);
            let _ = fs::remove_dir_all(&plain);
            bash("cp -a . ../plain", &root);
            let before = picture(&root);
            let lines = 1 + dice.below(8);
            let script = dice.script(lines);
            bash(&script, &plain);
            let after = picture(&plain);
            let reply = site
                .run(bashd::Request::new(script.clone()).effects(bashd::changes::Effects::Hold));
            let changes = reply.changes.as_ref().expect("changes");
            assert_eq!(picture(&root), before, "held, {seed}: {script}");
            let Some(id) = &changes.id else {
                assert_eq!(before, after, "{seed}: {script}");
                continue;
            };
            rounds_with_some += 1;
            site.apply(id);
            assert_eq!(picture(&root), after, "applied, {seed}: {script}");
            site.undo(id);
            assert_eq!(picture(&root), before, "undone, {seed}: {script}");
            if dice.below(2) == 0 {
                site.apply(id);
                assert_eq!(picture(&root), after, "applied again, {seed}: {script}");
            }
            site.store().discard(id).expect("discarded");
        }
        assert!(rounds_with_some * 2 > rounds, "{rounds_with_some}");
    });
}
