//! What the feed is to be told of a call's beginning, until the call waits for something: who
//! watches learns of it while others work, and no command begins later for it.

use crate::feed::{Feed, FeedRecord};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

/// A beginning that is to be told; empty once it is.
#[derive(Debug, Default)]
pub(crate) struct UntoldBeginning(Mutex<Option<FeedRecord>>);

impl UntoldBeginning {
    /// Keeps it until the call waits.
    pub(super) fn keep(&self, record: Option<FeedRecord>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = record;
    }

    /// Tells it now, unless it is told.
    pub(super) fn tell(&self, feed: &Feed) {
        let untold = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(record) = untold {
            feed.tell(&record);
        }
    }

    /// Does this, and tells the beginning as soon as it waits for anything.
    pub(crate) async fn told_during<T>(
        &self,
        feed: &Feed,
        mut call: impl Future<Output = T> + Unpin,
    ) -> T {
        std::future::poll_fn(|context| {
            let polled = Pin::new(&mut call).poll(context);
            if polled.is_pending() {
                self.tell(feed);
            }
            polled
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{CallBegun, FeedEvent, FeedReader};
    use jiff::Timestamp;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_beginning_is_told_once_and_when_the_call_first_waits() {
        let home = tempfile::tempdir().unwrap();
        let (feed, mut reader) = (Feed::new(home.path()), FeedReader::new(home.path()));
        let mut told = || reader.read().unwrap().records.len();
        let begun = || {
            let event = FeedEvent::Begun(CallBegun::default());
            FeedRecord::new("a", Timestamp::UNIX_EPOCH, event)
        };
        let beginning = UntoldBeginning::default();
        // It is known in its second step of four, and waits after each.
        let mut steps = 0;
        let call = std::future::poll_fn(|_| {
            steps += 1;
            if steps == 2 {
                beginning.keep(Some(begun()));
            }
            if steps > 4 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        let mut call = pin!(beginning.told_during(&feed, Box::pin(call)));
        let mut context = Context::from_waker(Waker::noop());
        let mut seen = Vec::new();
        while call.as_mut().poll(&mut context).is_pending() {
            seen.push(told());
        }
        assert_eq!((seen, told()), (vec![0, 1, 0, 0], 0));

        // What never waits is told with what comes next.
        let beginning = UntoldBeginning::default();
        beginning.keep(Some(begun()));
        let mut call = pin!(beginning.told_during(&feed, std::future::ready(())));
        assert!(call.as_mut().poll(&mut context).is_ready());
        assert_eq!(told(), 0);
        beginning.tell(&feed);
        beginning.tell(&feed);
        assert_eq!(told(), 1);
    }
}
