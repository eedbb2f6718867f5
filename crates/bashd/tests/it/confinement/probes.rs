//! Probes as root and as a user without rights, at each level, and the table of
//! `docs/confinement.md` made from what they find.

use super::{CANARY, ConfinedEngine, plant};
use bashd::Request;
use bashd::config::{Preset, RefusalReport};
use bashd::plan::Level;
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

const PROBES: &str = include_str!("../../cases/confinement/probes.py");
const PAGE: &str = include_str!("../../../../../docs/confinement.md");
const PYTHON: &str = "/usr/bin/python3";

/// How many probes there are at least.
const FEWEST_PROBES: usize = 70;

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

/// Runs all probes at a level, or unconfined; with its calls watched, or not.
fn probe(servers: &Servers, level: Option<Level>, report: RefusalReport) -> Findings {
    let site = ConfinedEngine::with(Home::new(), |home, config| {
        let outside = home.root().join("outside");
        config.confinement.preset = Some(match level {
            Some(_) => Preset::Workspace,
            None => Preset::Off,
        });
        config.confinement.most = level.unwrap_or_default();
        config.confinement.report = report;
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
    [None, Some(Level::Full), Some(Level::Landlock)].map(|level| {
        let found = probe(&servers, level, RefusalReport::Network);
        if level.is_some() {
            let watched = probe(&servers, level, RefusalReport::All);
            assert_eq!(
                watched, found,
                "{level:?}: being watched changes what holds"
            );
        }
        found
    })
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
        let row = format!("| {title} | {full} | {landlock} | {user_full} | {user_landlock} |");
        // What this machine's kernel does not have stays as another one has shown it.
        let begin = format!("| {title} |");
        let shown = PAGE.lines().find(|line| line.starts_with(&begin));
        let is_missing = is_tried.iter().all(|word| **word == "–");
        let shown = shown.filter(|shown| is_missing && *shown != row);
        if shown.is_some() {
            loudly(&format!(
                "confinement: whether a command {title} is NOT tried here"
            ));
        }
        let _ = writeln!(table, "{}", shown.unwrap_or(&row));
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
        "reads what the kernel traces",
        "loads programs into the kernel",
        "opens /proc/sysrq-trigger for writing",
        "loads a module",
        "loads a module from a file",
        "removes a module",
        "gets at the machine's ports",
    ];
    !rare.contains(&title)
}
