//! Who may ask: host names, origins, and what every answer forbids the page.
//!
//! A page of another site can make a browser send requests here, also under a name of its own that
//! leads to this machine (DNS rebinding). So the name by which we were asked must be ours, and a
//! request that a page sent must come from our page.

use crate::args::WebOptions;
use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::{Method, Uri};

/// Names of this machine that nobody else can have.
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "[::1]"];

/// What is sent with every answer: nothing is run that is not ours, and nothing guessed.
pub(super) const ALWAYS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), clipboard-read=(), clipboard-write=(), geolocation=(), microphone=()",
    ),
];

/// An origin by which a reverse proxy shows the page: `https://host[:port]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowedOrigin {
    /// As browsers send it.
    pub(crate) text: String,
    host: String,
}

/// Reads an origin; the error says what one looks like.
pub(crate) fn parse_origin(text: &str) -> Result<AllowedOrigin, String> {
    let wrong = || "expected an origin, as https://bashd.example.org".to_owned();
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let host = uri.authority().map(|host| host.as_str().to_lowercase());
    let host = host.filter(|host| !host.contains('@')).ok_or_else(wrong)?;
    let has_path = !matches!(uri.path(), "" | "/") || uri.query().is_some();
    if !is_http || has_path {
        return Err(wrong());
    }
    let scheme = uri.scheme_str().unwrap_or_default();
    Ok(AllowedOrigin {
        text: format!("{scheme}://{host}"),
        host,
    })
}

/// Under which names the server is asked, and by which pages.
pub(super) struct WebAccess {
    origins: Vec<AllowedOrigin>,
}

/// Why a request was turned away.
pub(super) type TurnedAway = &'static str;

impl WebAccess {
    pub(super) fn of(arguments: &WebOptions) -> Self {
        Self {
            origins: arguments.allow_origin.clone(),
        }
    }

    /// Whether a proxy of another user may connect: it is not known whose a request is then.
    pub(super) fn is_behind_a_proxy(&self) -> bool {
        !self.origins.is_empty()
    }

    /// The name by which a request asks, if it may.
    pub(super) fn host(&self, headers: &HeaderMap) -> Result<String, TurnedAway> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let host = host.filter(|_| hosts.next().is_none());
        let host = host.map(str::to_lowercase).unwrap_or_default();
        let is_proxied = self.origins.iter().any(|origin| origin.host == host);
        if is_proxied || LOOPBACK.contains(&name_of(&host)) {
            Ok(host)
        } else {
            Err("this server is not known by that name\n")
        }
    }

    /// Whether a request comes from our own page, or from no page at all.
    pub(super) fn check_origin(
        &self,
        method: &Method,
        headers: &HeaderMap,
        host: &str,
    ) -> Result<(), TurnedAway> {
        let foreign = "pages of other origins can't use this server\n";
        match headers.get(ORIGIN) {
            Some(origin) => {
                let origin = origin.to_str().map(str::to_lowercase).unwrap_or_default();
                let is_own = origin.strip_prefix("http://") == Some(host)
                    && LOOPBACK.contains(&name_of(host));
                let is_allowed = self.origins.iter().any(|allowed| allowed.text == origin);
                if !is_own && !is_allowed {
                    return Err(foreign);
                }
            }
            // A browser names the origin of whatever changes something.
            None if method == Method::POST => return Err("an origin is needed\n"),
            None => {}
        }
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        match site {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) => Err(foreign),
        }
    }
}

/// Whether the page was asked for over TLS, so that its cookie must not go without.
pub(super) fn is_secure(headers: &HeaderMap) -> bool {
    headers
        .get(ORIGIN)
        .is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn access(origins: &[&str]) -> WebAccess {
        WebAccess {
            origins: origins.iter().map(|it| parse_origin(it).unwrap()).collect(),
        }
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let access = access(&["https://bashd.example.org"]);
        for good in [
            "localhost:80",
            "127.0.0.1:1",
            "[::1]:9",
            "LOCALHOST",
            "bashd.example.org",
        ] {
            assert!(access.host(&headers(&[("host", good)])).is_ok(), "{good}");
        }
        for bad in [
            "evil.example:80",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "bashd.example.org:8080",
            "",
        ] {
            assert!(access.host(&headers(&[("host", bad)])).is_err(), "{bad}");
        }
        assert!(access.host(&HeaderMap::new()).is_err());
    }

    #[test]
    fn only_our_own_page_may_ask() {
        let access = access(&["https://bashd.example.org"]);
        let check = |method: Method, pairs: &[(&'static str, &str)]| {
            access.check_origin(&method, &headers(pairs), "127.0.0.1:80")
        };
        assert!(check(Method::GET, &[]).is_ok());
        assert!(check(Method::POST, &[]).is_err());
        assert!(check(Method::POST, &[("origin", "http://127.0.0.1:80")]).is_ok());
        assert!(check(Method::POST, &[("origin", "https://bashd.example.org")]).is_ok());
        for bad in [
            "null",
            "http://127.0.0.1:81",
            "https://127.0.0.1:80",
            "http://evil.example",
            "http://bashd.example.org",
        ] {
            assert!(check(Method::POST, &[("origin", bad)]).is_err(), "{bad}");
            assert!(check(Method::GET, &[("origin", bad)]).is_err(), "{bad}");
        }
        for bad in ["cross-site", "same-site"] {
            assert!(check(Method::GET, &[("sec-fetch-site", bad)]).is_err());
        }
    }

    #[test]
    fn an_origin_has_no_path() {
        assert!(parse_origin("https://a.example/x").is_err());
        assert!(parse_origin("a.example").is_err());
        assert!(parse_origin("ftp://a.example").is_err());
        assert!(parse_origin("https://u@a.example").is_err());
        let origin = parse_origin("HTTPS://A.example:8443/").unwrap();
        assert_eq!(origin.text, "https://a.example:8443");
    }
}
