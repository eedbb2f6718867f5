//! A far machine: its own root, processes, network, name and sshd, by namespaces, out of what
//! Debian's packages have installed here.
//!
//! Two processes hold it. The *disk* has the network and the mounts, and lasts as long as the
//! machine is there; the *first process* has the process ids, and is the machine's power. Both end
//! with the thread that started them, whatever ends that, and with them everything that runs there
//! and the cable to it.

use crate::loud::loudly;
use crate::processes::{self, Process};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DISK: &str = include_str!("far_machine/disk.sh");
const INIT: &str = include_str!("far_machine/init.sh");

/// How long anything of it may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Small networks that there are room for.
const NETWORKS: u32 = 16_384;

/// bashd there.
pub const BASHD: &str = "/opt/bashd";

/// What it takes, beside root.
const PROGRAMS: &[&str] = &[
    "/usr/sbin/sshd",
    "/usr/bin/ssh",
    "/usr/bin/ssh-keygen",
    "/usr/bin/setpriv",
    "/usr/bin/unshare",
    "/usr/bin/nsenter",
];

/// A far machine that is on, unless its power was cut. Dropping it removes everything.
#[derive(Debug)]
pub struct FarMachine {
    disk: Child,
    power: Option<Child>,
    link: String,
    /// Where it can be reached.
    pub address: Ipv4Addr,
    directory: TempDir,
}

impl FarMachine {
    /// Starts one whose `/opt/bashd` is this program. Where that can't be, `None`, and loudly.
    pub fn start(program: &Path) -> Option<Self> {
        if let Some(why) = why_not() {
            loudly(&format!("{why}: far machines are NOT tested here"));
            return None;
        }
        let directory = TempDir::with_prefix("bashd-far-").expect("a temporary directory");
        for name in ["host", "user"] {
            let key = directory.path().join(name);
            done(
                Command::new("/usr/bin/ssh-keygen")
                    .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                    .arg(key),
            );
        }
        let root = directory.path().join("root");
        fs::create_dir(&root).expect("a directory");
        let mut disk = tied("unshare")
            .args(["--net", "--mount", "sh", "-c", DISK, "disk"])
            .arg(&root)
            .arg(directory.path())
            .arg(program)
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare can be started");
        let mut said = String::new();
        let out = disk.stdout.take().expect("a pipe");
        let _ = BufReader::new(out).read_line(&mut said);
        assert_eq!(said, "ready\n", "the disk of a far machine can't be made");
        let (link, near, address) = cable(disk.id());
        let mut machine = Self {
            disk,
            power: None,
            link,
            address,
            directory,
        };
        machine.in_network(&[
            "ip",
            "address",
            "add",
            &format!("{address}/30"),
            "dev",
            "eth0",
        ]);
        machine.in_network(&["ip", "link", "set", "lo", "up"]);
        done(
            Command::new("ip")
                .args(["address", "add", &format!("{near}/30")])
                .args(["dev", &machine.link]),
        );
        done(Command::new("ip").args(["link", "set", &machine.link, "up"]));
        machine.write_client();
        machine.power_on();
        Some(machine)
    }

