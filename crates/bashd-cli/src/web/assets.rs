//! The page: its files, compiled in. `assets/web/vendor/VENDORED.md` says what of it others wrote.

use super::answer::{self, WebAnswer};
use crate::serve::token::in_hex;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use sha2::{Digest, Sha256};

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! file {
    ($name:literal, $kind:expr) => {
        (
            concat!("/", $name),
            $kind,
            include_bytes!(concat!("../../assets/web/", $name)),
        )
    };
}

/// Address, kind and content of every file.
const FILES: &[(&str, &str, &[u8])] = &[
    file!("index.html", HTML),
    file!("page.css", STYLE),
    file!("icon.svg", PICTURE),
    file!("asks.js", SCRIPT),
    file!("call.js", SCRIPT),
    file!("charts.js", SCRIPT),
    file!("page.js", SCRIPT),
    file!("list.js", SCRIPT),
    file!("player.js", SCRIPT),
    file!("run.js", SCRIPT),
    file!("server.js", SCRIPT),
    file!("terminal.js", SCRIPT),
    file!("then.js", SCRIPT),
    file!("words.js", SCRIPT),
    file!("strict_style.js", SCRIPT),
    file!("vendor/addon-fit.mjs", SCRIPT),
    file!("vendor/xterm.mjs", SCRIPT),
    file!("vendor/xterm.css", STYLE),
];

/// The file at an address; a browser that has it keeps it.
pub(super) fn get(path: &str, headers: &HeaderMap) -> Option<WebAnswer> {
    let path = if path == "/" { "/index.html" } else { path };
    let (_, kind, content) = FILES.iter().find(|(name, ..)| *name == path)?;
    let digest = Sha256::digest(content);
    let tag = format!("\"{}\"", in_hex(&digest));
    let is_known = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut answer = if is_known {
        answer::bytes(StatusCode::NOT_MODIFIED, kind, "")
    } else {
        answer::bytes(StatusCode::OK, kind, *content)
    };
    let headers = answer.headers_mut();
    // It is asked for again each time: the next version may look different.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    Some(answer)
}
