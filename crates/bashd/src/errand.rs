//! Errands: steps that may take long, each on a thread of its own, so that the runtime's thread
//! waits for none of them.
//!
//! There are three kinds. An errand that *goes* to files which a caller named may never return: a
//! FUSE that does not answer holds its thread for as long as it likes. An errand that *reads* what
//! bashd has stored returns by itself, and sooner if nobody waits any more. One that *waits* is at
//! the mercy of other processes: who holds a lock, who writes a pipe. Each kind is limited in
//! number, so that none keeps another from its turn; beyond that, an errand waits for its turn,
//! within its caller's deadline. Only a few errands may go to the same mount, so a mount that does
//! not answer leaves room for others.
//!
//! A thread whose caller gave up is renamed: `bashd doctor` counts those of all processes.
//!
//! What is done on the way, and for nobody's answer, is done *aside* by a thread that serves many
//! ([`serve_from_here`]): asking a keeper that may be stopped, ending what a killed one left.

use crate::near;
use bashd_keeper::os::tree;
use rustix::process::Pid;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Threads that may be at files which callers named, at a time.
const MOST_GONE: usize = 32;

/// How many of them may be on one mount.
const MOST_ON_A_MOUNT: usize = 8;

/// Threads that may read at a time: they need the processor.
const MOST_READING: usize = 4;

/// Threads that may wait for other processes at a time.
const MOST_WAITING: usize = 16;

/// How long a directory may take to answer that only might be used.
const LOOKING: Duration = Duration::from_secs(2);

/// The stack size of such a thread: what walks over a command's files goes a level down with each
/// directory, and a path has 2,000 of them at most.
const STACK: usize = 8 * 1024 * 1024;

/// The name of a thread on an errand.
const NAME: &str = "bashd-errand";

/// The name of one that nobody waits for any more.
const HUNG: &str = "bashd-hung";

static ROOM_TO_GO: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(MOST_GONE)));
static ROOM_TO_READ: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(MOST_READING)));
static ROOM_TO_WAIT: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(MOST_WAITING)));
static MOUNTS: Mutex<Option<HashMap<PathBuf, Arc<Semaphore>>>> = Mutex::new(None);

/// Steps that may be done aside at a time.
const MOST_ASIDE: usize = 4;

static ASIDE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SERVES_MANY: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread serves many: code that can wait for other processes does not do so here,
/// and what it was after is there at a later look. For servers, before they serve.
pub fn serve_from_here() {
    SERVES_MANY.set(true);
}

/// Whether whatever this thread waits for holds up others.
pub(crate) fn serves_many() -> bool {
    SERVES_MANY.get()
}

/// Does a step, here if this thread may wait, otherwise aside. If too many are done aside, it is
/// left for another time.
pub(crate) fn here_or_aside(step: impl FnOnce() + Send + 'static) {
    /// Counts one less, whatever becomes of the step.
    struct Place;
    impl Drop for Place {
        fn drop(&mut self) {
            ASIDE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    if !SERVES_MANY.get() {
        return step();
    }
    let (_, place) = (ASIDE.fetch_add(1, Ordering::Relaxed), Place);
    if ASIDE.load(Ordering::Relaxed) <= MOST_ASIDE {
        let builder = thread::Builder::new().name(NAME.to_owned());
        // Without a thread it is left for another time, too.
        let _ = builder.stack_size(STACK).spawn(move || {
            let _place = place;
            step();
        });
    }
}

/// Why an errand brought nothing back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrandFailure {
    /// No thread could be had.
    NoThread,
    /// Its step failed in a way that it should not.
    Broken,
}

impl fmt::Display for ErrandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoThread => "no thread could be started for it",
            Self::Broken => "the step broke off",
        })
    }
}

impl From<ErrandFailure> for io::Error {
    fn from(failure: ErrandFailure) -> Self {
        Self::other(failure.to_string())
    }
}

/// Tells a step that nobody waits for it any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct CalledBack(Arc<AtomicBool>);

impl CalledBack {
    /// Fails if nobody waits: for steps that can break off.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }
}

/// Has a step done that touches this path, or what is near it.
pub(crate) async fn go<T: Send + 'static>(
    path: &Path,
    step: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ErrandFailure> {
    go_to(near::mount_of(path), step).await
}

