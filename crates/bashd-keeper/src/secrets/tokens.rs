//! Well-known tokens: how the credentials of common services look, whoever they belong to.
//!
//! The rules are those whose issuers publish a prefix of their own, so that a token can be told
//! from everything else by its beginning: what GitHub's secret scanning and gitleaks look for, as
//! far as it needs no guess. Without a prefix nothing is taken for a token: hashes, ids and
//! checksums look just like one. `docs/secrets.md` has the list.

use std::ops::Range;

/// Bytes of the longest token; longer ones are none, except for private keys, which are cut here.
pub(super) const LONGEST: usize = 16 * 1024;

/// Different bytes after the prefix of a token; `ghp_xxxxxxxx…` is an example of one.
const DIFFERENT: usize = 6;

/// The characters that follow a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// Letters and digits.
    Alphanumeric,
    /// And `_`, `-`.
    Word,
    /// And `.`, too.
    Dotted,
    /// And `+`, `/`, `=`.
    Base64,
    /// Capital letters and the digits 2 to 7.
    Base32,
    /// Hexadecimal digits.
    Hex,
}

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=')
            }
            Self::Base32 => byte.is_ascii_uppercase() || matches!(byte, b'2'..=b'7'),
            Self::Hex => byte.is_ascii_hexdigit(),
        }
    }
}

/// How the tokens of one kind look.
#[derive(Debug)]
pub(super) struct TokenRule {
    /// What it is called in a text.
    pub(super) name: &'static str,
    /// What it begins with.
    begins: &'static str,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    /// So many characters after the prefix.
    Run(Alphabet, usize, usize),
    /// Three parts with dots between; the second begins like the first.
    Jwt,
    /// A private key in lines, up to where it says that it ends.
    Pem,
}

/// Whether something is a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// Not one, whatever follows.
    No,
    /// Perhaps one, as soon as there is more.
    Perhaps,
    /// One of so many bytes; if the text goes on, it may turn out longer, or none.
    Token { bytes: usize, is_open: bool },
}

const fn rule(
    name: &'static str,
    begins: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
) -> TokenRule {
    TokenRule {
        name,
        begins,
        shape: Shape::Run(alphabet, least, most),
    }
}

