//! A tmux of our own, with a shell in which the console is started. No tests here.

use bashd_testkit::{Home, loudly};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long something may take to show on the screen of a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tmux of our own with a shell, in which the console is started.
pub(crate) struct Tmux<'home> {
    home: &'home Home,
    /// Each has a socket of its own: a server that is just leaving would take the next one with it.
    socket: PathBuf,
}

impl<'home> Tmux<'home> {
    /// Starts a console of this size; `None` where there is no tmux.
    pub(crate) fn console(home: &'home Home, size: (u16, u16)) -> Option<Self> {
        let tmux = Self::shell(home, size)?;
        tmux.start_console("");
        Some(tmux)
    }

    /// Starts only a shell.
    pub(crate) fn shell(home: &'home Home, size: (u16, u16)) -> Option<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        if Command::new("tmux").arg("-V").output().is_err() {
            loudly("tmux is missing: the console");
            return None;
        }
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let socket = home.workspace().join(format!("tmux{number}"));
        let tmux = Self { home, socket };
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        // The shell under it shows whether the terminal came back as it was.
        let shell = "PS1='shell> ' exec bash --norc --noprofile -i";
        let server = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            shell,
        ];
        let started = tmux.run(&server);
        assert!(started.status.success(), "{started:?}");
        tmux.run(&["set", "-g", "status", "off"]);
        tmux.run(&["resize-window", "-x", &columns, "-y", &rows]);
        tmux.until("shell>");
        Some(tmux)
    }

    /// Starts the console in the shell, with words before it.
    pub(crate) fn start_console(&self, before: &str) {
        self.line(&format!("{before} {} console", env!("CARGO_BIN_EXE_bashd")));
        self.until("[ready]");
    }

    /// Goes to another directory before the console is started.
    pub(crate) fn go_to(&self, directory: &Path) {
        self.line(&format!("cd {}; clear", directory.display()));
        self.until_that("cleared", |shown| shown.trim() == "shell>");
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(words)
            .env_clear()
            .envs(self.home.env())
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.home.workspace())
            .output()
            .unwrap()
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    /// Types a text and Enter.
    pub(crate) fn line(&self, text: &str) {
        self.text(text);
        self.keys(&["Enter"]);
    }

    /// Gives the console a command once it takes one: what is seen of the last one's output is not
    /// yet its end.
    pub(crate) fn command(&self, text: &str) {
        self.until("[ready]");
        self.line(text);
    }

    /// Ends the running command by its key until this is there: a busy machine may take too long
    /// between the two presses.
    pub(crate) fn end_command(&self, until: &str) {
        self.until_that(until, |shown| {
            let is_over = shown.contains(until);
            if !is_over {
                self.keys(&["C-]", "C-]"]);
            }
            is_over
        });
    }

    /// Types a text, and no Enter.
    pub(crate) fn text(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
    }

    pub(crate) fn shown(&self) -> String {
        let shown = self.run(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    pub(crate) fn until(&self, text: &str) -> String {
        self.until_that(text, |shown| shown.contains(text))
    }

    /// Waits until all of these are there.
    pub(crate) fn until_all(&self, texts: &[&str]) -> String {
        self.until_that(&format!("{texts:?}"), |shown| {
            texts.iter().all(|text| shown.contains(text))
        })
    }

    pub(crate) fn until_gone(&self, text: &str) -> String {
        self.until_that(text, |shown| !shown.contains(text))
    }

    pub(crate) fn until_that(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        let mut last = String::new();
        loop {
            let shown = self.shown();
            // A picture that is only half drawn changes.
            let still = without_clocks(&shown);
            if is_so(&shown) && still == last {
                return shown;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}:\n{shown}");
            last = still;
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The shell is back, on the normal screen, and shows what is typed.
    pub(crate) fn is_given_back(&self) {
        // What stood there before may be another prompt; and one that the shell wrote before the
        // guardian of a killed console took the alternate screen away is gone with that.
        self.until_that("a prompt", |shown| {
            let is_asking = shown.trim_end().ends_with("shell>");
            if !is_asking {
                self.keys(&["Enter"]);
            }
            is_asking
        });
        self.line("echo back to $((40+2)); stty -a | grep -o ' icanon'");
        let shown = self.until("back to 42");
        assert!(
            shown.contains("echo back to $((40+2))"),
            "no echo:\n{shown}"
        );
        self.until("icanon\n");
        self.modes_are_plain();
    }

    /// Nothing is left of what a program asked of its terminal, as far as tmux tells.
    pub(crate) fn modes_are_plain(&self) {
        let modes = "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{insert_flag} \
            #{keypad_flag} #{keypad_cursor_flag} #{wrap_flag} #{scroll_region_upper}";
        let modes = self.run(&["display-message", "-p", modes]).stdout;
        assert_eq!(String::from_utf8_lossy(&modes).trim(), "0 1 0 0 0 0 1 0");
    }

    /// The console's own process.
    pub(crate) fn pid(&self) -> String {
        let shell = self.run(&["display-message", "-p", "#{pane_pid}"]).stdout;
        let shell = String::from_utf8_lossy(&shell).trim().to_owned();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
        children
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

/// What of a screen stays as it is while a command just goes on: no times, no spinner.
fn without_clocks(shown: &str) -> String {
    let is_clock = |one: char| one.is_ascii_digit() || ('\u{2800}'..='\u{28ff}').contains(&one);
    shown.chars().filter(|one| !is_clock(*one)).collect()
}
