//! `no_hidden_script`: a script, a command's name or a target that is decoded only when it runs.

use super::code_parts::{CodeParts, code_has};
use super::concern::{Sign, Sought, WholeConcern};
use super::options::{has_short, is_long, operands};
use super::paths::Path;
use super::pipelines::{
    INTERPRETERS, RUNNERS, SHELLS, feeds, has_unknown, holds, is_interpreter, is_shell,
    is_substituted, may_run, near, runs_input,
};
use super::{Decision, Rule, RuleJudge, trees};
use crate::script::{
    CommandOrigin, Redirect, RedirectOperator, Script, SimpleCommand, Span, Word, WordPart,
};

pub(super) const RULE: Rule = Rule {
    name: "no_hidden_script",
    denies: "asks about text that is decoded and then run: base64 -d | sh, eval \"$(… | rev)\", bash <&3; denies $x -rf /",
    message: "this hides what it runs",
    instead: "Decode it into a file, read it, then run it",
    example: "echo cm0gLXJmIC8= | base64 -d | sh",
    judge: RuleJudge::Whole(WholeConcern {
        names: &[&SHELLS, &INTERPRETERS, RUNNERS, &["python3.*", "rm", "git"]],
        signs: &[Sign::HiddenName],
        judge,
    }),
};

/// Programs that change a text as it passes.
const CHANGERS: &[&str] = &[
    "rev", "tr", "sed", "awk", "gawk", "cut", "fold", "paste", "perl", "python3", "python", "head",
    "tail", "tac", "xargs", "grep", "egrep", "fgrep", "sort", "uniq", "jq", "yq", "iconv", "fmt",
    "column", "envsubst", "m4", "ruby", "php", "node", "dd",
];

/// Programs that print the text that they are given.
const PRINTERS: &[&str] = &["echo", "printf"];

fn judge(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let hidden_name = sought.commands().find_map(|(_, command)| of_name(command));
    if hidden_name.is_some_and(|(decision, _)| decision == Decision::Deny) {
        return hidden_name;
    }
    let mut commands = sought.commands();
    let found = commands.find(|(at, command)| hides(near(script, *at), command));
    let found = found.map(|(_, command)| (Decision::Ask, command.span));
    found.or(hidden_name)
}

/// Whether a command runs, or removes, what others near it decode.
fn hides(near: &[SimpleCommand], command: &SimpleCommand) -> bool {
    if command.name() == Some("git") {
        return super::git_settings::has_outside_program(near, command);
    }
    if reads_descriptor(command)
        || takes_opened_input(near, command)
        || runs_decoded_code(command)
        || runs_decoded_file(near, command)
    {
        return true;
    }
    if may_run(command) {
        let runs = runs_input(command);
        let is_fed = |source: &&SimpleCommand| {
            runs && feeds(source, command) || is_substituted(source, command)
        };
        let sources: Vec<&SimpleCommand> = near.iter().filter(is_fed).collect();
        // A changer hides only what is already in the text: a list of files is not a script.
        let has_text = || {
            let mut all = sources.iter();
            all.any(|source| prints_text(source) || here_string(source))
        };
        let decoded = sources
            .iter()
            .any(|source| decodes(source) || prints_decoded(source));
        return decoded || sources.iter().any(|source| is_changer(source)) && has_text();
    }
    let is_inside = |word: &Word, of: fn(&SimpleCommand) -> bool| {
        let mut near = near.iter();
        has_unknown(word) && near.any(|inner| of(inner) && holds(word, inner))
    };
    let name_is_hidden = command.words.first().is_some_and(|word| {
        // A name that is worked out is known, but nobody decodes one without a reason.
        let is_decoded = is_inside(word, |inner| decodes(inner) || is_changer(inner));
        is_decoded || word.known().is_none() && is_inside(word, prints_text)
    });
    let is_target = || {
        is_removal(command)
            && command
                .arguments()
                .iter()
                .any(|word| is_inside(word, decodes))
    };
    name_is_hidden || is_target()
}

