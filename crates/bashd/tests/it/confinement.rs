//! What a confined command can do: probes as root and as a user without rights, at each level, and
//! the table of `docs/confinement.md` made from them; presets, narrowing, and workspaces that can't
//! be one.

use bashd::config::{Config, Preset, Surroundings};
use bashd::plan::Level;
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::unprivileged::is_second_run;
use bashd_testkit::{Home, as_each_user, loudly};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::runtime::Runtime;

const PROBES: &str = include_str!("../cases/confinement/probes.py");
const PAGE: &str = include_str!("../../../../docs/confinement.md");
const PYTHON: &str = "/usr/bin/python3";

/// How many probes there are at least.
const FEWEST_PROBES: usize = 70;

/// What was planted, and must not be read; a server says it, too.
const CANARY: &str = "canary";

/// An engine in a home of its own.
struct ConfinedEngine {
    engine: Engine,
    runtime: Runtime,
    home: Home,
}

impl ConfinedEngine {
    fn new(change: impl FnOnce(&mut Config)) -> Self {
        Self::with(Home::new(), |home, config| {
            let _ = home;
            change(config);
        })
    }

    fn with(home: Home, change: impl FnOnce(&Home, &mut Config)) -> Self {
        let mut config = Config::new(home.state());
        config.minimizer.enabled = false;
        config.confinement.preset = Some(Preset::Workspace);
        change(&home, &mut config);
        let mut env = home.env();
        env.push(("PROBE_API_TOKEN".into(), CANARY.into()));
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env,
        };
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Self {
            engine,
            runtime: runtime.expect("a runtime"),
            home,
        }
    }

    fn run(&self, request: Request) -> Reply {
        self.runtime.block_on(self.engine.run(request))
    }

    fn level(&self, reply: &Reply) -> Option<Level> {
        let _ = self;
        reply.confinement.as_ref().map(|held| held.level)
    }
}

/// Everything that probes need outside of the workspace.
struct Outside {
    directory: PathBuf,
    process: Child,
    variables: Vec<(&'static str, OsString)>,
    shared: PathBuf,
}

impl Outside {
    fn plant(home: &Home, servers: &Servers) -> Self {
        let directory = home.root().join("outside");
        for name in ["", "empty"] {
            fs::create_dir_all(directory.join(name)).expect("a directory outside");
        }
        for name in ["file", "removed", "renamed", "taken", "mode", "stdin"] {
            plant(&directory.join(name));
        }
        let key = home.home().join(".ssh/id");
        let hidden = home.home().join("hidden/file");
        let state = home.state().join("clients/planted");
        let temporary = home.root().join("temporary");
        let process_id = std::process::id();
        let shared = PathBuf::from(format!("/dev/shm/bashd-probe-{process_id}"));
        for path in [&key, &hidden, &state, &temporary, &shared] {
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            plant(path);
        }
        let workspace = home.workspace();
        for name in [
            ".git/hooks/pre-commit",
            ".git/config",
            ".envrc",
            ".github/workflows/ci.yml",
            "kept",
        ] {
            let path = workspace.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            plant(&path);
        }
        fs::write(workspace.join("probes.py"), PROBES).expect("the probes");
        let process = Command::new("/bin/sleep")
            .arg("600")
            .env("CANARY", CANARY)
            .current_dir(&directory)
            .stdin(Stdio::null())
            .spawn()
            .expect("a process outside");
        let variables = vec![
            ("P_OUT", directory.clone().into()),
            ("P_WORKSPACE", workspace.into()),
            ("P_PID", process.id().to_string().into()),
            ("P_IDENTITY", key.into()),
            ("P_HIDDEN", hidden.into()),
            ("P_STATE", state.into()),
            ("P_TEMPORARY", temporary.into()),
            ("P_SHARED", shared.clone().into()),
            ("P_TCP", servers.tcp.to_string().into()),
            ("P_UDP", servers.udp.to_string().into()),
            ("P_SOCKET", servers.directory.join("socket").into()),
            ("P_ABSTRACT", servers.name.clone().into()),
        ];
        Self {
            directory,
            process,
            variables,
            shared,
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.shared);
    }
}

fn plant(path: &Path) {
    fs::write(path, CANARY).expect("a planted file");
}

/// Servers that say the word to everybody; they end with this process. Made before any home, whose
/// leak check would find them.
struct Servers {
    directory: PathBuf,
    name: String,
    tcp: u16,
    udp: u16,
}

impl Servers {
    fn start() -> Self {
        let name = format!("bashd-servers-{}", std::process::id());
        let directory = Path::new("/tmp").join(&name);
        fs::create_dir(&directory).expect("a directory for a socket");
        serve_sockets(&directory.join("socket"), &name);
        let (tcp, udp) = serve_ports();
        Self {
            directory,
            name,
            tcp,
            udp,
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn serve_ports() -> (u16, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let tcp = listener.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        for made in listener.incoming().flatten() {
            let _ = (&made).write_all(CANARY.as_bytes());
        }
    });
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let udp = socket.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 8]) {
            let _ = socket.send_to(CANARY.as_bytes(), from);
        }
    });
    (tcp, udp)
}

