//! What is a secret, and how one is carried on in a script: files, variables, programs that print
//! one.

use super::concern::ProgramCall;
use super::pipelines::{feeds, holds, near};
use super::{Decision, options};
use crate::script::{Assigned, RedirectOperator, Script, SimpleCommand, Word, WordPart};

/// Parts of paths whose files are keys: nobody sends them by mistake.
const KEYS: &[&str] = &[
    "/.ssh/id_",
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    "/.aws/credentials",
    "/.gnupg",
    "/.kube/config",
    "/etc/shadow",
    "/.git-credentials",
    "/.netrc",
    "/.vault-token",
    "/.azure/",
    "/.config/gcloud",
    "/.docker/config.json",
    "/.config/gh/hosts",
    "/.password-store",
    "/etc/gshadow",
    "/.bitcoin",
    "wallet.dat",
    "/.ethereum",
    "/.electrum",
    "/.config/solana",
    "Login Data",
    "logins.json",
    "key4.db",
    "/.pgpass",
    "/.my.cnf",
    "/.terraform.d/credentials",
    "/.aws",
    "/.ssh",
    "/.kube",
    "/.gnupg",
    "/etc/ssh/ssh_host_",
    "/etc/kubernetes/admin.conf",
    "/serviceaccount/token",
    "/.config/op",
    "/Default/Cookies",
    ".mozilla/firefox",
    "/Keychains/",
];

/// Parts of paths whose files often hold secrets.
const SECRETS: &[&str] = &[
    "/.npmrc",
    "/.pypirc",
    ".env",
    "id_rsa",
    "id_ed25519",
    "id_*",
    ".pem",
    "/.bash_history",
    "/.zsh_history",
    "credentials.json",
    "service-account.json",
    "secrets.y",
    "/etc/passwd",
    ".tfstate",
    ".kdbx",
    ".p12",
    "/.cargo/credentials",
    "/.gem/credentials",
    "secrets.json",
    ".tfvars",
    "authorized_keys",
];

/// Variables that are secrets by their names, wherever they go but into a header.
pub(super) const VARIABLES: &[&str] = &[
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "SSH_PRIVATE_KEY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "NPM_TOKEN",
];

/// Of these, those that sign in nowhere as they are: they are keys to sign with.
pub(super) const SIGNING: &[&str] = &["AWS_SECRET_ACCESS_KEY", "SSH_PRIVATE_KEY"];

/// Programs that print a secret: the program, and words that follow it.
const TELLING: &[(&str, &[&str])] = &[
    ("gh", &["auth", "token"]),
    ("aws", &["configure", "export-credentials"]),
    ("aws", &["secretsmanager", "get-secret-value"]),
    ("kubectl", &["get", "secret"]),
    ("kubectl", &["get", "secrets"]),
    ("kubectl", &["config", "view", "--raw"]),
    ("gcloud", &["auth", "print-access-token"]),
    ("az", &["account", "get-access-token"]),
    ("vault", &["kv", "get"]),
    ("vault", &["read"]),
    ("op", &["read"]),
    ("pass", &["show"]),
    ("security", &["find-generic-password"]),
    ("security", &["find-internet-password"]),
    ("aws", &["sts", "get-session-token"]),
    ("aws", &["sts", "assume-role"]),
    ("git", &["credential", "fill"]),
    ("secret-tool", &["lookup"]),
    ("keyring", &["get"]),
    ("bw", &["get"]),
    ("doppler", &["secrets"]),
    ("az", &["keyvault", "secret", "show"]),
    ("gcloud", &["secrets", "versions", "access"]),
];

fn tells_token(command: &SimpleCommand) -> bool {
    let is_it = |(name, words): &(&str, &[&str])| {
        let mut given = command.arguments().iter().filter_map(Word::known);
        command.name() == Some(name) && words.iter().all(|word| given.any(|given| given == *word))
    };
    TELLING.iter().any(is_it)
}

