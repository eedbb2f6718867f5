//! A Kubernetes of one node for a test, by `crates/bashd-cli/tests/kubernetes/cluster`: apiserver,
//! controller manager, scheduler and kubelet as `./test --with kubernetes` built them, with
//! Debian's etcd and containerd.

use crate::loud::loudly;
use crate::small_root;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// The name of its node.
pub const NODE: &str = "testnode";

/// Ports that a cluster takes, above the first of all.
const PORTS: u32 = 6;
const FIRST_PORT: u32 = 20_000;
const CLUSTERS: u32 = 1500;

/// A cluster. Dropping it ends everything of it.
#[derive(Debug)]
pub struct Cluster {
    script: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    directory: TempDir,
}

impl Cluster {
    /// Starts one. Where that can't be, `None`, and loudly.
    pub fn start(script: &Path) -> Option<Self> {
        let Some(programs) = std::env::var_os("BASHD_TEST_KUBERNETES") else {
            loudly("Kubernetes was not built: pods are NOT tested here (./test --with kubernetes)");
            return None;
        };
        if !rustix::process::getuid().is_root() {
            loudly("not root: pods are NOT tested here");
            return None;
        }
        let directory = TempDir::with_prefix("bashd-cluster-").expect("a temporary directory");
        let port = FIRST_PORT + std::process::id() % CLUSTERS * PORTS;
        let mut script = Command::new(script)
            .arg(programs)
            .arg(directory.path())
            .args([&port.to_string(), NODE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script of a cluster");
        let asks = script.stdin.take();
        let answers = BufReader::new(script.stdout.take().expect("a pipe"));
        let mut cluster = Self {
            script,
            asks,
            answers,
            directory,
        };
        cluster.wait_for("ready");
        Some(cluster)
    }

    fn wait_for(&mut self, what: &str) {
        let mut said = String::new();
        let _ = self.answers.read_line(&mut said);
        assert_eq!(said.trim(), what, "the cluster (its logs: {})", self.logs());
    }

    /// The end of each log.
    fn logs(&self) -> String {
        let folder = self.directory.path().join("log");
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let ends = files.map(|file| {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            let end = text.lines().last().unwrap_or_default().to_owned();
            format!("{}: {end}", file.path().display())
        });
        ends.collect::<Vec<_>>().join("; ")
    }

    fn ask(&mut self, what: &str, more: &str) {
        let asks = self.asks.as_mut().expect("its script listens");
        writeln!(asks, "{what} {more}").expect("its script listens");
        self.wait_for(what);
    }

    /// Makes the image `localhost/NAME:1` with the usual programs, in which this one runs, too.
    pub fn image(&mut self, name: &str, program: &Path) {
        let root = TempDir::with_prefix("bashd-root-").expect("a temporary directory");
        small_root::make(root.path(), small_root::USUAL, Some(program));
        self.ask(&format!("image {name}"), &root.path().display().to_string());
    }

    /// Makes the image `localhost/NAME:1` with some more programs, which has this name, too.
    pub fn image_called(&mut self, name: &str, called: &str, more: &[&str], program: &Path) {
        let root = TempDir::with_prefix("bashd-root-").expect("a temporary directory");
        let names: Vec<&str> = small_root::USUAL.iter().chain(more).copied().collect();
        small_root::make(root.path(), &names, Some(program));
        self.ask(&format!("image {name}"), &root.path().display().to_string());
        let socket = self.directory.path().join("run/containerd.sock");
        let tagged = Command::new("ctr")
            .args(["--namespace=k8s.io", "--address"])
            .arg(socket)
            .args(["images", "tag", &format!("localhost/{name}:1"), called])
            .stdout(Stdio::null())
            .status();
        assert!(tagged.is_ok_and(|status| status.success()), "{called}");
    }

    /// Kills a part of it: `apiserver`, `kubelet`, `containerd`.
    pub fn kill(&self, part: &str) {
        let file = self
            .directory
            .path()
            .join("run")
            .join(format!("{part}.pid"));
        let pid = fs::read_to_string(file).expect("the number of a process");
        let pid = pid
            .trim()
            .parse()
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let pid = pid.expect("the number of a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    }

    /// Starts that part again.
    pub fn start_again(&mut self, part: &str) {
        self.ask(&format!("start {part}"), "");
    }

    /// kubectl's configuration.
    pub fn config(&self) -> PathBuf {
        self.directory.path().join("admin.conf")
    }

    /// Runs kubectl, which must succeed; what it says.
    pub fn kubectl(&self, words: &[&str]) -> String {
        self.kubectl_with(words, "")
    }

    /// The same, with something to read.
    pub fn kubectl_with(&self, words: &[&str], input: &str) -> String {
        let mut kubectl = Command::new("kubectl")
            .args(words)
            .env("KUBECONFIG", self.config())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl can be started");
        let mut stdin = kubectl.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("kubectl reads");
        drop(stdin);
        let told = kubectl.wait_with_output().expect("kubectl");
        let why = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.status.success(), "kubectl {words:?}: {why}");
        String::from_utf8_lossy(&told.stdout).trim().to_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its script ends everything once nobody asks any more.
        drop(self.asks.take());
        let _ = self.script.wait();
    }
}
