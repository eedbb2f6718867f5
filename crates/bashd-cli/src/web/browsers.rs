//! Which browsers were let in: a token that works once, and what a browser gets for it.
//!
//! A cookie alone would not do: browsers send it to every port of a host, so to whatever a command
//! serves on this machine. So a browser gets a cookie that its scripts can't read, and a key that
//! they keep for this origin alone; each request needs both. Of both only hashes are stored, so
//! that a page left open goes on after a restart.

use crate::failure::Failure;
use crate::serve::token::{in_hex, is_equal, random};
use hyper::HeaderMap;
use hyper::header::COOKIE;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Browsers at most; of more the one that came first has to come again.
const MOST: usize = 64;

/// How long a browser is known, in seconds.
const KNOWN_FOR: u64 = 30 * 24 * 3600;

/// The header with a browser's key.
const KEY: &str = "x-bashd-key";

/// The browsers of a state directory.
pub(super) struct Browsers {
    file: PathBuf,
    state: Mutex<LetIn>,
}

struct LetIn {
    /// Works once.
    token: String,
    stored: StoredBrowsers,
}

/// What is stored of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct StoredBrowsers {
    #[serde(default)]
    port: Option<u16>,
    #[serde(default)]
    browsers: Vec<KnownBrowser>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KnownBrowser {
    cookie: String,
    key: String,
    since: u64,
}

/// What a browser gets for the token.
pub(super) struct BrowserPass {
    pub(super) cookie: String,
    pub(super) key: String,
}