fn serve_sockets(path: &Path, name: &str) {
    let abstracted = SocketAddr::from_abstract_name(name).expect("a name");
    let listeners = [
        UnixListener::bind(path).expect("a socket"),
        UnixListener::bind_addr(&abstracted).expect("an abstract socket"),
    ];
    for listener in listeners {
        std::thread::spawn(move || {
            for made in listener.incoming().flatten() {
                let _ = (&made).write_all(CANARY.as_bytes());
            }
        });
    }
}

/// What a probe tries, and whether it was possible.
type Findings = BTreeMap<(usize, String, String), bool>;

/// Runs all probes at a level, or unconfined.
fn probe(servers: &Servers, level: Option<Level>) -> Findings {
    let site = ConfinedEngine::with(Home::new(), |home, config| {
        let outside = home.root().join("outside");
        config.confinement.preset = Some(match level {
            Some(_) => Preset::Workspace,
            None => Preset::Off,
        });
        config.confinement.most = level.unwrap_or_default();
        let seen = [Path::new("/"), &outside, &servers.directory];
        config.confinement.read = seen.map(|path| path.display().to_string()).to_vec();
        config.confinement.hide = vec!["~/hidden".to_owned()];
        config.confinement.protect = vec!["kept".to_owned()];
    });
    let outside = Outside::plant(&site.home, servers);
    let stdin = File::open(outside.directory.join("stdin")).expect("a file for stdin");
    let mut request = Request::new(format!("{PYTHON} -B probes.py"))
        .timeout(Duration::from_secs(100))
        .stdin_from(stdin);
    for (name, value) in &outside.variables {
        request = request.env(name, value);
    }
    let reply = site.run(request);
    assert_eq!(reply.exit_code, Some(0), "{level:?}: {reply:?}");
    assert_eq!(site.level(&reply), level, "{reply:?}");
    if level == Some(Level::Full) {
        for name in ["file", "removed", "renamed", "taken", "mode", "stdin"] {
            let text = fs::read_to_string(outside.directory.join(name));
            assert_eq!(text.ok().as_deref(), Some(CANARY), "{name} was changed");
        }
        let names = fs::read_dir(&outside.directory).expect("a directory outside");
        assert_eq!(names.count(), 7, "something was made outside");
    }
    let lines = reply.output.lines().enumerate();
    let found = lines.filter_map(|(number, line)| {
        let mut fields = line.split('\t').map(str::to_owned);
        let (group, _, title) = (fields.next()?, fields.next()?, fields.next()?);
        let possible = match &*fields.next()? {
            "possible" => true,
            "refused" => false,
            word => panic!("{level:?}: {line}: {word}"),
        };
        Some(((number, group, title), possible))
    });
    found.collect()
}

/// What a user can do unconfined, at `full`, at `landlock`.
fn probe_all() -> [Findings; 3] {
    let servers = Servers::start();
    [None, Some(Level::Full), Some(Level::Landlock)].map(|level| probe(&servers, level))
}

