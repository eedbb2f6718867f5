//! An outpost on a node that Slurm lends: the first process is the batch script, or a step on
//! another node of the allocation, with the outpost below it.
//!
//! Whatever the cluster's way to find the processes of a job, nothing outlives it: the keepers of
//! commands watch the outpost, the outpost watches the first process, and that watches the daemon
//! of Slurm that started it. What others leave is the first process's child, never that of init.

use super::first::{GRACE, has_children};
use super::{OutpostTask, OutpostWork, pass_on, reach};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open,
    set_parent_process_death_signal,
};
use std::env;
use std::io;
use std::os::unix::net::UnixStream;
use std::thread;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// How the directory of this node is found below the one that is given.
fn of_this_node(work: &OutpostWork) -> io::Result<OutpostWork> {
    let missing =
        |name: &str| io::Error::other(format!("{name} is not set: this is no job of Slurm"));
    let told = |name: &str| env::var(name).map_err(|_| missing(name));
    let (job, node) = (told("SLURM_JOB_ID")?, told("SLURMD_NODENAME")?);
    let base = work.state_dir.clone();
    let base = base.ok_or_else(|| io::Error::other("no state directory is given"))?;
    let mut work = work.clone();
    work.task = OutpostTask::Dial;
    work.state_dir = Some(base.join("slurm").join(job).join(node));
    Ok(work)
}

/// Is that first process.
pub(super) fn hold(work: &OutpostWork) -> io::Result<()> {
    // A second life of a batch script: what the first one began may still run.
    if env::var("SLURM_RESTART_COUNT").is_ok_and(|count| count.trim() != "0") {
        let text =
            "Slurm started this job again, and no order of its first life is carried out twice";
        return Err(io::Error::other(text));
    }
    let work = of_this_node(work)?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let mut building = tokio::runtime::Builder::new_current_thread();
    let runtime = building.enable_all().build()?;
    runtime.block_on(async {
        let mut told = signal(SignalKind::terminate())?;
        let mut children = signal(SignalKind::child())?;
        let mut daemon = end_of_parent()?;
        // Only to have it started: carriers come later.
        drop(reach(&work)?);
        let mut is_ending = false;
        while has_children() {
            tokio::select! {
                _ = children.recv() => {}
                _ = told.recv(), if !is_ending => {
                    is_ending = true;
                    ask_to_end();
                }
                _ = &mut daemon => return end_now().await,
                () = tokio::time::sleep(GRACE), if is_ending => return end_now().await,
            }
        }
        Ok(())
    })
}

/// What comes when the daemon of Slurm that started us has ended.
fn end_of_parent() -> io::Result<oneshot::Receiver<()>> {
    let parent = getppid().ok_or_else(|| io::Error::other("Slurm is gone"))?;
    let parent = pidfd_open(parent, PidfdFlags::empty())?;
    let (over, is_over) = oneshot::channel();
    thread::Builder::new().spawn(move || {
        let mut ended = [PollFd::new(&parent, PollFlags::IN)];
        while let Err(Errno::INTR) = poll(&mut ended, None) {}
        let _ = over.send(());
    })?;
    Ok(is_over)
}

/// Asks the outpost, and steps on other nodes, to end.
fn ask_to_end() {
    for child in children() {
        let _ = kill_process(child, Signal::TERM);
    }
}

/// Asks once more, and leaves: nobody waits for us.
async fn end_now() -> io::Result<()> {
    ask_to_end();
    let mut left = 50;
    while has_children() && left > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        left -= 1;
    }
    for child in children() {
        let _ = kill_process(child, Signal::KILL);
    }
    Err(io::Error::other("Slurm ended it"))
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero();
    let path = format!("/proc/{own}/task/{own}/children");
    let told = std::fs::read_to_string(path).unwrap_or_default();
    let pids = told.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter_map(Pid::from_raw).collect()
}

/// Ends when the process that started this one does.
pub(super) fn end_with_parent() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have ended before.
    let parent = getppid().map_or(0, Pid::as_raw_pid);
    if parent <= 1 {
        return Err(io::Error::other("what started it has ended"));
    }
    Ok(())
}

/// Waits until it is told to end.
pub(super) async fn told_to_end() {
    match signal(SignalKind::terminate()) {
        Ok(mut told) => drop(told.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// Reaches the outpost of a node, and passes bytes on. Slurm asks every step to end before the job
/// does; what the outpost has to say by then should still get through.
pub(super) fn join(stream: &UnixStream) -> io::Result<()> {
    let mut building = tokio::runtime::Builder::new_current_thread();
    let runtime = building.enable_all().build()?;
    let _deaf = runtime.block_on(async { signal(SignalKind::terminate()) })?;
    pass_on(stream)
}