impl Browsers {
    /// Those that were let in before, and a new token.
    pub(super) fn in_state(state_dir: &Path) -> Result<Self, Failure> {
        let file = state_dir.join("web").join("browsers.json");
        let state = LetIn {
            token: random()?,
            stored: read(&file),
        };
        Ok(Self {
            file,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, LetIn> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token that works next.
    pub(super) fn token(&self) -> String {
        self.state().token.clone()
    }

    /// The port of last time: a page that was left open finds the server again.
    pub(super) fn last_port(&self) -> Option<u16> {
        self.state().stored.port
    }

    pub(super) fn remember_port(&self, port: Option<u16>) {
        let mut state = self.state();
        if port.is_some() && state.stored.port != port {
            state.stored.port = port;
            self.store(&mut state);
        }
    }

    /// Lets a browser in that brings the token, which is then another.
    pub(super) fn enter(&self, token: &str) -> Option<BrowserPass> {
        let mut state = self.state();
        if !is_equal(token.as_bytes(), state.token.as_bytes()) {
            return None;
        }
        let pass = BrowserPass {
            cookie: random().ok()?,
            key: random().ok()?,
        };
        state.token = random().ok()?;
        // Another server of this user may have let some in meanwhile.
        let port = state.stored.port;
        state.stored = read(&self.file);
        state.stored.port = port;
        state.stored.browsers.push(KnownBrowser {
            cookie: hash(&pass.cookie),
            key: hash(&pass.key),
            since: now(),
        });
        self.store(&mut state);
        Some(pass)
    }

    /// Whether a request is from a browser that was let in. The host names the cookie.
    pub(super) fn admits(&self, headers: &HeaderMap, host: &str) -> bool {
        let key = headers.get(KEY).and_then(|key| key.to_str().ok());
        let Some(key) = key.map(hash) else {
            return false;
        };
        let cookies: Vec<String> = cookies(headers, &cookie_name(host)).map(hash).collect();
        if cookies.is_empty() {
            return false;
        }
        let mut state = self.state();
        if state.stored.knows(&cookies, &key) {
            return true;
        }
        // Another server of this user may have let it in.
        let stored = read(&self.file);
        if stored.knows(&cookies, &key) {
            state.stored.browsers = stored.browsers;
            return true;
        }
        false
    }

    /// A failure only has browsers come again after a restart.
    fn store(&self, state: &mut LetIn) {
        let latest = now().saturating_sub(KNOWN_FOR);
        let browsers = &mut state.stored.browsers;
        browsers.retain(|browser| browser.since >= latest);
        browsers.drain(..browsers.len().saturating_sub(MOST));
        let _ = write(&self.file, &state.stored);
    }
}

impl StoredBrowsers {
    fn knows(&self, cookies: &[String], key: &str) -> bool {
        let latest = now().saturating_sub(KNOWN_FOR);
        let is_it = |browser: &KnownBrowser| {
            let has_cookie =
                |cookie: &String| is_equal(cookie.as_bytes(), browser.cookie.as_bytes());
            browser.since >= latest
                && is_equal(key.as_bytes(), browser.key.as_bytes())
                && cookies.iter().any(has_cookie)
        };
        self.browsers.iter().any(is_it)
    }
}

/// The cookie for a host: two servers on one host must not take each other's away.
pub(super) fn cookie_name(host: &str) -> String {
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let digits: String = port.chars().filter(char::is_ascii_digit).collect();
    format!("bashd_{digits}")
}

/// What a browser is told to keep.
pub(super) fn cookie(pass: &BrowserPass, host: &str, secure: &str) -> String {
    let name = cookie_name(host);
    format!(
        "{name}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={KNOWN_FOR}{secure}",
        pass.cookie
    )
}

fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(COOKIE).into_iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    pairs.filter_map(move |pair| {
        let (found, value) = pair.trim().split_once('=')?;
        (found == name).then_some(value)
    })
}

fn hash(text: &str) -> String {
    in_hex(&Sha256::digest(text.as_bytes()))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn read(file: &Path) -> StoredBrowsers {
    let text = fs::read(file).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn write(file: &Path, stored: &StoredBrowsers) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    let aside = file.with_extension(format!("{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut written = options.open(&aside)?;
    written.write_all(&serde_json::to_vec(stored)?)?;
    fs::rename(aside, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:80";

    fn headers(pass: &BrowserPass) -> HeaderMap {
        let cookie = format!("other=1; bashd_80={}", pass.cookie);
        HeaderMap::from_iter([
            (COOKIE, cookie.parse().unwrap()),
            (KEY.parse().unwrap(), pass.key.parse().unwrap()),
        ])
    }

    #[test]
    fn a_token_works_once_and_a_browser_needs_both_parts() {
        let state = tempfile::tempdir().unwrap();
        let browsers = Browsers::in_state(state.path()).unwrap();
        let token = browsers.token();
        assert!(browsers.enter("").is_none() && browsers.enter("0").is_none());
        let pass = browsers.enter(&token).unwrap();
        assert!(browsers.enter(&token).is_none(), "it was used");
        let good = headers(&pass);
        assert!(browsers.admits(&good, HOST));
        assert!(!browsers.admits(&good, "127.0.0.1:81"), "another's cookie");
        for missing in [COOKIE.as_str(), KEY] {
            let mut part = good.clone();
            part.remove(missing);
            assert!(!browsers.admits(&part, HOST), "without {missing}");
        }
        let other = browsers.enter(&browsers.token()).unwrap();
        let mixed = BrowserPass {
            cookie: pass.cookie.clone(),
            key: other.key,
        };
        assert!(!browsers.admits(&headers(&mixed), HOST));
        // After a restart it is known, by hashes alone; the old token is not.
        let again = Browsers::in_state(state.path()).unwrap();
        assert!(again.admits(&good, HOST) && again.enter(&token).is_none());
        let stored = fs::read_to_string(state.path().join("web/browsers.json")).unwrap();
        assert!(!stored.contains(&pass.cookie) && !stored.contains(&pass.key));
    }

    #[test]
    fn many_browsers_and_damage_are_survived() {
        let state = tempfile::tempdir().unwrap();
        let browsers = Browsers::in_state(state.path()).unwrap();
        let first = browsers.enter(&browsers.token()).unwrap();
        for _ in 0..MOST {
            browsers.enter(&browsers.token()).unwrap();
        }
        assert!(!browsers.admits(&headers(&first), HOST), "it gave way");
        assert_eq!(browsers.state().stored.browsers.len(), MOST);
        fs::write(state.path().join("web/browsers.json"), "{torn").unwrap();
        let again = Browsers::in_state(state.path()).unwrap();
        assert!(again.enter(&again.token()).is_some());
    }
}
