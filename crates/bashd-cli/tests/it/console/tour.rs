//! A tour through the console with real programs: what it shows at each stop is what was recorded.
//!
//! `tests/tour/tour.txt` says what is done, line by line, and `tests/tour/NAME.txt` what a stop
//! shows; `BASHD_UPDATE_VIEWS=1` records them anew. With `BASHD_TOUR_TO=DIRECTORY` each stop is
//! also written there with its colours, of which `docs/pictures/paint.py` makes pictures.

use super::looks::{UPDATE, without_times};
use super::tmux::Tmux;
use bashd_testkit::{Home, loudly};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where stops are written to with their colours.
const TO: &str = "BASHD_TOUR_TO";

/// The size of the window at the beginning.
const SIZE: (u16, u16) = (88, 24);

struct Tour<'home> {
    home: &'home Home,
    tmux: Tmux<'home>,
    folder: PathBuf,
}

impl Tour<'_> {
    /// Does what a line says.
    fn step(&self, word: &str, rest: &str) {
        let tmux = &self.tmux;
        match word {
            // Types a command once the console takes one.
            "command" => tmux.command(rest),
            "line" => tmux.line(rest),
            "text" => tmux.text(rest),
            "keys" => tmux.keys(&rest.split(' ').collect::<Vec<_>>()),
            // Waits until all of these are there, or one is not.
            "until" => drop(tmux.until_all(&texts(rest))),
            "gone" => drop(tmux.until_gone(rest)),
            "resize" => {
                let (columns, rows) = rest.split_once(' ').unwrap();
                tmux.run(&["resize-window", "-x", columns, "-y", rows]);
            }
            // Another process starts a job.
            "job" => {
                let started = crate::shown(self.home, &["run", "--background", "--pty", rest]);
                assert_eq!(started.code(), Some(0), "{}", started.block());
            }
            "stop" | "alike" => {
                let (name, rest) = rest.split_once(' ').unwrap();
                let shown = tmux.until_all(&texts(rest));
                self.paint(name);
                let same = if word == "stop" { stable } else { alike };
                self.compare(name, &shown, same);
            }
            other => panic!("the tour has no word {other}"),
        }
    }

    fn compare(&self, name: &str, shown: &str, same: fn(&str) -> Vec<String>) {
        let path = self.folder.join(format!("{name}.txt"));
        if std::env::var_os(UPDATE).is_some() {
            let rows = shown.lines().map(str::trim_end);
            let rows = rows.collect::<Vec<_>>().join("\n");
            fs::write(&path, format!("{}\n", rows.trim_end())).unwrap();
        }
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            same(shown),
            same(&recorded),
            "{name}: {UPDATE}=1 records it anew:\n{shown}"
        );
    }

    fn paint(&self, name: &str) {
        if let Some(folder) = std::env::var_os(TO) {
            let raw = self.tmux.run(&["capture-pane", "-e", "-p", "-N"]).stdout;
            fs::write(Path::new(&folder).join(format!("{name}.ansi")), raw).unwrap();
        }
    }
}

fn texts(list: &str) -> Vec<&str> {
    list.split(" && ").collect()
}

/// What of a screen is the same each time. Names of clients are random, and empty rows are as many
/// as a program's version makes of them.
fn stable(screen: &str) -> Vec<String> {
    let client = regex::Regex::new(r"\b(cli|console):[A-Za-z0-9.#]+").unwrap();
    let mut lines = without_times(screen);
    for line in &mut lines {
        *line = client.replace_all(line, "$1:*").into_owned();
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// What of a screen that measures the machine is the same each time: not its numbers and bars.
fn alike(screen: &str) -> Vec<String> {
    let measured = regex::Regex::new(r"\[[^\]]*\]|\d[\d.,:%KMGT]*|\b(day|days),").unwrap();
    // How many there are follows from how long the numbers beside them are.
    let blanks = regex::Regex::new(r" +").unwrap();
    let numbers = regex::Regex::new(r"[*#]+").unwrap();
    let lines = stable(screen).into_iter();
    lines
        .map(|line| {
            let line = measured.replace_all(&line, "*");
            let line = blanks.replace_all(&line, "");
            numbers.replace_all(&line, "*").into_owned()
        })
        .collect()
}

/// A script that fails, and says so in colours.
const CHECK: &str = r"
printf '\033[32m✓\033[0m parse   12 cases\n\033[32m✓\033[0m plan    31 cases\n'
printf '\033[31m✗ reply    7 cases\033[0m\n    left  3\n    right \033[1m4\033[0m\n'
exit 1
";

/// What htop shows, however many processors there are.
const HTOPRC: &str = "\
fields=0 46 47 49 1
header_layout=two_50_50
column_meters_0=CPU Memory
column_meter_modes_0=1 1
column_meters_1=Tasks LoadAverage Uptime
column_meter_modes_1=2 2 2
";

fn is_there(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        loudly(&format!("{program} is missing: its stop of the tour"));
    }
    is_there
}

#[test]
fn a_tour_with_real_programs_shows_what_was_recorded() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let project = home.home().join("project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("note.txt"), "buy milk\nwater the plants\n").unwrap();
    fs::write(project.join("htoprc"), HTOPRC).unwrap();
    fs::write(project.join("check"), CHECK).unwrap();
    for command in ["echo tested; exit 2", "git --version"] {
        crate::shown(&home, &["run", command]);
    }
    let Some(tmux) = Tmux::shell(&home, SIZE) else {
        return;
    };
    tmux.go_to(&project);
    tmux.start_console("COLORTERM=truecolor");
    let tour = Tour {
        home: &home,
        tmux,
        folder: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tour"),
    };
    let steps = fs::read_to_string(tour.folder.join("tour.txt")).unwrap();
    let mut is_skipped = false;
    for line in steps.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" | "#" => {}
            // What follows is for this program, up to `always`.
            "needs" => is_skipped = !is_there(rest),
            "always" => is_skipped = false,
            _ if is_skipped => {}
            _ => tour.step(word, rest),
        }
    }
    tour.tmux.keys(&["C-d"]);
    tour.tmux.is_given_back();
}
