//! Commands in a terminal: everything they wrote, hang-up, job control, keys, sizes, floods, many
//! at once.

use crate::profile_under_test::{Contract, end, running, wait_until_nothing_runs};
use bashd::KeeperSource;
use bashd::config::{Config, Surroundings};
use bashd::request::By;
use bashd::screen::{Screen, Size, keys::KeyPress};
use bashd::{Engine, Event, Keyboard, Reply, Request, Running};
use bashd_testkit::{Home, repeat, repetitions};
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

fn default(home: &Home) -> Contract {
    Contract::new(home, "default")
}

/// A command's terminal as a test follows it.
struct Followed {
    running: Running,
    keyboard: Keyboard,
    screen: Screen,
}

impl Followed {
    fn new(engine: &Engine, request: Request) -> Self {
        let running = engine.stream(request);
        Self {
            keyboard: running.keyboard(),
            running,
            screen: Screen::new(Size::default()),
        }
    }

    /// Waits until the screen shows this text.
    async fn until(&mut self, text: &str) {
        while !self.screen.text().contains(text) {
            let event = tokio::time::timeout(Duration::from_secs(20), self.running.next());
            match event.await {
                Ok(Some(Event::Output { text, .. })) => self.screen.feed(text.as_bytes()),
                Ok(Some(Event::Started { .. })) => {}
                other => panic!("no {text:?}, but {other:?}:\n{}", self.screen.text()),
            }
        }
    }

    fn press(&self, names: &[&str]) {
        for name in names {
            let key = KeyPress::named(name).expect("a key");
            self.keyboard.type_bytes(key.bytes(self.screen.key_modes()));
        }
    }

    async fn reply(mut self) -> Reply {
        loop {
            if let Event::Finished(reply) = self.running.next().await.expect("an end") {
                return *reply;
            }
        }
    }
}

#[tokio::test]
async fn a_command_gets_a_terminal_of_its_own() {
    let home = Home::new();
    let default = default(&home);
    let script = "test -t 0 && test -t 1 && test -t 2 && echo terminal; stty size; tput cols; \
        ps -o tpgid= -p $$ | tr -d ' ' | grep -qx $$ && echo foreground; echo $TERM; echo to tty >/dev/tty";
    let input = json!({"command": script, "pty": true}).to_string();
    let reply = default.json(&input).await;
    let expected = "terminal\n40 120\n120\nforeground\nxterm-256color\nto tty\n";
    assert_eq!(
        (reply.output.as_str(), reply.exit_code),
        (expected, Some(0))
    );
    assert_eq!(default.text("test -t 1 || echo none").await, "none\n");
}

#[tokio::test]
async fn sizes_are_clamped_and_a_call_may_say_its_own_variables() {
    let home = Home::new();
    let default = default(&home);
    for (size, shown) in [
        ((10, 1), "5 20\n"),
        ((1000, 999), "200 400\n"),
        ((80, 24), "24 80\n"),
    ] {
        let request = default
            .request("stty size")
            .pty()
            .terminal_size(size.into());
        assert_eq!(default.engine.run(request).await.output, shown);
    }
    let request = default
        .request("echo $TERM $COLUMNS")
        .pty()
        .env("TERM", "vt100")
        .env("COLUMNS", "7");
    assert_eq!(default.engine.run(request).await.output, "vt100 7\n");
}

#[tokio::test]
async fn every_byte_that_was_written_before_the_exit_is_there() {
    let home = Home::new();
    let default = default(&home);
    let expected: u64 = (1..=100_000)
        .map(|number: u64| number.to_string().len() as u64 + 2)
        .sum();
    for round in 0..repetitions(500) {
        let reply = default
            .engine
            .run(default.request("seq 1 100000").pty())
            .await;
        assert_eq!(reply.output_bytes, expected, "round {round}");
        assert_eq!(reply.output_lines, 100_000, "round {round}");
        assert!(reply.output.ends_with("99999\n100000\n"), "round {round}");
        let short = default
            .engine
            .run(default.request("printf last").pty())
            .await;
        assert_eq!(short.output, "last", "round {round}");
    }
}

#[tokio::test]
async fn input_may_come_from_a_file_while_the_rest_is_a_terminal() {
    let home = Home::new();
    let default = default(&home);
    let request = default
        .request("cat; test -t 0 || echo file; test -t 1 && echo terminal")
        .pty();
    let reply = default.engine.run(request.stdin("in\n")).await;
    assert_eq!(reply.output, "in\nfile\nterminal\n");
}

#[tokio::test]
async fn lines_lose_what_only_a_terminal_reads() {
    let home = Home::new();
    let default = default(&home);
    let script = r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\nplain\n'";
    let reply = default.engine.run(default.request(script).pty()).await;
    assert_eq!(reply.output, "red\n100%\nplain\n");
}

#[tokio::test]
async fn of_a_program_that_draws_the_last_screen_is_the_output() {
    let home = Home::new();
    let default = default(&home);
    let script =
        r"printf '\033[2J'; for i in 1 2 3; do printf '\033[Hframe %s\n' $i; done; echo below";
    let reply = default.engine.run(default.request(script).pty()).await;
    assert_eq!(reply.output, "frame 3\nbelow\n");
}

