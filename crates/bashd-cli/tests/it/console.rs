//! The console as a person meets it: in a real terminal, which is tmux.

use bashd_testkit::{Home, loudly};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long something may take to show on the screen of a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tmux of our own with a shell, in which the console is started.
struct Tmux<'home> {
    home: &'home Home,
    /// Each has a socket of its own: a server that is just leaving would take the next one with it.
    socket: PathBuf,
}

impl<'home> Tmux<'home> {
    /// Starts a console of this size; `None` where there is no tmux.
    fn console(home: &'home Home, size: (u16, u16)) -> Option<Self> {
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
        tmux.line(&format!("{} console", env!("CARGO_BIN_EXE_bashd")));
        tmux.until("[ready]");
        Some(tmux)
    }

    fn run(&self, words: &[&str]) -> Output {
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

    fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    /// Types a text and Enter.
    fn line(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
        self.keys(&["Enter"]);
    }

    fn shown(&self) -> String {
        let shown = self.run(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    fn until(&self, text: &str) -> String {
        self.until_that(text, |shown| shown.contains(text))
    }

    fn until_gone(&self, text: &str) -> String {
        self.until_that(text, |shown| !shown.contains(text))
    }

    fn until_that(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let shown = self.shown();
            if is_so(&shown) {
                return shown;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}:\n{shown}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The shell is back, on the normal screen, and shows what is typed.
    fn is_given_back(&self) {
        self.until("shell>");
        self.line("echo back to $((40+2)); stty -a | grep -o ' icanon'");
        let shown = self.until("back to 42");
        assert!(
            shown.contains("echo back to $((40+2))"),
            "no echo:\n{shown}"
        );
        self.until("icanon\n");
        let modes = "#{alternate_on} #{cursor_flag} #{mouse_any_flag}";
        let modes = self.run(&["display-message", "-p", modes]).stdout;
        assert_eq!(String::from_utf8_lossy(&modes).trim(), "0 1 0");
    }

    /// The console's own process.
    fn pid(&self) -> String {
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

#[test]
fn commands_run_stick_to_their_directory_and_are_recorded() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 40)) else {
        return;
    };
    std::fs::create_dir(home.workspace().join("below")).unwrap();
    tmux.line("!seq 1 30; exit 3");
    let shown = tmux.until("Exit: 3");
    assert!(shown.contains("failed"), "{shown}");
    assert!(
        shown.contains("… 10 more lines (ctrl+o to expand)"),
        "{shown}"
    );
    assert!(!shown.contains("\n10\n"), "{shown}");
    tmux.keys(&["C-o"]);
    tmux.until_gone("more lines");
    tmux.line("!cd below");
    tmux.until("workspace/below");
    tmux.line("!!basename $PWD; git push --force 2>/dev/null; echo ran");
    tmux.until("\nran\n");
    assert!(tmux.shown().contains("\nbelow\n"), "{}", tmux.shown());
    tmux.line("ls");
    tmux.until("commands begin with !");
    tmux.line("/log seq");
    let shown = tmux.until("Log seq");
    assert!(
        shown.contains("exit 3") && shown.contains("seq 1 30; exit 3"),
        "{shown}"
    );
    tmux.keys(&["q"]);
    tmux.keys(&["Up", "Up"]);
    tmux.until("› ls");
    tmux.keys(&["C-c"]);
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
    let ledger: String = std::fs::read_dir(home.state().join("ledger"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default())
        .collect();
    assert_eq!(ledger.matches("\"kept_out\":true").count(), 1, "{ledger}");
}

#[test]
fn programs_that_draw_get_a_terminal_and_keys() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (100, 30)) else {
        return;
    };
    let numbers: Vec<_> = (1..=99).map(|number| format!("line {number}")).collect();
    std::fs::write(home.workspace().join("numbers"), numbers.join("\n")).unwrap();
    if Command::new("vim").arg("--version").output().is_ok() {
        tmux.line("!vim -u NONE -i NONE new");
        let shown = tmux.until("\"new\" [New");
        assert!(
            shown.contains("Console") && shown.contains("esc esc ends it"),
            "{shown}"
        );
        tmux.run(&["send-keys", "-l", "ihello from vim"]);
        tmux.until("hello from vim");
        // A single Esc is vim's.
        tmux.keys(&["Escape"]);
        std::thread::sleep(Duration::from_millis(700));
        tmux.line(":wq");
        tmux.until("done ⟨Wall");
        let written = std::fs::read_to_string(home.workspace().join("new")).unwrap();
        assert_eq!(written, "hello from vim\n");
    } else {
        loudly("vim is missing: vim in the console");
    }
    tmux.line("!less numbers");
    tmux.until("│line 1 ");
    tmux.run(&["resize-window", "-x", "90", "-y", "40"]);
    tmux.until("│line 28 ");
    tmux.keys(&["G"]);
    tmux.until("│line 99 ");
    tmux.keys(&["q"]);
    tmux.until_gone("esc esc");
    tmux.line("!top -d 60");
    tmux.until("Ctrl-T");
    tmux.keys(&["C-t"]);
    tmux.until("PID USER");
    tmux.keys(&["q"]);
    tmux.until_gone("esc esc");
    tmux.line("/quit");
    tmux.is_given_back();
}

#[test]
fn a_password_is_typed_unseen_and_a_command_can_be_ended() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    tmux.line("!read -rsp 'Password: ' secret; echo; echo length ${#secret}");
    // Once in the command, once as the command's own words.
    tmux.until_that("asked", |shown| shown.matches("Password:").count() > 1);
    tmux.keys(&["C-t"]);
    tmux.until("esc esc");
    tmux.line("hidden");
    let shown = tmux.until("length 6");
    assert!(!shown.contains("hidden"), "{shown}");
    tmux.line("!sleep 300");
    tmux.until("[running]");
    tmux.line("!echo second");
    tmux.until("A bash command is already running. Press Esc to cancel it first.");
    assert!(tmux.shown().contains("› !echo second"), "{}", tmux.shown());
    tmux.keys(&["Escape"]);
    tmux.until("cancelled");
    tmux.keys(&["C-u"]);
    tmux.line("!sleep 300");
    tmux.until("[running]");
    tmux.keys(&["C-t"]);
    tmux.until("esc esc");
    // A busy machine may take too long between the two.
    tmux.until_that("ended", |shown| {
        tmux.keys(&["Escape"]);
        std::thread::sleep(Duration::from_millis(60));
        tmux.keys(&["Escape"]);
        !shown.contains("esc esc")
    });
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn every_end_gives_the_terminal_back() {
    let home = Home::new();
    for signal in ["HUP", "INT", "TERM", "KILL"] {
        let Some(tmux) = Tmux::console(&home, (80, 24)) else {
            return;
        };
        tmux.line("!sleep 300");
        tmux.until("[running]");
        let killed = Command::new("kill")
            .args(["-s", signal, &tmux.pid()])
            .status();
        assert!(killed.unwrap().success());
        tmux.is_given_back();
    }
}

#[test]
fn jobs_are_seen_answered_and_ended() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let script = "read -r line; echo got $line; sleep 300";
    for how in [r#""stdin_open":true"#, r#""pty":true"#] {
        let input = format!(r#"{{"command":"{script}","background":true,{how}}}"#);
        let started = crate::shown(&home, &["run", "--input", &input]);
        assert_eq!(started.code(), Some(0), "{}", started.block());
    }
    let Some(tmux) = Tmux::console(&home, (120, 30)) else {
        return;
    };
    tmux.line("/jobs");
    let shown = tmux.until("bg_2");
    assert!(
        shown.contains("bg_1") && shown.contains("read -r line"),
        "{shown}"
    );
    tmux.keys(&["q"]);
    for name in ["bg_1", "bg_2"] {
        tmux.line(&format!("/send {name} hello"));
        tmux.until(&format!("sent to {name}"));
        tmux.line(&format!("/job {name}"));
        tmux.until("got hello");
        tmux.keys(&["q"]);
        tmux.line(&format!("/kill {name}"));
        tmux.until(&format!("{name} was ended"));
    }
    tmux.line("/jobs");
    tmux.until("killed");
    tmux.keys(&["q", "C-d"]);
    tmux.is_given_back();
}
