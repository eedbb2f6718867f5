//! Which variables hold secrets: what names tell, and which values are none whatever their name.

use super::search::SecretIndex;

/// Characters of the shortest value that is a secret. Shorter ones appear in any text by chance.
pub const SHORTEST: usize = 8;

/// Bytes of the shortest name of a secret: `TOKEN`, `X_KEY`.
const SHORTEST_NAME: usize = 5;

/// Letters of the longest text that is taken for ordinary words.
const WORDS: usize = 20;

/// Digits of the longest number that is taken for one: ports, sizes, times.
const DIGITS: usize = 15;

/// Different characters that a secret has at least; `********` is none.
const DIFFERENT: usize = 4;

/// Bytes of a part of a path that looks made up by chance.
const RANDOM_PART: usize = 12;

/// Whether a variable of this name holds a secret.
pub fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 7] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "APIKEY",
        "CREDENTIALS",
    ];
    /// Secret only as a suffix: `MYSQL_PWD`, but not `PWD`.
    const LAST: [&str; 4] = ["KEY", "PASS", "PAT", "PWD"];
    /// Names of things about a secret.
    const ABOUT: [&str; 8] = ["FILE", "PATH", "DIR", "ID", "NAME", "URL", "TYPE", "TTL"];
    if name.len() < SHORTEST_NAME {
        return false;
    }
    let mut parts = name.split(['_', '-']).filter(|part| !part.is_empty());
    let Some(last) = parts.next_back() else {
        return false;
    };
    let is_among = |names: &[&str]| names.iter().any(|name| last.eq_ignore_ascii_case(name));
    let is_one = |part: &str| PARTS.iter().any(|secret| ends_with(part, secret));
    if is_among(&ABOUT) {
        return false;
    }
    let mut before = parts.peekable();
    is_one(last) || before.peek().is_some() && is_among(&LAST) || before.any(is_one)
}

/// Whether name or value of a variable say that it is a credential.
pub fn is_credential(name: &str, value: &str) -> bool {
    is_secret(name) || said_by_value(value).is_some()
}

/// The credential that a value says it has: a well-known token, or the password of an address.
pub(super) fn said_by_value(value: &str) -> Option<&str> {
    let token = SecretIndex::of_tokens().first_token(value.as_bytes());
    let token = token.and_then(|range| value.get(range));
    token.or_else(|| password_in(value))
}

/// The password of an address: `postgres://user:PASSWORD@host/`.
fn password_in(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once("://")?;
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (_, password) = authority.rsplit_once('@')?.0.split_once(':')?;
    (!is_ordinary(password)).then_some(password)
}

/// Whether a value is too short or too ordinary to be a secret: words, numbers, paths, addresses
/// without a password, a few characters repeated.
pub fn is_ordinary(value: &str) -> bool {
    let value = value.trim();
    if value.chars().count() < SHORTEST {
        return true;
    }
    let mut seen: Vec<char> = Vec::with_capacity(DIFFERENT);
    for character in value.chars() {
        if seen.len() < DIFFERENT && !seen.contains(&character) {
            seen.push(character);
        }
    }
    let is_number = value.len() <= DIGITS && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_address = value.contains("://") && said_by_value(value).is_none();
    seen.len() < DIFFERENT || is_number || is_address || is_words(value) || is_path(value)
}

/// One word, or two with a sign or a space between: `disabled`, `us-east`, `Never Mind`.
fn is_words(value: &str) -> bool {
    let words: Vec<&str> = value.split(['-', '_', '.', ' ', '/']).collect();
    let is_word = |word: &&str| {
        let mut letters = word.chars();
        let first = letters.next();
        let rest = letters.as_str();
        let is_one_case =
            rest.chars().all(char::is_lowercase) || rest.chars().all(char::is_uppercase);
        first.is_some_and(char::is_alphabetic) && is_one_case
    };
    value.chars().count() < WORDS && words.len() <= 2 && words.iter().all(is_word)
}

/// A path whose parts look like names.
fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/"];
    let is_random = |part: &str| {
        let has = |what: fn(&u8) -> bool| part.as_bytes().iter().any(what);
        let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
        part.len() >= RANDOM_PART && mixed && has(u8::is_ascii_digit)
    };
    begins.iter().any(|begin| value.starts_with(begin))
        && !value.contains(['+', '=', '\n'])
        && !value.split('/').any(is_random)
}

/// Whether a name ends like this, ignoring case.
fn ends_with(name: &str, end: &str) -> bool {
    let start = name.len().checked_sub(end.len());
    let own = start.and_then(|start| name.as_bytes().get(start..));
    own.is_some_and(|own| own.eq_ignore_ascii_case(end.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell() {
        for name in [
            "API_TOKEN",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "SECRET_KEY_BASE",
            "MYSQL_PWD",
            "GITHUB_PAT",
            "--password",
            "--api-key",
            "db_passwd",
            "npm_config__authToken",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PWD",
            "OLDPWD",
            "SSH_ASKPASS",
            "SSH_AUTH_SOCK",
            "KEY",
            "AWS_ACCESS_KEY_ID",
            "TOKEN_FILE",
            "TOKENIZERS_PARALLELISM",
            "PATH",
            "COMPAT",
            "--key",
            "",
            "_",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn ordinary_values_are_no_secrets() {
        for value in [
            "",
            "true",
            "hunter2",
            "disabled",
            "Password",
            "us-east",
            "Never Mind",
            "********",
            "00000000",
            "1700000000",
            "/home/somebody/.config/token",
            "./secrets/of-mine.txt",
            "~/keys/id_ed25519",
            "https://example.org/a/b",
        ] {
            assert!(is_ordinary(value), "{value}");
        }
        for value in [
            "hunter2-0123456789",
            "s3cr3t-canary",
            "correct horse battery staple",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "/wJalrXUtn3EMI/K7MDENGbPxRfiCYEXAMPLEKEY",
            "8f14e45fceea167a",
            "postgres://app:Tr0ub4dor&3@db.example.org/x",
            "pässwörter-1",
        ] {
            assert!(!is_ordinary(value), "{value}");
        }
    }

    #[test]
    fn values_tell_too() {
        let address = "postgres://app:Tr0ub4dor&3@db.example.org/x";
        assert_eq!(said_by_value(address), Some("Tr0ub4dor&3"));
        assert!(is_credential("DATABASE_URL", address));
        for value in [
            "https://example.org:8080/a@b",
            "https://git@github.com/a/b",
            "postgres://app:postgres@localhost/x",
            "a:b@c",
        ] {
            assert!(!is_credential("DATABASE_URL", value), "{value}");
        }
        // Put together here, so that no scanner takes this file for a leak.
        let token = format!("ghp_{}", "0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R");
        assert!(is_credential("REMOTE", &format!("x {token}")));
    }
}