#[tokio::test]
async fn a_deadline_ends_a_terminal_and_all_in_it() {
    let home = Home::new();
    let default = default(&home);
    let script = "trap '' TERM HUP INT; setsid sleep 300 & sleep 300 & echo ready; wait; sleep 300";
    let request = default
        .request(script)
        .pty()
        .timeout(Duration::from_secs(1));
    let reply = default.engine.run(request).await;
    assert!(reply.timed_out, "{reply:?}");
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn the_end_of_the_shell_hangs_up() {
    let home = Home::new();
    let default = default(&home);
    let script = "(trap 'echo hung up > told; exit' HUP; : > ready; while :; do sleep 0.02; done) & \
        while ! test -e ready; do sleep 0.01; done; echo done";
    let reply = default.engine.run(default.request(script).pty()).await;
    // The loop's own shell may still say what became of its sleep.
    assert!(reply.output.starts_with("done\n"), "{}", reply.output);
    assert_eq!(reply.exit_code, Some(0));
    let told = home.workspace().join("told");
    for _ in 0..1000 {
        if told.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    wait_until_nothing_runs(&home);
    assert_eq!(std::fs::read_to_string(told).expect("told"), "hung up\n");
}

#[tokio::test]
async fn a_child_that_keeps_the_terminal_open_holds_nothing_up() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let default = default(&home);
    let script = "(trap '' HUP; : > ready; exec sleep 300) & \
        while ! test -e ready; do sleep 0.01; done; echo out";
    let reply = default.engine.run(default.request(script).pty()).await;
    assert_eq!((reply.output.as_str(), reply.exit_code), ("out\n", Some(0)));
    assert_eq!(reply.left_behind.len(), 1, "{reply:?}");
    end(&reply);
    wait_until_nothing_runs(&home);
}

/// Waits until there is a `sleep` that is not stopped.
async fn until_a_sleep_runs(home: &Home) {
    let is_there = || {
        running(home)
            .iter()
            .any(|process| process.command.contains("sleep") && process.state != 'T')
    };
    for _ in 0..1000 {
        if is_there() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", running(home));
}

#[tokio::test]
async fn jobs_are_controlled_by_keys() {
    let home = Home::new();
    let default = default(&home);
    let shell = default
        .request("PS1='ready> ' bash --norc --noprofile -i")
        .pty();
    let mut terminal = Followed::new(&default.engine, shell);
    terminal.until("ready>").await;
    terminal.keyboard.type_bytes("sleep 300\r");
    terminal.until("sleep 300").await;
    until_a_sleep_runs(&home).await;
    terminal.press(&["C-z"]);
    terminal.until("Stopped").await;
    terminal.keyboard.type_bytes("jobs; fg\r");
    terminal.until("fg").await;
    // Before it goes on, it has the terminal: the key is for it.
    until_a_sleep_runs(&home).await;
    terminal.press(&["C-c"]);
    terminal.until("^C").await;
    terminal.keyboard.type_bytes("echo $((6*7))\r");
    terminal.until("42").await;
    terminal.keyboard.type_bytes("exit 3\r");
    assert_eq!(terminal.reply().await.exit_code, Some(3));
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn keys_and_sizes_reach_a_full_screen_program() {
    let home = Home::new();
    let default = default(&home);
    let script = "trap 'stty size > size' WINCH; read -rsp 'Password: ' secret; echo; echo \"got $secret\"; \
        while ! test -e size; do sleep 0.01; done; cat size";
    let mut terminal = Followed::new(&default.engine, default.request(script).pty());
    terminal.until("Password:").await;
    terminal.keyboard.type_bytes("hidden\r");
    terminal.until("got hidden").await;
    assert_eq!(
        terminal.screen.text().matches("hidden").count(),
        1,
        "no echo"
    );
    terminal.keyboard.resize(Size::new(100, 30));
    terminal.until("30 100").await;
    assert_eq!(terminal.reply().await.exit_code, Some(0));
}

#[tokio::test]
async fn a_terminal_that_is_switched_off_is_told() {
    let home = Home::new();
    let reply_with = async |config: Config, env: Vec<(std::ffi::OsString, std::ffi::OsString)>| {
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env,
        };
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
        engine
            .run(Request::new("test -t 1 || echo none").pty())
            .await
            .text
    };
    let mut off = Config::new(home.state());
    off.virtual_terminal = false;
    let text = reply_with(off, home.env()).await;
    let notice = "[bashd: a terminal was requested, but none is available: ";
    assert_eq!(text, format!("none\n{notice}bash.virtualTerminal is off]"));
    let mut env = home.env();
    env.push(("PI_NO_PTY".into(), "1".into()));
    let text = reply_with(Config::new(home.state()), env).await;
    assert_eq!(text, format!("none\n{notice}PI_NO_PTY is 1]"));
}

#[tokio::test]
async fn pi_has_a_terminal_only_where_somebody_watches() {
    let home = Home::new();
    let pi = Contract::new(&home, "pi");
    let script = r"test -t 1 && echo terminal; printf 'a\rb\n'; echo $TERM";
    let mut request = pi.request(script).pty();
    let alone = pi.engine.run(request.clone()).await;
    assert!(!alone.output.contains("terminal"), "{}", alone.output);
    assert!(!alone.text.contains("asked for"), "{}", alone.text);
    let told = |reply: &Reply| reply.result["details"]["ptyFallback"].clone();
    assert_eq!(told(&alone), "no user interface is attached");
    request.ui = true;
    let watched = pi.engine.run(request).await;
    assert!(told(&watched).is_null(), "{watched:?}");
    assert_eq!(watched.output, "terminal\na\nb\nxterm-256color\n");
}

#[tokio::test]
async fn a_persons_own_command_is_run_as_it_is() {
    let home = Home::new();
    let default = default(&home);
    let mut request = default
        .request("echo \"${PAGER-none} ${CI-none}\"; git push --force 2>/dev/null; echo ran");
    assert!(default.engine.run(request.clone()).await.denied.is_some());
    request.by = By::Person;
    let reply = default.engine.run(request).await;
    assert_eq!(reply.output, "none none\nran\n");
}

#[tokio::test]
async fn a_flood_costs_no_memory() {
    let home = Home::new();
    let default = default(&home);
    let megabytes = if repeat::is_soak() { 1024 } else { 48 };
    let before = resident();
    let script = format!(
        "stty -opost; head -c {megabytes}M /dev/zero | tr '\\0' 'x' | fold -w 100; echo; echo end"
    );
    let request = default
        .request(script)
        .pty()
        .timeout(Duration::from_mins(10));
    let reply = default.engine.run(request).await;
    assert!(
        reply.output.ends_with("end\n"),
        "{:?}",
        reply.text.get(..200)
    );
    assert!(reply.output_bytes > megabytes << 20);
    let grown = resident().saturating_sub(before);
    assert!(grown < 48 << 10, "{grown} KiB more than before");
}

/// Memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a size")
}

#[tokio::test]
async fn a_hundred_terminals_at_once_each_have_their_own_output() {
    let home = Home::new();
    let default = default(&home);
    let mut calls = JoinSet::new();
    for number in 0..100 {
        let request = default.request(format!(
            "tty >/dev/null && seq {number} {number}; exit {number}"
        ));
        let engine = default.engine.clone();
        let request = request.pty().timeout(Duration::from_mins(2));
        calls.spawn(async move { (number, engine.run(request).await) });
    }
    while let Some(ended) = calls.join_next().await {
        let (number, reply) = ended.expect("no panic");
        assert_eq!(reply.output, format!("{number}\n"));
        assert_eq!(reply.exit_code, Some(number));
    }
    // The home's leak check looks for descriptors and processes that are left.
}

#[tokio::test]
async fn modes_of_the_terminal_are_the_programs_to_change() {
    let home = Home::new();
    let default = default(&home);
    let script = "stty -a | grep -o ' icanon'; stty raw -echo; echo ready; head -c 1 | od -An -c; stty sane; \
        stty -a | grep -o ' icanon'; stty cols 77 rows 11; stty size";
    let mut terminal = Followed::new(&default.engine, default.request(script).pty());
    terminal.until("ready").await;
    // In raw mode Ctrl-C is a byte like any other, and nobody waits for Enter.
    terminal.press(&["C-c"]);
    terminal.until("003").await;
    let reply = terminal.reply().await;
    assert_eq!(reply.exit_code, Some(0), "{reply:?}");
    let words: Vec<_> = reply.output.split_whitespace().collect();
    assert_eq!(words, ["icanon", "ready", "003", "icanon", "11", "77"]);
}

#[tokio::test]
async fn pi_writes_into_the_output_why_a_terminal_could_not_be_started() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let broken = home.workspace().join("bash");
    std::fs::write(&broken, b"\x7fELF, or so it says").expect("written");
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).expect("changed");
    let reply_of = async |profile: &str| {
        let mut config = Config::new(home.state());
        config.shell = Some(broken.display().to_string());
        config.profile = profile.to_owned();
        config.rc_script = Some(false);
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env: home.env(),
        };
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
        let mut request = Request::new("echo never").profile(profile).pty();
        request.ui = true;
        engine.run(request).await
    };
    let pi = reply_of("pi").await;
    assert!(pi.output.starts_with("PTY error: "), "{pi:?}");
    assert!(pi.output.contains("Exec format error"), "{pi:?}");
    assert_eq!((pi.exit_code, pi.signal, &pi.error), (None, None, &None));
    assert!(
        pi.is_error && pi.text.ends_with("Command failed: missing exit status"),
        "{}",
        pi.text
    );
    let default = reply_of("default").await;
    assert!(default.output.is_empty(), "{default:?}");
    assert!(
        default
            .error
            .is_some_and(|error| error.contains("could not be started"))
    );
}
