//! Looks at files for those who have not come in yet: off the runtime's thread, a few at a time.
//!
//! Anybody of this machine can connect, and anything of this user can change its files: neither may
//! keep a browser that was let in from its answers, nor take threads without end.

use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a look may take. A thread that is still at it then keeps its place.
const WITHIN: Duration = Duration::from_secs(2);

/// Threads of one kind of look.
pub(super) struct LookRoom(Semaphore);

/// Whose a connection is.
pub(super) static PEERS: LookRoom = LookRoom(Semaphore::const_new(4));

/// What is stored of browsers.
pub(super) static BROWSERS: LookRoom = LookRoom(Semaphore::const_new(2));

impl LookRoom {
    /// What a look found; `None` if it did not come back in time.
    pub(super) async fn look<T: Send + 'static>(
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
        static ROOM: LookRoom = LookRoom(Semaphore::const_new(2));
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
