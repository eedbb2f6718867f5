//! The way out to the client: lines are written at once while the client reads, otherwise by a task
//! that waits.
//!
//! Both write whole lines in turn: a line is written at once only if the task has nothing to write.

use crate::serve::stdio::Writer;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::AsyncWrite;

/// Where lines go.
pub(super) struct Outlet(Mutex<Writer>);

impl Outlet {
    /// Nothing is written yet.
    pub(super) fn new(write: Writer) -> Self {
        Self(Mutex::new(write))
    }

    /// Writes as much as possible without waiting, and leaves the rest in `line`. `false` if there
    /// is something left to wait for, even if only the flush; the task that waits finds failures.
    pub(super) fn write_now(&self, line: &mut Vec<u8>) -> bool {
        // No task needs to be woken: the one that waits asks for that itself.
        let mut context = Context::from_waker(Waker::noop());
        let mut write = self.lock();
        let mut write = Pin::new(&mut *write);
        let Poll::Ready(Ok(count)) = write.as_mut().poll_write(&mut context, line) else {
            return false;
        };
        line.drain(..count.min(line.len()));
        line.is_empty() && matches!(write.poll_flush(&mut context), Poll::Ready(Ok(())))
    }

    /// Writes a line, or the rest of one.
    pub(super) async fn write(&self, mut line: &[u8]) -> io::Result<()> {
        while !line.is_empty() {
            let writing =
                |context: &mut Context<'_>| Pin::new(&mut *self.lock()).poll_write(context, line);
            let count = poll_fn(writing).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            line = line.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Waits until everything is out.
    pub(super) async fn flush(&self) -> io::Result<()> {
        poll_fn(|context| Pin::new(&mut *self.lock()).poll_flush(context)).await
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn what_is_not_taken_at_once_is_left() {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let outlet = Outlet::new(Box::new(ours));
        let mut line = b"ab\n".to_vec();
        assert!(outlet.write_now(&mut line));
        let mut line = b"cd\n".to_vec();
        assert!(!outlet.write_now(&mut line));
        assert_eq!(line, b"d\n");
        assert!(!outlet.write_now(&mut line));
        assert_eq!(line, b"d\n");
        let mut read = [0; 6];
        let (written, was_read) = tokio::join!(outlet.write(&line), theirs.read_exact(&mut read));
        assert!(written.is_ok() && was_read.is_ok());
        assert_eq!(&read, b"ab\ncd\n");
    }

    #[tokio::test]
    async fn who_waits_finds_that_the_client_is_gone() {
        let (ours, theirs) = tokio::io::duplex(4);
        drop(theirs);
        let outlet = Outlet::new(Box::new(ours));
        let mut line = b"ab\n".to_vec();
        assert!(!outlet.write_now(&mut line));
        assert!(outlet.write(&line).await.is_err());
    }
}