/// The words of a user's two columns.
fn columns([free, full, landlock]: &[Findings; 3]) -> Vec<(String, String, [&'static str; 2])> {
    let word = |at: &Findings, key| match (free.get(key), at.get(key)) {
        (_, None) | (None, _) => "?",
        (Some(false), Some(false)) => "–",
        (_, Some(false)) => "held",
        (_, Some(true)) => "**open**",
    };
    let rows = free.keys().map(|key| {
        let (_, group, title) = key.clone();
        (group, title, [word(full, key), word(landlock, key)])
    });
    rows.collect()
}

/// Where a run of this test leaves its columns for the other.
fn columns_file(user: &str) -> PathBuf {
    let process = if is_second_run() {
        rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get())
    } else {
        rustix::process::getpid().as_raw_nonzero().get()
    };
    PathBuf::from(format!("/tmp/bashd-held-{process}-{user}"))
}

#[test]
fn what_holds_at_each_level_is_what_the_page_says() {
    if !Path::new(PYTHON).exists() {
        loudly("no python3: what confinement holds is NOT tested");
        return;
    }
    as_each_user(|| {
        let rows = columns(&probe_all());
        assert!(rows.len() >= FEWEST_PROBES, "{} probes", rows.len());
        let mut text = String::new();
        for (group, title, [full, landlock]) in &rows {
            assert!(["held", "–"].contains(full), "at full: {title}: {full}");
            let _ = writeln!(text, "{group}\t{title}\t{full}\t{landlock}");
        }
        let user = if is_second_run() { "nobody" } else { "root" };
        fs::write(columns_file(user), text).expect("a file for the columns");
    });
    if is_second_run() {
        return;
    }
    let read = |user: &str| {
        let text = fs::read_to_string(columns_file(user)).unwrap_or_default();
        let _ = fs::remove_file(columns_file(user));
        text
    };
    let (root, nobody) = (read("root"), read("nobody"));
    if nobody.is_empty() {
        loudly("not root: the table of what confinement holds is NOT compared");
        return;
    }
    let table = table(&root, &nobody);
    let (before, rest) = PAGE.split_once(BEGIN).expect("the table's place");
    let (_, after) = rest.split_once(END).expect("the table's end");
    let page = format!("{before}{BEGIN}\n\n{table}\n{END}{after}");
    if std::env::var_os("BASHD_BLESS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/confinement.md");
        fs::write(path, page).expect("the page");
    } else {
        assert_eq!(PAGE, page, "BASHD_BLESS=1 writes it anew");
    }
}

const BEGIN: &str = "<!-- made by the test `what_holds_at_each_level_is_what_the_page_says` -->";
const END: &str = "<!-- end of what the test makes -->";

fn table(root: &str, nobody: &str) -> String {
    let mut table = "| a command | root, `full` | root, `landlock` | other users, `full` | other users, `landlock` |\n\
                     |---|---|---|---|---|\n"
        .to_owned();
    let mut last = String::new();
    for (of_root, of_nobody) in root.lines().zip(nobody.lines()) {
        let of_root: Vec<&str> = of_root.split('\t').collect();
        let of_nobody: Vec<&str> = of_nobody.split('\t').collect();
        let ([group, title, full, landlock], [_, _, user_full, user_landlock]) =
            (&of_root[..], &of_nobody[..])
        else {
            panic!("{of_root:?} and {of_nobody:?}");
        };
        let is_tried = [full, landlock, user_full, user_landlock];
        assert!(
            is_tried.iter().any(|word| **word != "–") || !can_be_shown(title),
            "{title}: was never possible"
        );
        if *group != last {
            let _ = writeln!(table, "| *{group}* | | | | |");
            (*group).clone_into(&mut last);
        }
        let _ = writeln!(
            table,
            "| {title} | {full} | {landlock} | {user_full} | {user_landlock} |"
        );
    }
    table
}