/// Has a step done that starts a program: until it is found and loaded, its starter waits. If
/// nobody waits any more, what can't load its program is ended.
pub(crate) async fn start<T: Send + 'static>(
    program: &str,
    step: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    // A bare name is looked for in many directories: each name has room of its own, as a mount has.
    let place = if program.contains('/') {
        near::mount_of(Path::new(program))
    } else {
        program.into()
    };
    let starting = StartUnderWay::default();
    let (thread, called_back) = (Arc::clone(&starting.thread), starting.called_back.clone());
    let step = move || {
        thread.store(own_thread(), Ordering::SeqCst);
        let started = called_back.check().and_then(|()| step());
        thread.store(0, Ordering::SeqCst);
        started
    };
    go_to(place, step).await.map_err(io::Error::from)?
}

/// A caller that waits until a program has started.
#[derive(Default)]
struct StartUnderWay {
    called_back: CalledBack,
    /// The thread that starts it, while it does.
    thread: Arc<AtomicI32>,
}

impl Drop for StartUnderWay {
    fn drop(&mut self) {
        self.called_back.0.store(true, Ordering::SeqCst);
        if let Some(thread) = Pid::from_raw(self.thread.load(Ordering::SeqCst)) {
            tree::kill_children_of_thread(thread);
        }
    }
}

fn own_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

async fn go_to<T: Send + 'static>(
    mount: PathBuf,
    step: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ErrandFailure> {
    let on_mount = room_on(mount).acquire_owned().await;
    let in_all = Arc::clone(&ROOM_TO_GO).acquire_owned().await;
    let places = [on_mount, in_all].map(|place| place.map_err(|_| ErrandFailure::NoThread));
    let [on_mount, in_all] = places;
    send([Some(on_mount?), Some(in_all?)], |_| step()).await
}

/// Has a step done that reads what is stored, or thinks for long.
pub(crate) fn read<T: Send + 'static>(
    step: impl FnOnce(&CalledBack) -> T + Send + 'static,
) -> impl Future<Output = Result<T, ErrandFailure>> + Send {
    send_from(&ROOM_TO_READ, step)
}

/// Has a step done that other processes may keep waiting.
pub(crate) fn wait<T: Send + 'static>(
    step: impl FnOnce(&CalledBack) -> T + Send + 'static,
) -> impl Future<Output = Result<T, ErrandFailure>> + Send {
    send_from(&ROOM_TO_WAIT, step)
}

async fn send_from<T: Send + 'static>(
    room: &Arc<Semaphore>,
    step: impl FnOnce(&CalledBack) -> T + Send + 'static,
) -> Result<T, ErrandFailure> {
    let place = Arc::clone(room).acquire_owned().await;
    let place = place.map_err(|_| ErrandFailure::NoThread)?;
    send([Some(place), None], step).await
}

/// Has a look at this path, or at what is near it; `None` if that does not answer for a while.
pub(crate) async fn look<T: Send + 'static>(
    path: &Path,
    step: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let looked = tokio::time::timeout(LOOKING, go(path, step)).await;
    looked.ok()?.ok()
}

/// Whether there is a directory. One that does not answer for a while is none.
pub(crate) async fn is_directory(path: PathBuf) -> bool {
    if near::is_near(&path) {
        return path.is_dir();
    }
    let place = path.clone();
    look(&place, move || path.is_dir()).await.unwrap_or(false)
}

fn room_on(mount: PathBuf) -> Arc<Semaphore> {
    let mut mounts = MOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mounts = mounts.get_or_insert_default();
    // Those that nobody uses or waits for.
    mounts.retain(|_, room| Arc::strong_count(room) > 1);
    let room = mounts.entry(mount);
    let room = room.or_insert_with(|| Arc::new(Semaphore::new(MOST_ON_A_MOUNT)));
    Arc::clone(room)
}

async fn send<T: Send + 'static>(
    places: [Option<OwnedSemaphorePermit>; 2],
    step: impl FnOnce(&CalledBack) -> T + Send + 'static,
) -> Result<T, ErrandFailure> {
    let (bring, brought) = oneshot::channel();
    let mut wait = ErrandWait::default();
    let (called_back, thread) = (wait.called_back.clone(), Arc::clone(&wait.thread));
    let builder = thread::Builder::new().name(NAME.to_owned());
    let started = builder.stack_size(STACK).spawn(move || {
        let _places = places;
        thread.store(own_thread(), Ordering::Relaxed);
        // The caller may be gone.
        let _ = bring.send(step(&called_back));
    });
    started.map_err(|_| ErrandFailure::NoThread)?;
    let brought = brought.await;
    wait.is_over = true;
    brought.map_err(|_| ErrandFailure::Broken)
}