/// `python3 -c "exec(base64.b64decode('…'))"`
fn runs_decoded_code(command: &SimpleCommand) -> bool {
    let is_code = command
        .name()
        .is_some_and(|name| is_interpreter(name) && !is_shell(name));
    is_code
        && code_has(
            command,
            const {
                &CodeParts::new(&[
                    "b64decode",
                    "decode_base64",
                    "base64_decode",
                    "'base64')",
                    "\"base64\")",
                    "atob(",
                    "fromhex(",
                    "unhexlify(",
                    "Base64.decode64",
                    "rot13",
                    "zlib.decompress",
                ])
            },
        )
        && code_has(
            command,
            const {
                &CodeParts::new(&[
                    "exec(",
                    "eval(",
                    "eval ",
                    "os.system(",
                    "subprocess.",
                    "execSync(",
                    "new Function",
                ])
            },
        )
}

/// `base64 -d x > y && sh y`: what is decoded into a file and then run, unread.
fn runs_decoded_file(near: &[SimpleCommand], command: &SimpleCommand) -> bool {
    let is_shell = command
        .name()
        .is_some_and(|name| is_shell(name) || matches!(name, "source" | "."));
    let Some(file) = operands(command.arguments()).next().and_then(Word::known) else {
        return false;
    };
    is_shell
        && near.iter().any(|other| {
            let mut written = other.redirects.iter();
            let writes = |redirect: &Redirect| {
                redirect.operator.writes() && redirect.target.known() == Some(file)
            };
            other.span.start < command.span.start && decodes_text(other) && written.any(writes)
        })
}

/// `bash <&3`, `bash /dev/fd/3`: what an earlier command has opened.
fn reads_descriptor(command: &SimpleCommand) -> bool {
    let is_shell = command.name().is_some_and(is_shell);
    let is_high = |text: &str| matches!(text.parse::<u8>(), Ok(3..));
    let by_redirect = command.redirects.iter().any(|redirect| {
        redirect.operator == RedirectOperator::DuplicateInput
            && matches!(redirect.descriptor.as_deref(), None | Some("0"))
            && redirect.target.known().is_some_and(is_high)
    });
    let by_name = || {
        let first = operands(command.arguments()).next().and_then(Word::known);
        let number = first.and_then(|path| {
            path.strip_prefix("/dev/fd/")
                .or_else(|| path.strip_prefix("/proc/self/fd/"))
        });
        number.is_some_and(is_high)
    };
    is_shell && (by_redirect || by_name())
}

fn here_string(command: &SimpleCommand) -> bool {
    command
        .redirects
        .iter()
        .any(|redirect| redirect.operator == RedirectOperator::HereString)
}

/// `exec < FILE; bash`: a shell runs what an earlier command has made everybody's input.
fn takes_opened_input(near: &[SimpleCommand], command: &SimpleCommand) -> bool {
    use RedirectOperator::{HereDoc, HereString, Read};
    let is_input = |redirect: &Redirect| {
        matches!(redirect.operator, HereDoc | HereString | Read)
            && matches!(redirect.descriptor.as_deref(), None | Some("0"))
    };
    let opens = |other: &&SimpleCommand| {
        other.name() == Some("exec")
            && other.arguments().is_empty()
            && other.span.end <= command.span.start
    };
    command.name().is_some_and(is_shell)
        && runs_input(command)
        && !command.place.reads_pipe
        && !command.redirects.iter().any(is_input)
        && near
            .iter()
            .filter(opens)
            .any(|other| other.redirects.iter().any(is_input))
}

