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
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Browsers at most; of more the one that came first has to come again.
const MOST: usize = 64;

/// Bytes of the file at most.
const LONGEST: u64 = 256 * 1024;

/// How long a browser is known, in seconds.
const KNOWN_FOR: u64 = 30 * 24 * 3600;

/// The header with a browser's key.
const KEY: &str = "x-bashd-key";

/// The browsers of a state directory.
pub(super) struct Browsers {
    file: PathBuf,
    state: Mutex<LetIn>,
    /// One at a time writes the file.
    keeping: Mutex<()>,
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
            keeping: Mutex::default(),
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
            drop(state);
            self.keep();
        }
    }

    /// Lets a browser in that brings the token, which is then another. It is to be kept, too.
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
        state.stored.browsers.push(KnownBrowser {
            cookie: hash(&pass.cookie),
            key: hash(&pass.key),
            since: now(),
        });
        Some(pass)
    }

    /// Writes down who was let in, beside those that another server of this user has let in
    /// meanwhile. Waits for files: a failure only has browsers come again after a restart.
    pub(super) fn keep(&self) {
        let _one = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = read(&self.file).browsers;
        let mut state = self.state();
        for own in &state.stored.browsers {
            if !all.iter().any(|known| known.key == own.key) {
                all.push(own.clone());
            }
        }
        let latest = now().saturating_sub(KNOWN_FOR);
        all.retain(|browser| browser.since >= latest);
        all.drain(..all.len().saturating_sub(MOST));
        state.stored.browsers = all;
        let stored = state.stored.clone();
        drop(state);
        let _ = write(&self.file, &stored);
    }

    /// Whether a browser was let in.
    pub(super) fn knows(&self, shown: &ShownPass) -> bool {
        self.state().stored.knows(shown)
    }

    /// Looks whether another server of this user has let it in. Waits for a file.
    pub(super) fn look_again(&self, shown: &ShownPass) {
        let stored = read(&self.file);
        if stored.knows(shown) {
            self.state().stored.browsers = stored.browsers;
        }
    }
}

/// What a request shows to be let in, as hashes.
pub(super) struct ShownPass {
    cookies: Vec<String>,
    key: String,
}

impl ShownPass {
    /// `None` if it shows nothing that could do. The host names the cookie.
    pub(super) fn of(headers: &HeaderMap, host: &str) -> Option<Self> {
        let key = headers.get(KEY).and_then(|key| key.to_str().ok());
        let cookies: Vec<String> = cookies(headers, &cookie_name(host)).map(hash).collect();
        let key = key.map(hash).filter(|_| !cookies.is_empty())?;
        Some(Self { cookies, key })
    }
}

impl StoredBrowsers {
    fn knows(&self, shown: &ShownPass) -> bool {
        let latest = now().saturating_sub(KNOWN_FOR);
        let is_it = |browser: &KnownBrowser| {
            let has_cookie =
                |cookie: &String| is_equal(cookie.as_bytes(), browser.cookie.as_bytes());
            browser.since >= latest
                && is_equal(shown.key.as_bytes(), browser.key.as_bytes())
                && shown.cookies.iter().any(has_cookie)
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
    let mut text = Vec::new();
    let opened = fs::File::open(file);
    let _ = opened.and_then(|file| file.take(LONGEST).read_to_end(&mut text));
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

    /// As a request is judged, and as a token is taken.
    fn admits(browsers: &Browsers, headers: &HeaderMap, host: &str) -> bool {
        ShownPass::of(headers, host).is_some_and(|shown| {
            browsers.knows(&shown) || {
                browsers.look_again(&shown);
                browsers.knows(&shown)
            }
        })
    }

    fn enter(browsers: &Browsers, token: &str) -> Option<BrowserPass> {
        let pass = browsers.enter(token)?;
        browsers.keep();
        Some(pass)
    }

    #[test]
    fn a_token_works_once_and_a_browser_needs_both_parts() {
        let state = tempfile::tempdir().unwrap();
        let browsers = Browsers::in_state(state.path()).unwrap();
        let token = browsers.token();
        assert!(enter(&browsers, "").is_none() && enter(&browsers, "0").is_none());
        let pass = enter(&browsers, &token).unwrap();
        assert!(enter(&browsers, &token).is_none(), "it was used");
        let good = headers(&pass);
        assert!(admits(&browsers, &good, HOST));
        assert!(
            !admits(&browsers, &good, "127.0.0.1:81"),
            "another's cookie"
        );
        for missing in [COOKIE.as_str(), KEY] {
            let mut part = good.clone();
            part.remove(missing);
            assert!(!admits(&browsers, &part, HOST), "without {missing}");
        }
        let other = enter(&browsers, &browsers.token()).unwrap();
        let mixed = BrowserPass {
            cookie: pass.cookie.clone(),
            key: other.key,
        };
        assert!(!admits(&browsers, &headers(&mixed), HOST));
        // After a restart it is known, by hashes alone; the old token is not.
        let again = Browsers::in_state(state.path()).unwrap();
        assert!(admits(&again, &good, HOST) && enter(&again, &token).is_none());
        let stored = fs::read_to_string(state.path().join("web/browsers.json")).unwrap();
        assert!(!stored.contains(&pass.cookie) && !stored.contains(&pass.key));
    }

    #[test]
    fn many_browsers_and_damage_are_survived() {
        let state = tempfile::tempdir().unwrap();
        let browsers = Browsers::in_state(state.path()).unwrap();
        let first = enter(&browsers, &browsers.token()).unwrap();
        for _ in 0..MOST {
            enter(&browsers, &browsers.token()).unwrap();
        }
        assert!(!admits(&browsers, &headers(&first), HOST), "it gave way");
        assert_eq!(browsers.state().stored.browsers.len(), MOST);
        fs::write(state.path().join("web/browsers.json"), "{torn").unwrap();
        let again = Browsers::in_state(state.path()).unwrap();
        assert!(enter(&again, &again.token()).is_some());
    }
}
