//! Names that are always kept: what somebody may look for in any tool's output. A line with one of
//! them is never noise, whatever its form; some of them are not even grouped.
//!
//! One list. Each entry says why, and has lines that it must find; a test runs them through every
//! filter.

use regex::{Regex, RegexSet};
use std::sync::LazyLock;

/// What the exact tier may do with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameStanding {
    /// It stands as it is, so that a search in what is shown finds it.
    Whole,
    /// It may stand below a heading, like any other line.
    Grouped,
}

/// A kind of names.
struct KeptNames {
    pattern: &'static str,
    standing: NameStanding,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers, and for the test"))]
    reason: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "the test reads them"))]
    cases: &'static [&'static str],
}

/// The list. Boundaries of words are those of ASCII: others would make every line with an accent
/// many times slower.
const NAMES: &[KeptNames] = &[
    KeptNames {
        pattern: r"(?ix) (?: ^ | [^a-z0-9] )
            (?: \.env (?: \.[\w.-]+ )? | \.envrc | id_(?: rsa | dsa | ecdsa | ed25519 ) | authorized_keys | known_hosts
              | \.ssh | \.aws | \.azure | \.gnupg | \.kube | kubeconfig | \.npmrc | \.pypirc | \.netrc | \.pgpass
              | \.git-credentials | \.htpasswd | \.dockercfg | \.docker/config\.json | \.vault[-_]?\w* | shadow
              | credentials? | secrets? | passwords? | passwd | passphrase | tokens? | api[_-]?keys?
              | private[_\ -]?keys? | service[-_]account | tfstate | wallet\.dat )
            (?: [^a-z0-9] | $ )
          | (?-u:\b) [\w-]* (?: secret | credential | password | passwd | apikey | privatekey ) [\w-]* (?-u:\b)
          | \. (?: pem | key | p12 | pfx | jks | keystore | kdbx | ppk | pgp | gpg | crt | cer | der | tfvars ) (?: [^a-z0-9] | $ )",
        standing: NameStanding::Whole,
        reason: "a credential that was packed, copied, deleted or shown is what a reader must learn first",
        cases: &[
            "npm notice 512B .env.production",
            "npm notice 1.7kB id_rsa",
            "  inflating: home/deploy/.ssh/authorized_keys",
            "   Compiling secrets-vault v0.1.0",
            "home/app/config/tls/server.pem",
            "./terraform.tfstate",
            "config/credentials.yml.enc",
            "Copying blob aws_secret_access_key.txt",
        ],
    },
    KeptNames {
        pattern: r"(?i)(?-u:\b)(CVE-\d{4}-\d+|GHSA(-[0-9a-z]{4}){3}|RUSTSEC-\d{4}-\d+|PYSEC-\d{4}-\d+|CWE-\d+)",
        standing: NameStanding::Whole,
        reason: "a known weakness by its number",
        cases: &[
            "npm warn deprecated request@2.88.2: CVE-2023-28155",
            "see GHSA-p6mc-m468-83gw",
            "RUSTSEC-2023-0071 in rsa",
        ],
    },
    KeptNames {
        pattern: r"[A-Za-z][A-Za-z0-9+.-]*://\S",
        standing: NameStanding::Grouped,
        reason: "where something came from, went to, or can be seen",
        cases: &[
            "✔ Deployed to https://shop.example.org",
            "Downloading from central: http://repo.example.org/a.jar",
            "ssh://git@example.org/x",
        ],
    },
    KeptNames {
        pattern: r"(?-u:\b)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?-u:\b)|(?i)(?-u:\b)[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]{2,}(?-u:\b)",
        standing: NameStanding::Grouped,
        reason: "a machine's or a person's address",
        cases: &["accepted 203.0.113.7:51332", "sent to ops@example.org"],
    },
    KeptNames {
        pattern: r"(?-u:\b)remote: |(?-u:\b)(SKIPPED|NO-SOURCE|DRY[- ]RUN|XFAIL|XPASS)(?-u:\b)|(?i)(?-u:\b)(dry[- ]run|0 of \d|(?:0|no|none) (?:tests?|files?|rows?|packages?|targets?|matches) |nothing to)",
        standing: NameStanding::Whole,
        reason: "something did not happen, or another machine says something",
        cases: &[
            "remote: This deploy key will be removed",
            "> Task :integrationTest SKIPPED",
            "> Task :processResources NO-SOURCE",
            "[1/3] 0 of 48,112 rows",
            "make: Nothing to be done for 'all'.",
            "-- Looking for tests - no tests found",
        ],
    },
    KeptNames {
        pattern: r"(?i)(?-u:\b)skipp(?:ed|ing)(?-u:\b)",
        standing: NameStanding::Grouped,
        reason: "something did not happen, in a program's own words",
        cases: &[
            "skipped tenant-18: locked by migration 0042",
            "Skipping b.py",
        ],
    },
    KeptNames {
        pattern: r"(?:^|\s)[dlcbps-][rwxsStT-]{9}[+.@]?\s|(?i)(?-u:\b)(?:rm|rmdir|unlink|chmod|chown|sudo|setuid|setfacl|mkfs|dd|truncate|shred)(?-u:\b) |(?-u:\b)(?:delet|remov|dropp|eras|purg|overwrit|uninstall|wip(?:ed|ing))\w*|mode 1\d{5}",
        standing: NameStanding::Grouped,
        reason: "what may be read, and what is gone",
        cases: &[
            "-rwsr-xr-x root/root 1024 2026-01-01 00:00 bin/su",
            "rm -rf build/*",
            "✔ Dropped table customers",
            "Removing intermediate container 1a2b",
            " create mode 100755 deploy.sh",
            "deleting old/photos/1.jpg",
        ],
    },
    KeptNames {
        pattern: r"(?-u:\b)v?\d+(?:\.\d+)+\S* (?:->|=>|→) |\[\S*\d\S*\] \(\S*\d|(?i)(?-u:\b)(?:upgrad|downgrad)\w*|(?-u:\b)over \(|^(?:Inst|Conf|Remv) ",
        standing: NameStanding::Grouped,
        reason: "the versions of a plan to install or upgrade",
        cases: &[
            "    Updating serde v1.0.1 -> v1.0.2",
            "Inst openssl [3.0.11-1] (3.0.15-1 Debian:12 [amd64])",
            "Unpacking libc6 (2.36-9) over (2.36-8) ...",
            "  - Downgrading flask (3.0 -> 2.3)",
        ],
    },
    KeptNames {
        pattern: r"(?i)(?-u:\b)(?:certificates?|expir\w*|not ?after|issuer|self[- ]signed|verif(?:y|ied|ication)\w*|signatures?|fingerprint|untrusted|insecure|subject(?:alt)?)(?-u:\b)|(?i)(?-u:\b)(?:ssl|tls|gpg)(?-u:\b)",
        standing: NameStanding::Grouped,
        reason: "whether the other end is who it says, and until when",
        cases: &[
            "*  expire date: Jan  1 00:00:00 2020 GMT",
            "*  SSL certificate verify result: self-signed certificate (18), continuing anyway.",
            "*  issuer: CN=Example CA",
        ],
    },
];