    /// Switches it on, and waits until its sshd is there.
    pub fn power_on(&mut self) {
        let power = tied("nsenter")
            .args(["--target", &self.disk.id().to_string(), "--net", "--mount"])
            .args(["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork"])
            .args(["--kill-child", "sh", "-c", INIT, "init"])
            .arg(self.directory.path().join("root"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nsenter can be started");
        self.power = Some(power);
        self.mend();
        wait_until("an sshd", || self.answers());
    }

    /// Cuts its power: nothing of it says a word of farewell.
    pub fn power_off(&mut self) {
        self.cut();
        if let Some(mut power) = self.power.take() {
            let there = first_of(&power);
            let _ = power.kill();
            let _ = power.wait();
            if let Some(there) = there {
                there.wait_for_end(PATIENCE);
            }
        }
    }

    /// Pulls the cable: nothing arrives any more on either side.
    pub fn cut(&self) {
        self.in_network(&["ip", "link", "set", "eth0", "down"]);
    }

    /// Plugs it in again.
    pub fn mend(&self) {
        self.in_network(&["ip", "link", "set", "eth0", "up"]);
    }

    /// Makes the way there and back as narrow as this, in words of `tc`; `None` if nothing can.
    #[must_use]
    pub fn narrow(&self, rate: &str) -> Option<()> {
        let near = Command::new("tc")
            .args([
                "qdisc", "add", "dev", &self.link, "root", "tbf", "rate", rate,
            ])
            .args(["burst", "4kb", "latency", "200ms"])
            .output();
        if !near.is_ok_and(|output| output.status.success()) {
            loudly("tc can't make a wire narrow here: places at its end are NOT tested");
            return None;
        }
        self.in_network(&[
            "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "4kb",
            "latency", "200ms",
        ]);
        Some(())
    }

    /// Whether its sshd listens.
    pub fn answers(&self) -> bool {
        let address = SocketAddr::from((self.address, 22));
        TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok()
    }

    /// Lets its sshd be restarted, or not.
    pub fn keep_sshd(&self, is_kept: bool) {
        let file = if is_kept { "rm -f" } else { "touch" };
        self.sh(&format!("{file} /run/no-sshd"));
    }

    /// A file of its disk, as it is seen from here; what is mounted while it is on is not.
    pub fn file(&self, path: &str) -> PathBuf {
        let root = self.directory.path().join("root");
        PathBuf::from(format!(
            "/proc/{}/root{}{path}",
            self.disk.id(),
            root.display()
        ))
    }

    /// Everything that runs there.
    pub fn processes(&self) -> Vec<Process> {
        let Some(first) = self.power.as_ref().and_then(first_of) else {
            return Vec::new();
        };
        let ids_of = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let its = ids_of(first.pid);
        let all = processes::all().into_iter();
        all.filter(|process| ids_of(process.pid) == its).collect()
    }

    /// What runs there with these words in its command line.
    pub fn running(&self, words: &str) -> Vec<Process> {
        let mut found = self.processes();
        found.retain(|process| process.command.contains(words) && process.state != 'Z');
        found
    }

    /// Runs a script there, as root; what it wrote to stdout.
    pub fn sh(&self, script: &str) -> String {
        let power = self.power.as_ref().expect("it is on");
        let first = first_of(power).expect("its first process");
        let output = Command::new("nsenter")
            .args(["--target", &first.pid.to_string(), "--all", "--wd"])
            .args(["/bin/sh", "-c", script])
            .stdin(Stdio::null())
            .output()
            .expect("nsenter can be started");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Has its user log in to this shell.
    pub fn login_shell(&self, shell: &str) {
        let passwd = self.file("/etc/passwd");
        let text = fs::read_to_string(&passwd).expect("a file of the machine");
        let (before, _) = text.rsplit_once(':').expect("a line of the user");
        fs::write(passwd, format!("{before}:{shell}\n")).expect("a file of the machine");
    }

    /// Where what logs in is: `ssh`, which notes its process id, its `config`, and keys.
    pub fn client(&self) -> PathBuf {
        self.directory.path().join("client")
    }

    /// The words that log in, to which a command can be added.
    pub fn login(&self) -> Vec<OsString> {
        let config = self.client().join("config");
        [
            "/usr/bin/ssh".into(),
            "-F".into(),
            config.into(),
            "far".into(),
        ]
        .into()
    }

    /// The ids of all carriers that were started so far.
    pub fn carriers(&self) -> Vec<i32> {
        let noted = fs::read_to_string(self.client().join("carriers")).unwrap_or_default();
        noted.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Adds lines to how ssh here reaches it.
    pub fn ssh_setting(&self, lines: &str) {
        let config = self.client().join("config");
        let before = fs::read_to_string(&config).expect("a file of ours");
        // The first value counts.
        let text = before.replacen("Host far\n", &format!("Host far\n{lines}\n"), 1);
        fs::write(config, text).expect("a file of ours");
    }

    /// Changes how its sshd is set up; those who log in from now on see it.
    pub fn sshd_setting(&self, lines: &str) {
        let config = self.file("/etc/ssh/config");
        let before = fs::read_to_string(&config).expect("a file of the machine");
        fs::write(config, format!("{lines}\n{before}")).expect("a file of the machine");
        for listener in self.running("[listener]") {
            listener.kill();
            listener.wait_for_end(PATIENCE);
        }
        wait_until("an sshd", || self.answers());
    }

    fn write_client(&self) {
        let client = self.client();
        fs::create_dir(&client).expect("a directory");
        let key = self.directory.path().join("user");
        let known = client.join("known");
        let config = format!(
            "Host far\nHostName {}\nUser u\nIdentityFile {}\nIdentitiesOnly yes\nHostKeyAlias far\n\
             UserKnownHostsFile {}\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n\
             IdentityAgent none\n",
            self.address,
            key.display(),
            known.display()
        );
        let host = fs::read_to_string(self.directory.path().join("host.pub")).expect("a key");
        let shown = client.display();
        let ssh = format!(
            "#!/bin/sh\necho $$ >>{shown}/carriers\nexec /usr/bin/ssh -F {shown}/config \"$@\"\n"
        );
        for (name, text) in [
            ("known", format!("far {host}")),
            ("config", config),
            ("ssh", ssh),
        ] {
            fs::write(client.join(name), text).expect("a file of ours");
        }
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(client.join("ssh"), all).expect("a file of ours");
    }

    fn in_network(&self, words: &[&str]) {
        done(
            Command::new("nsenter")
                .args(["--target", &self.disk.id().to_string(), "--net"])
                .args(words),
        );
    }
}

impl Drop for FarMachine {
    fn drop(&mut self) {
        if let Some(mut power) = self.power.take() {
            let first = first_of(&power);
            let _ = power.kill();
            let _ = power.wait();
            if let Some(first) = first {
                first.wait_for_end(PATIENCE);
            }
        }
        let _ = Command::new("ip")
            .args(["link", "delete", &self.link])
            .output();
        let _ = self.disk.kill();
        let _ = self.disk.wait();
    }
}

/// Why there can be none here.
fn why_not() -> Option<String> {
    if !rustix::process::getuid().is_root() {
        return Some("not root".to_owned());
    }
    if let Some(missing) = PROGRAMS.iter().find(|program| !Path::new(program).exists()) {
        return Some(format!("{missing} is missing"));
    }
    let tried = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--uts", "--ipc", "--fork"])
        .args(["ip", "link", "set", "lo", "up"])
        .output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    }
}

/// Makes a cable to the network of a process: its name and address here, the address there.
fn cable(there: u32) -> (String, Ipv4Addr, Ipv4Addr) {
    let first = std::process::id();
    for try_ in 0..64 {
        let number = (first + try_ * 257) % NETWORKS;
        let link = format!("bashd{number}");
        let made = Command::new("ip")
            .args(["link", "add", &link, "type", "veth", "peer", "name", "eth0"])
            .args(["netns", &there.to_string()])
            .output()
            .expect("ip can be started");
        if made.status.success() {
            let base = u32::from(Ipv4Addr::new(10, 77, 0, 0)) + number * 4;
            return (link, (base + 1).into(), (base + 2).into());
        }
        let why = String::from_utf8_lossy(&made.stderr);
        assert!(
            why.contains("File exists"),
            "no cable to a far machine: {why}"
        );
    }
    panic!("there are too many far machines");
}

/// The first process of a machine that is on.
fn first_of(power: &Child) -> Option<Process> {
    let pid = i32::try_from(power.id()).ok()?;
    let mut all = processes::all().into_iter();
    all.find(|process| process.parent == pid)
}

/// A program that ends with the thread that started it.
fn tied(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", program])
        .stdin(Stdio::null());
    command
}

fn done(command: &mut Command) {
    let output = command.output().expect("a program that was looked for");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {err}");
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}