/// A caller that waits for its errand.
#[derive(Default)]
struct ErrandWait {
    called_back: CalledBack,
    thread: Arc<AtomicI32>,
    is_over: bool,
}

impl Drop for ErrandWait {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.called_back.0.store(true, Ordering::Relaxed);
        if let Some(thread) = Pid::from_raw(self.thread.load(Ordering::Relaxed)) {
            // It may be back just now.
            let _ = fs::write(name_of(rustix::process::getpid(), thread), HUNG);
        }
    }
}

fn name_of(process: Pid, thread: Pid) -> String {
    let number = |pid: Pid| pid.as_raw_nonzero().get();
    format!("/proc/{}/task/{}/comm", number(process), number(thread))
}

/// Threads of a process that wait, with nobody waiting for them, for files which do not answer.
pub fn hung_in(process: i32) -> usize {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter();
    let names = threads.flatten().flatten();
    let names = names.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == HUNG).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Instant;

    fn until(mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it never comes");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn who_gives_up_leaves_a_thread_that_is_counted_until_it_is_back() {
        let process = rustix::process::getpid().as_raw_nonzero().get();
        let (answer, answered) = mpsc::channel::<()>();
        let (tell, mut told) = tokio::sync::mpsc::channel(1);
        let hangs = go(Path::new("/"), move || {
            let _ = tell.blocking_send(());
            let _ = answered.recv();
        });
        let hangs = tokio::spawn(hangs);
        told.recv().await.unwrap();
        assert_eq!(hung_in(process), 0);
        hangs.abort();
        assert!(hangs.await.is_err());
        until(|| hung_in(process) == 1);
        // Others are not kept waiting.
        assert_eq!(go(Path::new("/"), || 7).await, Ok(7));
        answer.send(()).unwrap();
        until(|| hung_in(process) == 0);
    }

    #[tokio::test]
    async fn one_mount_takes_only_some_of_the_threads() {
        let (answer, answered) = mpsc::channel::<()>();
        let answered = Arc::new(Mutex::new(answered));
        let hang = || {
            let answered = Arc::clone(&answered);
            let hangs = go(Path::new("/proc/x"), move || {
                let _ = answered.lock().unwrap().recv();
            });
            tokio::spawn(hangs)
        };
        let hanging: Vec<_> = (0..MOST_GONE * 2).map(|_| hang()).collect();
        // The room of that mount is taken; another has its own.
        assert_eq!(go(Path::new("/"), || 7).await, Ok(7));
        drop(answer);
        for one in hanging {
            one.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn who_reads_is_called_back() {
        let (tell, told) = mpsc::channel();
        let reads = read(move |called_back| {
            while called_back.check().is_ok() {
                thread::yield_now();
            }
            tell.send(()).unwrap();
        });
        let waited = tokio::time::timeout(Duration::from_millis(20), reads).await;
        assert!(waited.is_err());
        told.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn a_thread_that_serves_many_has_steps_done_aside_and_not_too_many() {
        let mut is_done = false;
        thread::scope(|scope| {
            scope.spawn(|| {
                let (tell, told) = mpsc::channel();
                here_or_aside(move || tell.send(()).unwrap());
                is_done = told.try_recv().is_ok();
            });
        });
        assert!(is_done, "who may wait does it");
        let serving = thread::spawn(|| {
            serve_from_here();
            let (answer, answered) = mpsc::channel::<()>();
            let answered = Arc::new(Mutex::new(answered));
            let (tell, told) = mpsc::channel();
            for _ in 0..MOST_ASIDE * 3 {
                let (answered, tell) = (Arc::clone(&answered), tell.clone());
                here_or_aside(move || {
                    let _ = answered.lock().unwrap().recv();
                    tell.send(()).unwrap();
                });
            }
            drop((answer, tell));
            told.iter().count()
        });
        assert_eq!(serving.join().unwrap(), MOST_ASIDE);
        until(|| ASIDE.load(Ordering::Relaxed) == 0);
    }

    #[tokio::test]
    async fn a_step_that_panics_is_said() {
        let broken = read(|_| std::panic::resume_unwind(Box::new(()))).await;
        assert_eq!(broken, Err::<(), _>(ErrandFailure::Broken));
    }
}