/// What a path gives away.
pub(super) fn of_path(word: &Word) -> Decision {
    let has_sign = |part: &WordPart| match part {
        WordPart::Text(text) | WordPart::Glob(text) => {
            memchr::memchr3(b'.', b'/', b'_', text.as_bytes()).is_some() || text.contains(' ')
        }
        _ => false,
    };
    if !word.parts.iter().any(has_sign) {
        return Decision::Allow;
    }
    let mut text = String::new();
    for part in &word.parts {
        match part {
            WordPart::Text(known) | WordPart::Glob(known) => text.push_str(known),
            WordPart::Tilde(_) | WordPart::Variable { .. } => text.push('~'),
            WordPart::Unknown { .. } => text.push(' '),
        }
    }
    // A path that begins here may be in a home: `cd; curl -d @.aws/credentials`.
    for sign in ["@", "="] {
        text = text.replace(&format!("{sign}."), &format!("{sign}/."));
    }
    if text.starts_with('.') {
        text.insert(0, '/');
    }
    let extension = text.rsplit('.').next();
    if extension == Some("pub")
        || text.contains(" -i ")
        || text.contains(".example")
        || text.contains(".sample")
        || text.contains("known_hosts")
        || text.ends_with(".ssh/config")
    {
        return Decision::Allow;
    }
    if text.contains("/proc/") && text.ends_with("/environ") {
        return Decision::Ask;
    }
    if KEYS.iter().any(|key| text.contains(key)) {
        return Decision::Deny;
    }
    Decision::ask_if(SECRETS.iter().any(|secret| match *secret {
        ".env" => {
            let file = text.rsplit(['/', '@', '=']).next().unwrap_or_default();
            file == ".env" || file.starts_with(".env.") || file.rsplit('.').next() == Some("env")
        }
        secret => text.contains(secret),
    }))
}

/// `cp ~/.ssh/id_rsa /var/www/html`: a key where a web server shows it to everybody.
pub(super) fn shows_key(call: &ProgramCall<'_>) -> Decision {
    let places = ["/var/www", "/srv/www", "/srv/http", "/usr/share/nginx"];
    let is_shown = |word: &Word| {
        let text = word.known_beginning();
        places.iter().any(|place| text.starts_with(place))
    };
    let words = call.words;
    let is_key = |word: &Word| of_path(word) == Decision::Deny;
    Decision::ask_if(words.last().is_some_and(is_shown) && words.iter().any(is_key))
}

/// Whether a text, such as code, names a file of keys.
pub(super) fn names_key(text: &str) -> bool {
    let in_code = ["/.npmrc", "/.pypirc", "/.cargo/credentials"];
    let mut keys = KEYS.iter().chain(&in_code);
    keys.any(|key| text.contains(key)) && !text.contains(".pub")
}

/// Addresses at which a machine in a cloud is told its own credentials.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
    "100.100.100.200",
];

/// What a command gives away to who reads it.
pub(super) fn given_by(command: &SimpleCommand) -> Decision {
    let name = command.name().unwrap_or_default();
    let words = command.arguments();
    let tells_all = matches!(
        name,
        "env" | "printenv" | "set" | "export" | "declare" | "history"
    ) && words.len() <= 1
        && !words
            .iter()
            .any(|word| word.known().is_some_and(|text| !text.starts_with('-')));
    let begins = |word: &Word, text: &str| word.known_beginning().starts_with(text);
    let exports =
        matches!(name, "gpg" | "gpg2") && words.iter().any(|word| begins(word, "--export-secret"));
    let is_metadata = |word: &Word| {
        let text = word.known_beginning();
        METADATA.iter().any(|address| text.contains(address))
    };
    let fetches = matches!(name, "curl" | "wget" | "http" | "xh") && words.iter().any(is_metadata);
    let seeks = matches!(name, "grep" | "egrep" | "rg" | "ag" | "ack")
        && words.iter().any(|word| {
            let text = word.known_beginning();
            text.contains("AKIA") || text.contains("PRIVATE KEY")
        });
    let read = match name {
        "jq" | "echo" | "printf" | "wc" => Decision::Allow,
        _ => of_read(command),
    };
    read.max(Decision::ask_if(
        tells_all || fetches || seeks || tells_token(command),
    ))
    .max(Decision::deny_if(exports))
}

/// What the files give away that a command reads.
fn of_read(command: &SimpleCommand) -> Decision {
    let inputs = command.redirects.iter();
    let inputs = inputs.filter(|redirect| redirect.operator == RedirectOperator::Read);
    let words = command.arguments().iter();
    let words = words.chain(inputs.map(|redirect| &redirect.target));
    words.map(of_path).max().unwrap_or(Decision::Allow)
}

