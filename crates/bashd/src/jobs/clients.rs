//! Which clients are connected: a job whose owner's client is gone is *earlier* to the clients
//! that come after it.
//!
//! A server process has a directory below the state directory's `clients`, with a lock that it
//! holds for as long as it lives, and a file for each of its clients, which holds the directory in
//! which that client works. A client is there if its file is, and if the lock beside it is held:
//! the kernel releases that, whatever happens to the server. If somebody removes any of it, the
//! server makes it again at the next call, so that its clients' jobs and artifacts stay theirs.

use super::directory::{is_locked, lock_file};
use crate::config::Config;
use crate::run_id::RunId;
use bashd_keeper::spool::{prepare_runs_directory, read_small, write_private};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The directory of all servers' directories, beside the jobs'.
const CLIENTS: &str = "clients";

/// Held for as long as the server lives.
const LOCK: &str = "lock";

/// Digits of a server's name: 40 bits.
const NAME_DIGITS: usize = 8;

/// Longest beginning of an owner's name in the name of its file.
const LONGEST_NAME: usize = 150;

/// The clients of one server process.
#[derive(Debug, Clone)]
pub struct Clients(Arc<ServerClients>);

#[derive(Debug)]
struct ServerClients {
    front_end: String,
    /// Its name among all servers, in the names of its clients.
    name: String,
    /// Its directory.
    place: PathBuf,
    shown: Mutex<ShownClients>,
    last: AtomicU64,
}

/// What a server shows of its clients.
#[derive(Debug)]
struct ShownClients {
    /// `None` if there can't be one.
    lock: Option<OwnedFd>,
    /// The directory of each, by the name of its file.
    homes: BTreeMap<String, PathBuf>,
}

/// A client for as long as it is there; dropping this says that it is gone.
#[derive(Debug)]
pub struct ClientEntry {
    owner: String,
    /// The lock beside its file outlives it.
    clients: Clients,
}

impl Clients {
    /// A server with this front end, which has no clients yet. Without a place to say so, its
    /// clients count as gone to everybody else.
    pub fn of(config: &Config, front_end: &str) -> Self {
        let all = directory(&config.runs_dir());
        remove_gone(&all);
        let id = RunId::new();
        let digits = id.as_str();
        let (_, name) = digits.split_at(digits.len().saturating_sub(NAME_DIGITS));
        let place = all.join(name);
        let shown = ShownClients {
            lock: take(&place).ok(),
            homes: BTreeMap::new(),
        };
        Self(Arc::new(ServerClients {
            front_end: front_end.to_owned(),
            name: name.to_owned(),
            place,
            shown: Mutex::new(shown),
            last: AtomicU64::new(0),
        }))
    }

    /// Another client, which works in this directory.
    pub fn admit(&self, directory: &Path) -> ClientEntry {
        let number = self.0.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.admit_as(&format!("{}.{number}", self.0.name), directory)
    }

    /// The client of this name: one that may have been here before, or that several share.
    pub fn admit_as(&self, client: &str, directory: &Path) -> ClientEntry {
        let owner = format!("{}:{client}", self.0.front_end);
        let name = file_name(&owner);
        // One that was here before may work elsewhere now.
        let _ = fs::remove_file(self.0.place.join(&name));
        let mut shown = self.0.shown();
        shown.homes.insert(name, directory.to_owned());
        shown.show(&self.0.place);
        drop(shown);
        ClientEntry {
            owner,
            clients: self.clone(),
        }
    }

    /// Makes sure that an owner's client can be seen to be there.
    pub fn show(&self, owner: &str) {
        let (name, place) = (file_name(owner), &self.0.place);
        let mut shown = self.0.shown();
        let is_shown = shown.has_place(place) && place.join(&name).exists();
        if !is_shown && shown.homes.contains_key(&name) {
            shown.show(place);
        }
    }
}

impl ServerClients {
    fn shown(&self) -> MutexGuard<'_, ShownClients> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShownClients {
    fn has_place(&self, place: &Path) -> bool {
        self.lock.as_ref().is_some_and(|lock| is_at(lock, place))
    }

    /// Writes down what is missing. On a full disk nobody sees them, until the next time.
    fn show(&mut self, place: &Path) {
        if !self.has_place(place) {
            self.lock = take(place).ok();
        }
        for (name, home) in self.homes.iter().filter(|_| self.lock.is_some()) {
            let file = place.join(name);
            if !file.exists() {
                let _ = write_private(&file, home.as_os_str().as_bytes());
            }
        }
    }
}

impl ClientEntry {
    /// The owner of the client's sessions and jobs: front end and client.
    pub fn owner(&self) -> &str {
        &self.owner
    }
}

impl Drop for ClientEntry {
    fn drop(&mut self) {
        let name = file_name(&self.owner);
        let server = &self.clients.0;
        let _ = fs::remove_file(server.place.join(&name));
        server.shown().homes.remove(&name);
    }
}

impl Drop for ServerClients {
    fn drop(&mut self) {
        if self.shown().lock.is_some() {
            let _ = fs::remove_file(self.place.join(LOCK));
            let _ = fs::remove_dir(&self.place);
        }
    }
}

