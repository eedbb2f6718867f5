//! What Slurm says of all jobs of ours: one question serves everybody who waits, and is asked less
//! and less often as long as the answers do not change.

use super::slurm::{self, SlurmJob};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Pause after an answer that was news; each further one is twice that.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// All jobs of ours, or why that is not known.
pub(super) type QueueTold = Result<Arc<BTreeMap<u64, SlurmJob>>, String>;

/// What was told last, and when to ask again.
#[derive(Debug, Default)]
pub(super) struct SlurmQueue {
    last: Mutex<Option<LastAnswer>>,
}

#[derive(Debug)]
struct LastAnswer {
    told: QueueTold,
    at: Instant,
    pause: Duration,
}

impl SlurmQueue {
    /// What is known now: asked if that is due, or if something has just happened.
    pub(super) async fn look<A>(&self, is_urgent: bool, ask: impl FnOnce() -> A) -> QueueTold
    where
        A: Future<Output = Result<String, String>>,
    {
        let begun = Instant::now();
        let mut last = self.last.lock().await;
        let (before, pause) = match &*last {
            Some(last) => {
                let due = last.at + last.pause;
                // Somebody else may have asked while this one waited.
                let is_fresh = last.at >= begun;
                if is_fresh || !is_urgent && Instant::now() < due {
                    return last.told.clone();
                }
                (Some(last.told.clone()), last.pause)
            }
            None => (None, FIRST_PAUSE),
        };
        let told = ask().await.map(|told| Arc::new(slurm::jobs(&told)));
        let is_news = is_urgent || before.as_ref() != Some(&told);
        let pause = if is_news {
            FIRST_PAUSE
        } else {
            (pause * 2).min(LONGEST_PAUSE)
        };
        *last = Some(LastAnswer {
            told: told.clone(),
            at: Instant::now(),
            pause,
        });
        told
    }

    /// Waits until asking is due.
    pub(super) async fn until_due(&self) {
        let due = self
            .last
            .lock()
            .await
            .as_ref()
            .map(|last| last.at + last.pause);
        if let Some(due) = due {
            tokio::time::sleep_until(due).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn one_question_serves_all_and_is_asked_less_and_less_often() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (queue, asked) = (SlurmQueue::default(), AtomicUsize::new(0));
            let ask = || async {
                asked.fetch_add(1, Ordering::Relaxed);
                Ok("7|PENDING|Priority|N/A|N/A|main|".to_owned())
            };
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_mins(10) {
                let (one, other) = tokio::join!(queue.look(false, ask), queue.look(false, ask));
                assert!(one.unwrap().contains_key(&7) && other.unwrap().contains_key(&7));
                queue.until_due().await;
            }
            // 0.05, 0.1, … 25.6 s, then every 30 s.
            assert_eq!(asked.load(Ordering::Relaxed), 29);
            queue.look(true, ask).await.unwrap();
            assert_eq!(
                asked.load(Ordering::Relaxed),
                30,
                "what is urgent is asked at once"
            );
        });
    }
}
