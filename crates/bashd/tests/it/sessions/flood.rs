//! A flood in a session: flat memory, every byte where the quota allows it, exact ends where it
//! does not.
//!
//! What should be there comes from the same commands without bashd. With `BASHD_SOAK` a flood is 1
//! GiB.

use super::Session;
use bashd::artifact::parse_id;
use bashd::plan::Quota;
use bashd::{Config, Engine, KeeperSource, Reply, Surroundings};
use bashd_testkit::Home;
use bashd_testkit::repeat::is_soak;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Memory that engine and keeper may grow by, whatever comes.
const FLAT: u64 = 16 << 20;

fn session(home: &Home, quota: Option<Quota>) -> Session {
    let mut config = Config::new(home.state());
    config.quota = quota.unwrap_or(config.quota);
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
    Session::on(&engine, "flooded")
}

/// Writes so many bytes, no line of which is like another.
fn producer(bytes: u64) -> String {
    format!("seq 1 999999999 | head -c {bytes}")
}

/// What plain bash says.
fn plain_bash(script: &str) -> String {
    let output = Command::new("bash").args(["-c", script]).output();
    let output = output.expect("bash is there");
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn sum(producer: &str) -> String {
    plain_bash(&format!("{producer} | sha256sum"))
}

/// Runs the flood; its reply, and the plain file of its artifact.
async fn flood(session: &Session, bytes: u64) -> (Reply, PathBuf) {
    session.output("true").await;
    let engine_before = peak_of("self");
    let keeper = session.output("echo $PPID").await;
    let keeper_before = peak_of(keeper.trim());
    let limit = Duration::from_mins(10);
    let request = session.request(&producer(bytes)).timeout(limit);
    let reply = session.engine.run(request).await;
    assert_eq!((reply.exit_code, reply.output_bytes), (Some(0), bytes));
    assert_eq!(reply.session_reset, None);
    assert_eq!(session.output("echo $PPID").await, keeper);
    for (who, growth) in [
        ("engine", peak_of("self") - engine_before),
        ("keeper", peak_of(keeper.trim()) - keeper_before),
    ] {
        assert!(growth < FLAT, "the {who} grew by {growth} bytes");
    }
    let id = reply.artifact.as_deref().and_then(parse_id);
    let artifacts = session.engine.artifacts();
    let path = artifacts.path(id.expect("an artifact")).expect("a path");
    (reply, path)
}

/// The most memory that a process ever had, in bytes.
fn peak_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    1024 * kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a size")
}

fn shown(path: &Path) -> String {
    path.to_str().expect("a name of letters").to_owned()
}

#[tokio::test]
async fn with_the_quota_raised_the_artifact_of_a_flood_holds_every_byte() {
    let home = Home::new();
    let bytes = if is_soak() { 1 << 30 } else { 48 << 20 };
    let quota = Quota {
        head: 2 << 30,
        ring: 1 << 20,
    };
    let session = session(&home, Some(quota));
    let (reply, path) = flood(&session, bytes).await;
    assert_eq!(reply.dropped_bytes, 0);
    assert_eq!(
        sum(&format!("cat '{}'", shown(&path))),
        sum(&producer(bytes))
    );
}

#[tokio::test]
async fn with_the_default_quota_the_ends_of_a_flood_are_exact_and_the_loss_is_counted() {
    let home = Home::new();
    let bytes: u64 = if is_soak() { 1 << 30 } else { 80 << 20 };
    let session = session(&home, None);
    let Quota { head, ring } = session.engine.config().quota;
    let (reply, path) = flood(&session, bytes).await;
    let lost = bytes - head - ring;
    assert_eq!(reply.dropped_bytes, lost);
    let (path, all) = (shown(&path), producer(bytes));
    assert_eq!(
        sum(&format!("head -c {head} '{path}'")),
        sum(&format!("{all} | head -c {head}"))
    );
    assert_eq!(
        sum(&format!("tail -c {ring} '{path}'")),
        sum(&format!("{all} | tail -c {ring}"))
    );
    let between = plain_bash(&format!("tail -c +{} '{path}' | head -c -{ring}", head + 1));
    let gap = format!("\n[bashd: {lost} bytes of output were dropped here]\n");
    assert_eq!(between, gap);
}