/// Takes a server's place. Another server that looks for what killed ones left may remove it before
/// it is locked, so it is made again.
fn take(place: &Path) -> io::Result<OwnedFd> {
    /// More than servers that start at the same moment.
    const ATTEMPTS: usize = 100;
    /// Who looks whether a server lives holds its lock for a moment.
    const PATIENCE: Duration = Duration::from_millis(20);
    for _ in 0..ATTEMPTS {
        prepare_runs_directory(place)?;
        match lock_file(&place.join(LOCK), PATIENCE) {
            Ok(lock) if is_at(&lock, place) => return Ok(lock),
            // The place is this server's alone: who holds its lock has no right to it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                fs::remove_file(place.join(LOCK))?;
            }
            _ => {}
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Whether this is the lock that is in a server's place.
fn is_at(lock: &OwnedFd, place: &Path) -> bool {
    let named = fs::metadata(place.join(LOCK)).map(|named| named.ino());
    matches!((rustix::fs::fstat(lock), named), (Ok(held), Ok(named)) if held.st_ino == named)
}

/// Where servers say which clients they have.
fn directory(runs: &Path) -> PathBuf {
    runs.with_file_name(CLIENTS)
}

/// Whether an owner is a client that is there.
pub(crate) fn is_there(runs: &Path, owner: &str) -> bool {
    home(runs, owner).is_some()
}

/// The part of an owner's name that says which front end it came by.
pub(super) fn front_end(owner: &str) -> Option<&str> {
    owner.split_once(':').map(|(front_end, _)| front_end)
}

/// The directory in which an owner's client works, if that client is there.
pub(super) fn home(runs: &Path, owner: &str) -> Option<PathBuf> {
    let name = file_name(owner);
    let servers = fs::read_dir(directory(runs)).ok()?.flatten();
    let mut homes = servers.filter_map(|server| {
        let place = server.path();
        let home = read_small(&place.join(&name)).ok()?;
        is_locked(&place.join(LOCK)).then_some(home)
    });
    homes
        .next()
        .map(|home| PathBuf::from(std::ffi::OsString::from_vec(home)))
}

/// Removes what servers left that were killed.
fn remove_gone(all: &Path) {
    for server in fs::read_dir(all).into_iter().flatten().flatten() {
        let place = server.path();
        // One that is just beginning may have no lock yet; it will make its place again.
        if place.join(LOCK).exists() && !is_locked(&place.join(LOCK)) {
            let _ = fs::remove_dir_all(place);
        }
    }
}

/// A name that a file can have, and that no other owner's file has.
fn file_name(owner: &str) -> String {
    let mut name = String::with_capacity(owner.len());
    for byte in owner.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b':' => {
                name.push(char::from(byte));
            }
            b'.' if !name.is_empty() => name.push('.'),
            _ => {
                let _ = write!(name, "%{byte:02x}");
            }
        }
    }
    if name.len() > LONGEST_NAME {
        name.truncate(LONGEST_NAME);
        let _ = write!(name, "%{:016x}", fingerprint(owner));
    }
    name
}

/// A number that almost always differs for different texts (FNV-1a).
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_there_until_its_entry_or_its_server_is_gone() {
        let state = tempfile::tempdir().unwrap();
        let config = Config::new(state.path());
        let runs = config.runs_dir();
        let here = Path::new("/src");
        let clients = Clients::of(&config, "rpc");
        let (one, two) = (clients.admit(here), clients.admit(Path::new("/other")));
        assert_ne!(one.owner(), two.owner());
        assert_eq!(front_end(one.owner()), Some("rpc"));
        assert_eq!(home(&runs, one.owner()).as_deref(), Some(here));
        assert_eq!(home(&runs, two.owner()), Some("/other".into()));
        let gone = one.owner().to_owned();
        drop(one);
        assert_eq!(home(&runs, &gone), None);
        drop((two, clients));
        assert_eq!(fs::read_dir(directory(&runs)).unwrap().count(), 0);
    }

    #[test]
    fn a_client_is_there_again_after_somebody_removed_what_showed_it() {
        let state = tempfile::tempdir().unwrap();
        let config = Config::new(state.path());
        let runs = config.runs_dir();
        let clients = Clients::of(&config, "rpc");
        let (one, two) = (
            clients.admit(Path::new("/a")),
            clients.admit(Path::new("/b")),
        );
        let place = clients.0.place.clone();
        for victim in [
            directory(&runs),
            place.join(LOCK),
            place.join(file_name(one.owner())),
        ] {
            let _ = fs::remove_dir_all(&victim).or_else(|_| fs::remove_file(&victim));
            assert!(!is_there(&runs, one.owner()), "{}", victim.display());
            clients.show(one.owner());
            for client in [&one, &two] {
                assert!(is_there(&runs, client.owner()), "{}", victim.display());
            }
        }
        let gone = two.owner().to_owned();
        drop(two);
        clients.show(&gone);
        assert!(!is_there(&runs, &gone));
    }

    #[test]
    fn what_a_killed_server_left_is_nobody_and_goes() {
        let state = tempfile::tempdir().unwrap();
        let config = Config::new(state.path());
        let place = directory(&config.runs_dir()).join("killed");
        prepare_runs_directory(&place).unwrap();
        drop(lock_file(&place.join(LOCK), Duration::ZERO).unwrap());
        fs::write(place.join(file_name("mcp:killed.1")), "/src").unwrap();
        assert_eq!(home(&config.runs_dir(), "mcp:killed.1"), None);
        let _clients = Clients::of(&config, "mcp");
        assert!(!place.exists());
    }

    #[test]
    fn every_owner_has_a_file_name_of_its_own() {
        let long = "ä/".repeat(64);
        let names = ["rpc:a.1", "rpc:a/1", "rpc:shared:x y", "..", "", &long];
        let mut files: Vec<String> = names.iter().map(|name| file_name(name)).collect();
        files.push(file_name(&format!("{long}b")));
        assert!(
            files
                .iter()
                .all(|file| !file.contains('/') && file.len() < 200)
        );
        assert!(!files.contains(&"..".to_owned()));
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), names.len() + 1);
    }
}