/// Whether a probe is possible on every machine, unconfined: some need a kernel that has the thing.
fn can_be_shown(title: &str) -> bool {
    let rare = [
        "makes calls by their other numbers",
        "loads another kernel",
        "opens a socket to the hypervisor",
        "opens a socket of the kernel's cryptography",
        "has descriptors beside 0, 1 and 2",
        "opens a socket for ping",
        "makes a control group",
        "opens a file of /sys for writing",
        "opens the kernel's memory",
        "loads programs into the kernel",
        "opens /proc/sysrq-trigger for writing",
        "loads a module",
        "loads a module from a file",
        "removes a module",
        "gets at the machine's ports",
    ];
    !rare.contains(&title)
}

#[test]
fn a_confined_command_works_in_its_workspace_and_its_own_places() {
    as_each_user(|| {
        let script = "set -e; echo a > made; cat made; echo b > /tmp/t; echo c > ~/cache; cat ~/cache; \
            mkfifo p; (echo d > p &) ; cat p; cat <(echo e); test -w /dev/null; \
            git init -q . 2>/dev/null || true; echo $$";
        let site = ConfinedEngine::new(|_| {});
        for request in [Request::new(script), Request::new(script).session("one")] {
            let _ = fs::remove_file(site.home.workspace().join("p"));
            let reply = site.run(request);
            assert_eq!(reply.exit_code, Some(0), "{reply:?}");
            assert!(reply.output.starts_with("a\nc\nd\ne\n"), "{reply:?}");
            assert_eq!(site.level(&reply), Some(Level::Full), "{reply:?}");
        }
        assert!(site.home.workspace().join("made").exists());
        // The home's layer went with the run.
        assert!(!site.home.home().join("cache").exists());
    });
}

#[test]
fn statuses_signals_and_deadlines_of_confined_commands_are_told() {
    as_each_user(|| {
        let site = ConfinedEngine::new(|_| {});
        let status = |script: &str| {
            let reply = site.run(Request::new(script));
            (reply.exit_code, reply.signal)
        };
        assert_eq!(status("exit 37"), (Some(37), None));
        assert_eq!(status("kill -KILL $$"), (None, Some(9)));
        assert_eq!(status("kill -TERM $$"), (None, Some(15)));
        let late =
            Request::new("setsid sleep 300 & setsid sleep 300").timeout(Duration::from_secs(1));
        let reply = site.run(late);
        assert!(reply.timed_out && reply.left_behind.is_empty(), "{reply:?}");
        // Survivors end with the run, and nobody waits for them.
        let reply = site.run(Request::new(
            "(setsid sleep 300 >/dev/null 2>&1 &) ; echo done",
        ));
        assert_eq!(&*reply.output, "done\n", "{reply:?}");
        assert!(
            reply.left_behind.is_empty() && reply.wall_ms < 1500,
            "{reply:?}"
        );
    });
}

#[test]
fn a_session_keeps_its_state_and_its_processes_when_confined() {
    let site = ConfinedEngine::new(|_| {});
    let said = |script: &str| site.run(Request::new(script).session("one"));
    assert_eq!(
        said("x=5; cd /usr; (sleep 300 >/dev/null 2>&1 &) ; echo $$").exit_code,
        Some(0)
    );
    let reply = said("echo $x $PWD; pgrep -c sleep; touch /usr/x; echo $?; nosuch");
    let lines: Vec<&str> = reply.output.lines().collect();
    assert_eq!(lines.first(), Some(&"5 /usr"), "{reply:?}");
    assert_eq!(lines.get(1), Some(&"1"), "{reply:?}");
    assert!(reply.output.contains("\nbash: line "), "{reply:?}");
    assert!(reply.output.contains("Read-only file system"), "{reply:?}");
}

