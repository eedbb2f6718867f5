//! Whether calls are in progress, and for how long none has been.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// The calls of an engine that are in progress.
#[derive(Default)]
pub(crate) struct Activity {
    under_way: AtomicUsize,
    /// The last of several calls has ended.
    ended: Notify,
}

/// A call is in progress while this lives.
pub(crate) struct CallUnderWay<'a>(&'a Activity);

impl Activity {
    /// A call begins.
    pub(crate) fn begin(&self) -> CallUnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        CallUnderWay(self)
    }

    /// Waits until there have been calls, and then none for this long.
    pub(crate) async fn quiet(&self, long: Duration) {
        loop {
            self.ended.notified().await;
            while timeout(long, self.ended.notified()).await.is_ok() {}
            if self.under_way.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }
}

impl Drop for CallUnderWay<'_> {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.ended.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    const LONG: Duration = Duration::from_millis(20);

    fn is_waiting(future: std::pin::Pin<&mut impl Future>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        matches!(future.poll(&mut context), Poll::Pending)
    }

    #[tokio::test]
    async fn it_is_quiet_once_after_the_last_call() {
        let activity = Activity::default();
        {
            let mut quiet = pin!(activity.quiet(LONG));
            assert!(is_waiting(quiet.as_mut()), "nothing was ever done");
            let (one, other) = (activity.begin(), activity.begin());
            drop(one);
            tokio::time::sleep(2 * LONG).await;
            assert!(is_waiting(quiet.as_mut()), "a call is under way");
            drop(other);
            quiet.await;
        }
        let mut again = pin!(activity.quiet(LONG));
        assert!(is_waiting(again.as_mut()));
        tokio::time::sleep(2 * LONG).await;
        assert!(is_waiting(again.as_mut()), "nothing was done since");
    }

    #[tokio::test]
    async fn a_call_that_begins_in_the_meantime_is_waited_for() {
        let activity = Activity::default();
        drop(activity.begin());
        let mut quiet = pin!(activity.quiet(LONG));
        assert!(is_waiting(quiet.as_mut()));
        let late = activity.begin();
        let waited = timeout(5 * LONG, quiet.as_mut()).await;
        assert!(waited.is_err(), "a call is under way");
        drop(late);
        quiet.await;
    }
}