/// Every rule. Prefixes have at least three bytes.
pub(super) const RULES: &[TokenRule] = {
    use Alphabet::{Alphanumeric, Base32, Base64, Dotted, Hex, Word};
    &[
        rule("GitHub token", "ghp_", Alphanumeric, 36, 255),
        rule("GitHub token", "gho_", Alphanumeric, 36, 255),
        rule("GitHub token", "ghu_", Alphanumeric, 36, 255),
        rule("GitHub token", "ghs_", Alphanumeric, 36, 255),
        rule("GitHub token", "ghr_", Alphanumeric, 36, 255),
        rule("GitHub token", "github_pat_", Word, 60, 255),
        rule("GitLab token", "glpat-", Dotted, 20, 400),
        rule("GitLab token", "gldt-", Dotted, 20, 400),
        rule("GitLab token", "glptt-", Word, 20, 400),
        rule("GitLab token", "glrt-", Dotted, 20, 400),
        rule("GitLab token", "glcbt-", Dotted, 20, 400),
        rule("AWS access key", "AKIA", Base32, 16, 16),
        rule("AWS access key", "ASIA", Base32, 16, 16),
        rule("Google API key", "AIza", Word, 35, 35),
        rule("Google token", "ya29.", Word, 40, 2048),
        rule("Google client secret", "GOCSPX-", Word, 28, 28),
        rule("Slack token", "xoxb-", Word, 24, 255),
        rule("Slack token", "xoxp-", Word, 24, 255),
        rule("Slack token", "xoxa-", Word, 24, 255),
        rule("Slack token", "xoxr-", Word, 24, 255),
        rule("Slack token", "xoxs-", Word, 24, 255),
        rule("Slack token", "xoxe-", Word, 24, 255),
        rule("Slack token", "xapp-", Word, 24, 255),
        rule("Stripe key", "sk_live_", Alphanumeric, 16, 255),
        rule("Stripe key", "sk_test_", Alphanumeric, 16, 255),
        rule("Stripe key", "rk_live_", Alphanumeric, 16, 255),
        rule("Stripe key", "rk_test_", Alphanumeric, 16, 255),
        rule("Stripe webhook secret", "whsec_", Base64, 24, 255),
        rule("OpenAI key", "sk-proj-", Word, 40, 400),
        rule("OpenAI key", "sk-svcacct-", Word, 40, 400),
        rule("OpenAI key", "sk-admin-", Word, 40, 400),
        rule("OpenAI key", "sk-", Alphanumeric, 40, 64),
        rule("Anthropic key", "sk-ant-", Word, 40, 255),
        rule("xAI key", "xai-", Alphanumeric, 60, 120),
        rule("Groq key", "gsk_", Alphanumeric, 40, 80),
        rule("Perplexity key", "pplx-", Alphanumeric, 40, 80),
        rule("Replicate token", "r8_", Alphanumeric, 37, 40),
        rule("Hugging Face token", "hf_", Alphanumeric, 34, 40),
        rule("npm token", "npm_", Alphanumeric, 36, 36),
        rule("PyPI token", "pypi-AgE", Word, 60, 1024),
        rule("RubyGems key", "rubygems_", Hex, 48, 48),
        rule("Docker token", "dckr_pat_", Word, 24, 80),
        rule("Docker token", "dckr_oat_", Word, 24, 80),
        rule("DigitalOcean token", "dop_v1_", Hex, 64, 64),
        rule("DigitalOcean token", "doo_v1_", Hex, 64, 64),
        rule("DigitalOcean token", "dor_v1_", Hex, 64, 64),
        rule("SendGrid key", "SG.", Dotted, 60, 80),
        rule("Shopify token", "shpat_", Hex, 32, 32),
        rule("Shopify token", "shpca_", Hex, 32, 32),
        rule("Shopify token", "shppa_", Hex, 32, 32),
        rule("Shopify token", "shpss_", Hex, 32, 32),
        rule("Vault token", "hvs.", Word, 24, 400),
        rule("Vault token", "hvb.", Word, 24, 600),
        rule("Databricks token", "dapi", Hex, 32, 32),
        rule("Grafana token", "glsa_", Word, 40, 80),
        rule("Grafana token", "glc_", Base64, 40, 600),
        rule("Linear key", "lin_api_", Alphanumeric, 40, 60),
        rule("Notion token", "ntn_", Alphanumeric, 40, 60),
        rule("Postman key", "PMAK-", Word, 50, 80),
        rule("New Relic key", "NRAK-", Alphanumeric, 27, 27),
        rule("Atlassian token", "ATATT3", Base64, 100, 400),
        rule("Tailscale key", "tskey-", Word, 20, 120),
        rule("age key", "AGE-SECRET-KEY-1", Alphanumeric, 58, 58),
        rule("Figma token", "figd_", Word, 36, 80),
        TokenRule {
            name: "JSON web token",
            begins: "eyJ",
            shape: Shape::Jwt,
        },
        TokenRule {
            name: "private key",
            begins: "-----BEGIN ",
            shape: Shape::Pem,
        },
    ]
};

impl TokenRule {
    /// The bytes with which such a token begins, as many as are indexed.
    pub(super) fn head(&self) -> &'static [u8] {
        self.begins.as_bytes()
    }

    /// Whether such a token may begin behind this byte. A web token is as long as its letters go
    /// on, so it begins only where they do: otherwise each of them would be read to the end.
    pub(super) fn may_begin_behind(&self, before: u8) -> bool {
        match self.shape {
            Shape::Run(..) | Shape::Pem => !before.is_ascii_alphanumeric(),
            Shape::Jwt => !Alphabet::Word.has(before),
        }
    }

    /// Looks at a text that begins where a token may.
    pub(super) fn look(&self, text: &[u8]) -> Looked {
        let begins = self.begins.as_bytes();
        let Some(rest) = text.strip_prefix(begins) else {
            return if begins.starts_with(text) {
                Looked::Perhaps
            } else {
                Looked::No
            };
        };
        match self.shape {
            Shape::Run(alphabet, least, most) => run(rest, alphabet, least..most + 1, begins.len()),
            Shape::Jwt => jwt(text),
            Shape::Pem => pem(text),
        }
    }
}

fn run(rest: &[u8], alphabet: Alphabet, lengths: Range<usize>, before: usize) -> Looked {
    let window = rest.get(..rest.len().min(lengths.end)).unwrap_or(rest);
    let length = window
        .iter()
        .take_while(|byte| alphabet.has(**byte))
        .count();
    let is_open = length == rest.len();
    if length < lengths.start {
        return if is_open { Looked::Perhaps } else { Looked::No };
    }
    if length >= lengths.end {
        return Looked::No;
    }
    let body = rest.get(..length).unwrap_or(rest);
    if !is_varied(body) {
        return if is_open { Looked::Perhaps } else { Looked::No };
    }
    // The dot that ends a sentence is no part of it.
    let dots = body.iter().rev().take_while(|byte| **byte == b'.').count();
    Looked::Token {
        bytes: before + length - dots,
        is_open,
    }
}