/// The patterns of the list, and those whose lines stand whole.
struct NamePatterns {
    all: RegexSet,
    whole: Option<Regex>,
}

static PATTERNS: LazyLock<Option<NamePatterns>> = LazyLock::new(|| {
    Some(NamePatterns {
        all: RegexSet::new(NAMES.iter().map(|names| names.pattern)).ok()?,
        whole: Some(Regex::new(&whole_pattern()).ok()?),
    })
});

/// The pattern of every line that must stand whole.
pub(crate) fn whole_pattern() -> String {
    let whole = NAMES
        .iter()
        .filter(|names| names.standing == NameStanding::Whole)
        .map(|names| format!("(?:{})", names.pattern));
    whole.collect::<Vec<_>>().join("|")
}

/// Whether a line has a name that is always kept: it is never noise.
pub(crate) fn has_kept_name(line: &str) -> bool {
    PATTERNS
        .as_ref()
        .is_none_or(|patterns| patterns.all.is_match(line))
}

/// Whether it has one that must stand whole: the exact tier does not touch it.
pub(crate) fn is_kept(line: &str) -> bool {
    PATTERNS.as_ref().is_none_or(|patterns| {
        patterns
            .whole
            .as_ref()
            .is_none_or(|whole| whole.is_match(line))
    })
}

/// The cases of the list, for tests of the filters.
#[cfg(test)]
pub(crate) fn cases() -> impl Iterator<Item = &'static str> {
    NAMES.iter().flat_map(|names| names.cases.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_finds_its_cases_and_says_why() {
        assert!(PATTERNS.is_some(), "the patterns are right");
        for names in NAMES {
            assert!(!names.reason.is_empty() && !names.cases.is_empty());
            let pattern = Regex::new(names.pattern).unwrap();
            for case in names.cases {
                assert!(pattern.is_match(case), "{case}");
                assert!(has_kept_name(case), "{case}");
                if names.standing == NameStanding::Whole {
                    assert!(is_kept(case), "{case}");
                }
            }
        }
    }

    /// Such a boundary makes the search many times slower, on every line that is not all ASCII.
    #[test]
    fn boundaries_of_words_are_those_of_ascii() {
        for names in NAMES {
            let others = names.pattern.replace(r"(?-u:\b)", "");
            assert!(!others.contains(r"\b"), "{}", names.pattern);
        }
    }

    #[test]
    fn plain_progress_has_none() {
        for line in [
            "   Compiling serde v1.0.0",
            "test parse::numbers ... ok",
            "tests/test_keys.py::test_keyboard PASSED [ 10%]",
            "Collecting requests",
            "[ 10%] Building C object CMakeFiles/app.dir/src/a.c.o",
            "  50K .......... .......... 12% 3.2M 1s",
        ] {
            assert!(!has_kept_name(line), "{line}");
        }
    }
}