#[test]
fn a_confined_job_and_a_confined_terminal_are_confined() {
    let site = ConfinedEngine::new(|config| config.virtual_terminal = true);
    let outside = site.home.root().join("outside-file");
    let script = format!("echo x > {}; echo status $?", outside.display());
    let mut request = Request::new(&script);
    request.pty = true;
    request.ui = true;
    let reply = site.run(request);
    assert!(reply.output.contains("status 1"), "{reply:?}");
    assert_eq!(site.level(&reply), Some(Level::Full), "{reply:?}");
    assert!(!outside.exists());
}

#[test]
fn a_call_can_only_narrow_its_confinement() {
    let site = ConfinedEngine::new(|_| {});
    let refused = site.run(Request::new("touch made").confine(Preset::Off));
    assert!(
        refused
            .error
            .as_ref()
            .is_some_and(|text| text.contains("only narrow")),
        "{refused:?}"
    );
    let reply = site.run(Request::new("touch made").confine(Preset::ReadOnly));
    assert!(reply.output.contains("Read-only file system"), "{reply:?}");
    assert_eq!(
        reply.confinement.map(|held| held.preset).as_deref(),
        Some("read-only")
    );
    assert!(!site.home.workspace().join("made").exists());
    drop(site);
    let off = ConfinedEngine::new(|config| config.confinement.preset = None);
    assert_eq!(off.run(Request::new("true")).confinement, None);
    let asked = off.run(Request::new("true").confine(Preset::Workspace));
    assert_eq!(off.level(&asked), Some(Level::Full), "{asked:?}");
}

#[test]
fn what_can_not_be_confined_is_refused_with_the_reason() {
    let home = Home::new();
    let link = home.root().join("link");
    std::os::unix::fs::symlink(home.workspace(), &link).expect("a link");
    let file = home.root().join("file");
    plant(&file);
    let cases: [(PathBuf, Vec<String>, Preset, &str); 6] = [
        (
            "/".into(),
            vec![],
            Preset::Workspace,
            "the workspace is `/`",
        ),
        (
            home.root().join("gone"),
            vec![],
            Preset::Workspace,
            "can't be used",
        ),
        (file, vec![], Preset::Workspace, "is not a directory"),
        (
            home.workspace(),
            vec![".".to_owned()],
            Preset::Workspace,
            "which is hidden",
        ),
        (
            link.clone(),
            vec![home.root().display().to_string()],
            Preset::Workspace,
            "which is hidden",
        ),
        (
            home.workspace(),
            vec![],
            Preset::WorkspaceNet,
            "needs an allow-list of hosts",
        ),
    ];
    for (workspace, hide, preset, reason) in cases {
        let site = ConfinedEngine::new(|config| {
            config.confinement.workspace = Some(workspace.clone());
            config.confinement.hide = hide;
            config.confinement.preset = Some(preset);
        });
        let reply = site.run(Request::new("touch made"));
        let told = reply
            .error
            .as_ref()
            .is_some_and(|text| text.contains(reason));
        assert!(told, "{}: {reply:?}", workspace.display());
        assert!(!site.home.workspace().join("made").exists());
    }
    // A link is where it leads.
    let site = ConfinedEngine::new(|config| config.confinement.workspace = Some(link));
    let made = home.workspace().join("made");
    let reply = site.run(Request::new(format!("touch {}", made.display())).cwd(home.workspace()));
    assert!(reply.exit_code == Some(0) && made.exists(), "{reply:?}");
}

#[test]
fn ten_thousand_protected_paths_are_protected() {
    let home = Home::new();
    let names: Vec<String> = (0..10_000).map(|number| format!("many/{number}")).collect();
    fs::create_dir(home.workspace().join("many")).expect("a directory");
    for name in &names {
        plant(&home.workspace().join(name));
    }
    let site = ConfinedEngine::with(home, |_, config| {
        config.confinement.protect.clone_from(&names)
    });
    let script = "echo x > many/0; echo x > many/9999; echo x > other && echo wrote";
    let reply = site.run(Request::new(script).timeout(Duration::from_secs(60)));
    assert_eq!(
        reply.output.matches("Read-only file system").count(),
        2,
        "{reply:?}"
    );
    assert!(reply.output.ends_with("wrote\n"), "{reply:?}");
}
