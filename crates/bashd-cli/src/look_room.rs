//! A few threads for steps at files that nobody may wait for long: off the runtime's thread, and
//! never more of them than a kind of step has room for.

use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a step may take. A thread that is still at it then keeps its place.
const WITHIN: Duration = Duration::from_secs(2);

/// Threads of one kind of step.
pub(crate) struct LookRoom(Semaphore);

impl LookRoom {
    /// Room for so many threads.
    pub(crate) const fn of(threads: usize) -> Self {
        Self(Semaphore::const_new(threads))
    }

    /// What a step found; `None` if it did not come back in time.
    pub(crate) async fn look<T: Send + 'static>(
        &'static self,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let looking = async {
            let place = self.0.acquire().await.ok()?;
            let step = move || {
                let _place = place;
                step()
            };
            tokio::task::spawn_blocking(step).await.ok()
        };
        tokio::time::timeout(WITHIN, looking).await.ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn no_more_threads_are_taken_than_have_room() {
        static ROOM: LookRoom = LookRoom::of(2);
        let (entered, count) = mpsc::channel();
        let (let_go, held) = mpsc::channel::<()>();
        let held = std::sync::Arc::new(std::sync::Mutex::new(held));
        for _ in 0..8 {
            let (entered, held) = (entered.clone(), std::sync::Arc::clone(&held));
            tokio::spawn(ROOM.look(move || {
                entered.send(()).unwrap();
                let _ = held.lock().unwrap().recv();
            }));
        }
        for _ in 0..2 {
            while count.try_recv().is_err() {
                tokio::task::yield_now().await;
            }
        }
        // Those that have no room are answered in time, and never began.
        assert_eq!(ROOM.look(|| ()).await, None);
        assert!(count.try_recv().is_err(), "a third thread was taken");
        drop(let_go);
    }
}