/// `python3 -c 'print(chr(114)+"m")'`: code that makes a text out of what does not look like it.
fn prints_decoded(command: &SimpleCommand) -> bool {
    let is_code = |name: &str| is_interpreter(name) && !is_shell(name);
    command.name().is_some_and(is_code)
        && code_has(
            command,
            const {
                &CodeParts::new(&[
                    "chr(",
                    "(chr,",
                    "fromCharCode",
                    "\\x7",
                    "\\x6",
                    "\\u0",
                    "[::-1]",
                    ".reverse",
                    "b64decode",
                    "decode_base64",
                    "base64_decode",
                    "atob(",
                    "fromhex(",
                    "unhexlify(",
                    "pack(",
                    "%c%",
                ])
            },
        )
}

/// Whether a command turns an encoded text into a plain one.
fn decodes(command: &SimpleCommand) -> bool {
    let words = command.arguments();
    let has = |letters: &str, longs: &[&str]| {
        words.iter().any(|word| {
            has_short(word, letters, "") || longs.iter().any(|long| is_long(word, long, 3))
        })
    };
    let says = |functions: &[&str]| {
        let mut texts = words.iter().filter_map(Word::known);
        texts.any(|text| {
            let text = text.to_ascii_lowercase();
            functions.iter().any(|function| text.contains(function))
        })
    };
    match command.name() {
        Some("base64" | "base32" | "basenc" | "gbase64") => has("dD", &["decode"]),
        Some("xxd") => has("r", &["revert"]),
        Some("openssl") => words.iter().any(|word| word.is("-d")),
        Some(
            "uudecode" | "gunzip" | "zcat" | "bzcat" | "xzcat" | "bunzip2" | "unxz" | "brotli"
            | "dc",
        ) => true,
        Some("gzip" | "bzip2" | "xz" | "zstd") => has("d", &["decompress"]),
        Some("gpg" | "gpg2") => has("d", &["decrypt"]),
        // Languages with functions that make a text of numbers or digits.
        Some("jq" | "gojq" | "yq") => says(&["@base64d", "implode"]),
        Some("sqlite3" | "psql" | "mysql" | "mariadb" | "duckdb") => says(&[
            "char(",
            "chr(",
            "decode(",
            "unhex(",
            "from_base64",
            "from_hex",
        ]),
        _ => false,
    }
}

/// Of those, what nobody does with a file that was only packed.
fn decodes_text(command: &SimpleCommand) -> bool {
    let name = command.name();
    decodes(command)
        && matches!(
            name,
            Some("base64" | "base32" | "basenc" | "xxd" | "openssl")
        )
}

fn is_changer(command: &SimpleCommand) -> bool {
    command.name().is_some_and(|name| CHANGERS.contains(&name))
}

fn prints_text(command: &SimpleCommand) -> bool {
    let has_text = || {
        command
            .arguments()
            .iter()
            .any(|word| !word.known_beginning().is_empty())
    };
    command.name().is_some_and(|name| PRINTERS.contains(&name)) && has_text()
}

fn is_removal(command: &SimpleCommand) -> bool {
    let recursive = |word: &Word| has_short(word, "rR", "") || is_long(word, "recursive", 1);
    matches!(command.name(), Some("rm")) && command.arguments().iter().any(recursive)
}

/// `$X -rf /`: nobody but rm has such words.
fn of_name(command: &SimpleCommand) -> Option<(Decision, Span)> {
    let first = command.words.first()?;
    let is_hidden = |part: &WordPart| {
        matches!(
            part,
            WordPart::Unknown { .. } | WordPart::Variable { .. } | WordPart::Glob(_)
        )
    };
    if first.known().is_some()
        || command.origin != CommandOrigin::Written
        || !first.parts.iter().any(is_hidden)
    {
        return None;
    }
    let words = command.arguments();
    let has = |letters: &str| words.iter().any(|word| has_short(word, letters, ""));
    let removes = has("rR") && has("f");
    let target = operands(words).any(|word| trees::is_tree(&Path::of(word)));
    let to_device = words.iter().any(|word| {
        let target = word.known_beginning().strip_prefix("of=");
        target.is_some_and(super::no_dd_to_device::is_device)
    });
    (removes && target || to_device).then_some((Decision::Deny, command.span))
}