/// Whether enough different characters are in it.
fn is_varied(body: &[u8]) -> bool {
    let mut seen: Vec<u8> = Vec::with_capacity(DIFFERENT);
    for byte in body {
        if !seen.contains(byte) {
            seen.push(*byte);
            if seen.len() == DIFFERENT {
                return true;
            }
        }
    }
    false
}

fn jwt(text: &[u8]) -> Looked {
    /// Bytes of the shortest part of one.
    const LEAST: usize = 16;
    let text_len = text.len();
    let text = text.get(..text_len.min(LONGEST)).unwrap_or(text);
    let mut at = 0;
    for part in 0..3 {
        let rest = text.get(at..).unwrap_or_default();
        let begins = b"eyJ";
        if part < 2 && !rest.starts_with(begins) {
            let is_open = begins.starts_with(rest) && text.len() == text_len;
            return if is_open { Looked::Perhaps } else { Looked::No };
        }
        let length = rest
            .iter()
            .take_while(|byte| Alphabet::Word.has(**byte))
            .count();
        at += length;
        if at == text.len() && part < 2 {
            return if at == text_len {
                Looked::Perhaps
            } else {
                Looked::No
            };
        }
        if length < LEAST {
            let is_open = at == text_len;
            return if is_open { Looked::Perhaps } else { Looked::No };
        }
        if part < 2 {
            if text.get(at) != Some(&b'.') {
                return Looked::No;
            }
            at += 1;
        }
    }
    Looked::Token {
        bytes: at,
        is_open: at == text_len,
    }
}

fn pem(text: &[u8]) -> Looked {
    /// The kinds of keys have names of at most so many bytes.
    const TITLE: usize = 48;
    const KEY: &[u8] = b"PRIVATE KEY";
    const END: &[u8] = b"-----END ";
    const BLOCK: &[u8] = b" BLOCK";
    const DASHES: usize = 5;
    let title = text.get(..text.len().min(TITLE)).unwrap_or(text);
    let first = title.split(|byte| *byte == b'\n').next().unwrap_or(title);
    if memchr::memmem::find(first, KEY).is_none() {
        let is_open = first.len() == text.len() && text.len() < TITLE;
        return if is_open { Looked::Perhaps } else { Looked::No };
    }
    let within = text.get(..text.len().min(LONGEST)).unwrap_or(text);
    let end = memchr::memmem::find(within, END).map(|at| at + END.len());
    let behind = end.and_then(|end| {
        let rest = within.get(end..)?;
        let key = memchr::memmem::find(rest.get(..rest.len().min(TITLE)).unwrap_or(rest), KEY)?;
        let rest = rest.get(key + KEY.len()..)?;
        // Those of PGP end with a word more.
        let word = if rest.starts_with(BLOCK) {
            BLOCK.len()
        } else {
            0
        };
        let dashes = rest.iter().skip(word).take(DASHES);
        let dashes = dashes.take_while(|byte| **byte == b'-').count();
        let is_open = BLOCK.starts_with(rest) || dashes < DASHES && word + dashes == rest.len();
        Some((end + key + KEY.len() + word + dashes, is_open))
    });
    if let Some((bytes, is_open)) = behind {
        return Looked::Token { bytes, is_open };
    }
    // Which key it is that ends here is not told yet.
    let ends_soon = end.is_some_and(|end| {
        let rest = text.get(end..).unwrap_or_default();
        rest.len() < TITLE && !rest.contains(&b'\n')
    });
    // Its end is not there (yet): what follows the title in lines that may belong to it.
    let mut bytes = first.len();
    let mut has_body = false;
    for line in within
        .get(bytes..)
        .unwrap_or_default()
        .split_inclusive(|byte| *byte == b'\n')
    {
        let content = line.trim_ascii();
        let is_body = content.iter().all(|byte| Alphabet::Base64.has(*byte));
        let is_header = content.len() < 100 && memchr::memmem::find(content, b": ").is_some();
        if !is_body && !is_header {
            break;
        }
        has_body |= is_body && content.len() >= 32;
        if has_body && content.is_empty() {
            break;
        }
        bytes += line.len();
    }
    let is_open = bytes >= text.len() || ends_soon;
    if !has_body {
        return if is_open { Looked::Perhaps } else { Looked::No };
    }
    let kept = within.get(..bytes).unwrap_or(within).trim_ascii_end().len();
    Looked::Token {
        bytes: kept,
        is_open,
    }
}
