//! Whose turn it is to run a command: clients take turns with each other, and none takes every
//! place.
//!
//! A client may have three quarters of the places that others leave free. So there is always room
//! for another, however long the commands of those before it run, until there are very many. Where
//! commands wait, the clients' turns go round: who has a thousand waiting is served as often as
//! who has one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The places of a server.
#[derive(Clone)]
pub(crate) struct FairTurns(Arc<Mutex<TurnQueue>>);

/// One client's part in them.
pub(crate) struct ClientTurns {
    turns: FairTurns,
    client: u64,
}

/// The right to run one command, given back when this is dropped.
pub(crate) struct RunTurn {
    turns: FairTurns,
    client: u64,
}

struct TurnQueue {
    places: usize,
    taken: usize,
    next_client: u64,
    running: HashMap<u64, usize>,
    /// Clients whose commands wait, in the order in which they come to their turn.
    waiting: VecDeque<(u64, VecDeque<oneshot::Sender<()>>)>,
}

/// How many of so many free places a client may have.
fn share(free: usize) -> usize {
    (free * 3).div_ceil(4)
}

impl FairTurns {
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(TurnQueue {
            places,
            taken: 0,
            next_client: 0,
            running: HashMap::new(),
            waiting: VecDeque::new(),
        })))
    }

    /// A client's part.
    pub(crate) fn client(&self) -> ClientTurns {
        let mut queue = self.lock();
        queue.next_client += 1;
        ClientTurns {
            turns: self.clone(),
            client: queue.next_client,
        }
    }

    fn release(&self, client: u64) {
        let mut queue = self.lock();
        queue.taken -= 1;
        if let Some(running) = queue.running.get_mut(&client) {
            *running -= 1;
            if *running == 0 {
                queue.running.remove(&client);
            }
        }
        queue.hand_out();
    }

    fn lock(&self) -> MutexGuard<'_, TurnQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnQueue {
    fn may_run(&self, client: u64) -> bool {
        let own = self.running.get(&client).copied().unwrap_or(0);
        let left = self.places - (self.taken - own);
        own < share(left) && self.taken < self.places
    }

    fn begin(&mut self, client: u64) {
        self.taken += 1;
        *self.running.entry(client).or_default() += 1;
    }

    /// Lets those run whose turn it is.
    fn hand_out(&mut self) {
        let is_next = |queue: &Self| {
            let mut clients = queue.waiting.iter();
            clients.position(|(client, _)| queue.may_run(*client))
        };
        while let Some(at) = is_next(self) {
            let Some((client, mut calls)) = self.waiting.remove(at) else {
                return;
            };
            // One that nobody waits for any more is passed over.
            while let Some(call) = calls.pop_front() {
                if call.send(()).is_ok() {
                    self.begin(client);
                    break;
                }
            }
            if !calls.is_empty() {
                self.waiting.push_back((client, calls));
            }
        }
    }
}

impl ClientTurns {
    /// Waits for a turn.
    pub(crate) async fn take(&self) -> RunTurn {
        let told = {
            let mut queue = self.turns.lock();
            let has_waiting = queue
                .waiting
                .iter()
                .any(|(client, _)| *client == self.client);
            if !has_waiting && queue.may_run(self.client) {
                queue.begin(self.client);
                return self.turn();
            }
            let (tell, told) = oneshot::channel();
            let mut waiting = queue.waiting.iter_mut();
            match waiting.find(|(client, _)| *client == self.client) {
                Some((_, calls)) => calls.push_back(tell),
                None => queue
                    .waiting
                    .push_back((self.client, VecDeque::from([tell]))),
            }
            told
        };
        let mut wait = TurnWait {
            told,
            of: self,
            is_over: false,
        };
        // The sender is dropped only with the queue, which this holds.
        let _ = (&mut wait.told).await;
        wait.is_over = true;
        self.turn()
    }

    fn turn(&self) -> RunTurn {
        RunTurn {
            turns: self.turns.clone(),
            client: self.client,
        }
    }
}

/// A call that waits; one that is given up gives back what it got at the same moment.
struct TurnWait<'a> {
    told: oneshot::Receiver<()>,
    of: &'a ClientTurns,
    is_over: bool,
}

impl Drop for TurnWait<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.told.close();
            if self.told.try_recv().is_ok() {
                self.of.turns.release(self.of.client);
            }
        }
    }
}

impl Drop for RunTurn {
    fn drop(&mut self) {
        self.turns.release(self.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// What a future has come to, without waiting.
    fn now<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    fn taken(client: &ClientTurns) -> Option<RunTurn> {
        now(pin!(client.take()))
    }

    #[test]
    fn nobody_takes_every_place() {
        let turns = FairTurns::new(16);
        let (greedy, other, third) = (turns.client(), turns.client(), turns.client());
        let held: Vec<RunTurn> = (0..20).map_while(|_| taken(&greedy)).collect();
        assert_eq!(held.len(), 12);
        let others: Vec<RunTurn> = (0..20).map_while(|_| taken(&other)).collect();
        assert_eq!(others.len(), 3);
        assert!(taken(&third).is_some());
        drop(held);
        assert!(taken(&other).is_some());
    }

    #[test]
    fn those_who_wait_take_turns() {
        let turns = FairTurns::new(1);
        let (many, one) = (turns.client(), turns.client());
        let first = taken(&many).unwrap();
        let mut second = pin!(many.take());
        let mut third = pin!(many.take());
        let mut others = pin!(one.take());
        assert!(now(second.as_mut()).is_none() && now(third.as_mut()).is_none());
        assert!(now(others.as_mut()).is_none());
        drop(first);
        let turn = now(second.as_mut()).unwrap();
        drop(turn);
        assert!(now(third.as_mut()).is_none());
        let turn = now(others.as_mut()).unwrap();
        drop(turn);
        assert!(now(third.as_mut()).is_some());
    }

    #[test]
    fn who_gives_up_takes_nothing_along() {
        let turns = FairTurns::new(1);
        let (one, other) = (turns.client(), turns.client());
        let first = taken(&one).unwrap();
        {
            let mut waits = Box::pin(other.take());
            assert!(now(waits.as_mut()).is_none());
            drop(first); // its turn has come, and it does not know yet
        }
        assert!(taken(&one).is_some());
        assert_eq!(turns.lock().taken, 0);
    }
}