/// Most commands before the last one that sends something in which secrets are followed.
const MOST_FOLLOWED: usize = 1024;

/// Most variables and files that are followed.
const MOST_CARRIED: usize = 32;

/// What has taken up a secret on its way through a script.
#[derive(Default)]
pub(super) struct Carried<'a> {
    variables: Vec<&'a str>,
    files: Vec<&'a str>,
}

impl<'a> Carried<'a> {
    /// What carries a secret before the command with this index.
    pub(super) fn before(script: &'a Script, last: usize) -> Self {
        let mut carried = Self::default();
        let start = last.saturating_sub(MOST_FOLLOWED);
        // What stands inside a word of the last command may follow it in the list.
        let commands = script.commands.iter().enumerate().skip(start);
        for (at, command) in commands.take(MOST_FOLLOWED * 2) {
            if carried.variables.len() + carried.files.len() > MOST_CARRIED {
                break;
            }
            carried.assigned(script, at, command);
            if at < last {
                carried.written(script, at, command);
            }
        }
        carried
    }

    /// Whether a word has a part of what is carried.
    pub(super) fn is_in(&self, word: &Word) -> bool {
        let is_variable = |part: &WordPart| {
            let WordPart::Variable { name, .. } = part else {
                return false;
            };
            self.variables.contains(&name.as_str())
        };
        word.parts.iter().any(is_variable) || self.has_file(word)
    }

    fn has_file(&self, word: &Word) -> bool {
        if self.files.is_empty() {
            return false;
        }
        let text = word.literal_or_glob().unwrap_or_default();
        let path = text.rsplit(['@', '=', '<']).next().unwrap_or_default();
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let is_it = |file: &&str| {
            let file = file.trim_start_matches("./").trim_end_matches('/');
            file == path && !file.is_empty()
        };
        self.files.iter().any(is_it)
    }

    /// `k=$(cat KEY)`, `read k < KEY`
    fn assigned(&mut self, script: &'a Script, at: usize, command: &'a SimpleCommand) {
        for assignment in &command.assignments {
            let Assigned::Value(word) = &assignment.value else {
                continue;
            };
            let inner = |other: &&SimpleCommand| holds(word, other);
            let mut inner = near(script, at).iter().filter(inner);
            let gives = |other: &SimpleCommand| of_read(other) == Decision::Deny;
            if inner.any(gives) || self.is_in(word) {
                self.variables.push(&assignment.name);
            }
        }
        if matches!(command.name(), Some("read" | "mapfile" | "readarray"))
            && of_read(command) != Decision::Allow
        {
            let names = options::operands(command.arguments()).filter_map(Word::known);
            self.variables.extend(names);
        }
    }

    /// `cp KEY x`, `tar czf x ~/.ssh`, `base64 KEY > x`
    fn written(&mut self, script: &'a Script, at: usize, command: &'a SimpleCommand) {
        let name = command.name().unwrap_or_default();
        let copies = matches!(name, "cp" | "mv" | "install" | "ln" | "rsync");
        let packs = matches!(
            name,
            "tar" | "gtar" | "bsdtar" | "zip" | "7z" | "7za" | "rar" | "gpg" | "openssl" | "age"
        );
        let writes = command.redirects.iter().any(|it| it.operator.writes());
        if !copies && !packs && !writes && name != "tee" {
            return;
        }
        let own = || given_by(command) != Decision::Allow;
        let piped = || {
            let mut others = near(script, at).iter().filter(|it| feeds(it, command));
            others.any(|other| given_by(other) != Decision::Allow)
        };
        let carried = || command.arguments().iter().any(|word| self.is_in(word));
        if !(own() || piped() || carried()) {
            return;
        }
        let operands = || {
            let words = options::operands(command.arguments());
            words.filter(|word| of_path(word) == Decision::Allow)
        };
        if copies {
            self.files.extend(operands().last().and_then(Word::known));
        }
        if packs || name == "tee" {
            let is_name = |text: &&str| text.len() > 2 && text.contains(['.', '/']);
            self.files
                .extend(operands().filter_map(Word::known).filter(is_name));
        }
        let targets = command.redirects.iter().filter(|it| it.operator.writes());
        self.files
            .extend(targets.filter_map(|redirect| redirect.target.known()));
    }
}
