//! A wire to a machine that is far away: a proxy that passes bytes on later, and counts them. The
//! kernel's own way (netem) is not in every kernel.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A wire; it takes whoever connects until it is dropped.
#[derive(Debug)]
pub struct SlowWire {
    /// Where to connect.
    pub port: u16,
    bytes: Arc<[AtomicU64; 2]>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SlowWire {
    /// A wire to an address.
    pub fn to(address: SocketAddr, one_way: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let bytes: Arc<[AtomicU64; 2]> = Arc::default();
        let is_over: Arc<AtomicBool> = Arc::default();
        let (counted, ended) = (Arc::clone(&bytes), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            let mut held = Vec::new();
            for near in listener.incoming().flatten() {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(far) = TcpStream::connect(address) else {
                    continue;
                };
                let copy = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
                held.extend(carry((copy(&near), copy(&far)), one_way, &counted, 0));
                held.extend(carry((copy(&far), copy(&near)), one_way, &counted, 1));
                held.push(Held::Streams(near, far));
            }
            held.into_iter().rev().for_each(Held::end);
        });
        Self {
            port,
            bytes,
            is_over,
            thread: Some(thread),
        }
    }

    /// Bytes so far: to the machine, and from it.
    pub fn bytes(&self) -> (u64, u64) {
        let [to, from] = &*self.bytes;
        (to.load(Ordering::Relaxed), from.load(Ordering::Relaxed))
    }
}

impl Drop for SlowWire {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What is there for one that connected.
enum Held {
    Streams(TcpStream, TcpStream),
    Thread(JoinHandle<()>),
}

impl Held {
    fn end(self) {
        match self {
            Self::Streams(near, far) => {
                let _ = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
            }
            Self::Thread(thread) => drop(thread.join()),
        }
    }
}

/// Carries bytes one way, in two threads: reading must not wait for what is on its way.
fn carry(
    (mut from, mut to): (TcpStream, TcpStream),
    one_way: Duration,
    counted: &Arc<[AtomicU64; 2]>,
    way: usize,
) -> [Held; 2] {
    let _ = to.set_nodelay(true);
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    let counted = Arc::clone(counted);
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let piece = buffer.get(..count).unwrap_or_default().to_vec();
            if let Some(counter) = counted.get(way) {
                counter.fetch_add(count as u64, Ordering::Relaxed);
            }
            if sender.send((Instant::now() + one_way, piece)).is_err() {
                break;
            }
        }
    });
    let writing = std::thread::spawn(move || {
        for (due, piece) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
    [Held::Thread(reading), Held::Thread(writing)]
}
