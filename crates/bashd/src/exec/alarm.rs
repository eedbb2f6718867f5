//! An alarm: a thread that sleeps until a moment has come.
//!
//! Setting it is one system call and wakes nobody, so work that can wait while a call is served is
//! left to it.

use rustix::process::{Pid, getpid};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The stack size of its thread.
const STACK: usize = 128 * 1024;

/// A timer set to zero would be off.
const AT_ONCE: Duration = Duration::from_nanos(1);

pub(super) struct Alarm {
    timer: Arc<OwnedFd>,
    /// The process that has its thread; one forked from it has only the timer.
    process: Pid,
}

impl Alarm {
    /// Runs this each time it rings, until there is nothing more to come.
    pub(super) fn new(
        mut ring: impl FnMut() -> ControlFlow<()> + Send + 'static,
    ) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let timer = Arc::new(timer);
        let its = Arc::clone(&timer);
        let thread = thread::Builder::new().name("bashd-alarm".to_owned());
        thread.stack_size(STACK).spawn(move || {
            while wait(&its).is_ok() {
                if ring().is_break() {
                    return;
                }
            }
        })?;
        Ok(Self {
            timer,
            process: getpid(),
        })
    }

    /// Sets it again; `false` if it will not ring.
    pub(super) fn set(&self, after: Duration) -> bool {
        self.process == getpid() && arm(&self.timer, after).is_ok()
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.set(AT_ONCE); // the callback learns that nothing more comes
    }
}

fn wait(timer: &OwnedFd) -> io::Result<()> {
    let mut rung = [0; 8];
    rustix::io::retry_on_intr(|| rustix::io::read(timer, &mut rung))?;
    Ok(())
}

fn arm(timer: &OwnedFd, after: Duration) -> io::Result<()> {
    let spec = Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec::try_from(after.max(AT_ONCE)).map_err(io::Error::other)?,
    };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &spec)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn it_rings_when_set_and_once_more_when_dropped() {
        let (tell, told) = mpsc::channel();
        let alarm = Alarm::new(move || match tell.send(()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        })
        .unwrap();
        assert!(told.try_recv().is_err());
        assert!(alarm.set(Duration::from_micros(100)));
        told.recv().unwrap();
        assert!(alarm.set(Duration::ZERO));
        told.recv().unwrap();
        assert!(alarm.set(Duration::from_hours(1)));
        drop(alarm);
        told.recv().unwrap();
    }

    #[test]
    fn its_thread_leaves_when_nothing_more_can_come() {
        let (tell, told) = mpsc::channel::<()>();
        let alarm = Alarm::new(move || {
            let _ = &tell; // dropped with the thread
            ControlFlow::Break(())
        })
        .unwrap();
        drop(alarm);
        assert!(told.recv().is_err());
    }
}
