//! The read-only subcommands of git, one row each.

use super::git_options::{BLAME, CONFIG, DIFF, GREP, LOG, LS, NAMES, REFS, STATUS, TRAILERS};
use super::options::{FoundOptions, Long, Number, Operands, Options, Short};

/// Checks what was found; the error is the accepted form.
pub(super) type FormCheck = fn(&FoundOptions<'_>) -> Result<(), &'static str>;

/// A subcommand that may run.
pub(super) struct GitSubcommand {
    pub(super) name: &'static str,
    pub(super) options: Options,
    /// What is inserted after the subcommand (and after its verb, as in `stash show`), so that no
    /// program of the repository's choice is started.
    pub(super) inserted: &'static [&'static str],
    /// A further check; it returns the accepted form if it fails.
    pub(super) form: Option<FormCheck>,
}

const NO_PROGRAMS: &[&str] = &["--no-ext-diff", "--no-textconv"];
const NO_PROGRAMS_IN_SUBMODULES: &[&str] = &[
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=dirty",
];

const fn short(flags: &'static str, valued: &'static str, attached: &'static str) -> Short {
    Short::Only {
        flags,
        valued,
        attached,
        number: Number::Refused,
    }
}

/// The one-letter options of `log` and `diff`, which accept a count such as `-5`.
const REVISIONS: Short = Short::Only {
    flags: "pusRzatbwWmcirgEFPqv",
    valued: "nSGLUlIO",
    attached: "MCBDX",
    number: Number::Allowed,
};

const fn options(short: Short, long: &'static [&'static [&'static str]]) -> Options {
    Options {
        short,
        long: Long::Only(long),
        operands: Operands::Any,
    }
}

const fn row(
    name: &'static str,
    options: Options,
    inserted: &'static [&'static str],
) -> GitSubcommand {
    GitSubcommand {
        name,
        options,
        inserted,
        form: None,
    }
}

const fn row_with_form(name: &'static str, options: Options, form: FormCheck) -> GitSubcommand {
    GitSubcommand {
        name,
        options,
        inserted: &[],
        form: Some(form),
    }
}

/// Every row. The order is that in which a refusal lists them.
pub(super) const SUBCOMMANDS: &[GitSubcommand] = &[
    row(
        "status",
        options(short("svbz", "", "uM"), &[STATUS]),
        &["--ignore-submodules=dirty"],
    ),
    row("log", options(REVISIONS, &[LOG, DIFF]), NO_PROGRAMS),
    row(
        "diff",
        options(REVISIONS, &[DIFF, &["no-index"]]),
        NO_PROGRAMS_IN_SUBMODULES,
    ),
    row("show", options(REVISIONS, &[LOG, DIFF]), NO_PROGRAMS),
    row(
        "blame",
        options(short("cbslteftnwpk", "LS", "MC"), &[BLAME]),
        &["--no-textconv"],
    ),
    row(
        "annotate",
        options(short("cbslteftnwpk", "LS", "MC"), &[BLAME]),
        &["--no-textconv"],
    ),
    row("grep", options(GREP_LETTERS, &[GREP]), &["--no-textconv"]),
    row(
        "ls-files",
        options(short("cdmoistkuvzf", "xX", ""), &[LS]),
        &[],
    ),
    row("ls-tree", options(short("drtlz", "", ""), &[LS]), &[]),
    row("rev-parse", REV_PARSE, &[]),
    row("rev-list", options(REVISIONS, &[LOG, DIFF]), &[]),
    row("describe", options(short("", "", ""), &[NAMES]), &[]),
    row(
        "shortlog",
        options(short("nsecipqgEFP", "", "w"), &[NAMES, LOG]),
        &[],
    ),
    row("cat-file", options(short("tspezZ", "", ""), &[NAMES]), &[]),
    row("merge-base", options(short("a", "", ""), &[NAMES]), &[]),
    row("name-rev", options(short("", "", ""), &[NAMES]), &[]),
    row("for-each-ref", options(short("sp", "", ""), &[REFS]), &[]),
    row("show-ref", options(short("dqs", "", ""), &[REFS]), &[]),
    row(
        "diff-tree",
        options(REVISIONS, &[LOG, DIFF, &["no-commit-id", "root", "always"]]),
        NO_PROGRAMS_IN_SUBMODULES,
    ),
    row(
        "diff-index",
        options(REVISIONS, &[DIFF]),
        NO_PROGRAMS_IN_SUBMODULES,
    ),
    row(
        "diff-files",
        options(REVISIONS, &[DIFF]),
        NO_PROGRAMS_IN_SUBMODULES,
    ),
    row("whatchanged", options(REVISIONS, &[LOG, DIFF]), NO_PROGRAMS),
    row("cherry", options(short("v", "", ""), &[NAMES]), &[]),
    row(
        "check-ignore",
        options(short("qvnz", "", ""), &[NAMES]),
        &[],
    ),
    row("count-objects", options(short("vH", "", ""), &[NAMES]), &[]),
    row("verify-pack", options(short("vs", "", ""), &[NAMES]), &[]),
    row(
        "version",
        options(short("", "", ""), &[&["build-options"]]),
        &[],
    ),
    row(
        "range-diff",
        options(REVISIONS, &[LOG, DIFF, RANGE_DIFF]),
        NO_PROGRAMS,
    ),
    row("var", options(short("l", "", ""), &[]), &[]),
    // Without -w nothing is written.
    row(
        "hash-object",
        options(
            short("", "t", ""),
            &[&["stdin", "stdin-paths", "path=", "no-filters", "literally"]],
        ),
        &[],
    ),
    row(
        "patch-id",
        options(short("", "", ""), &[&["stable", "unstable", "verbatim"]]),
        &[],
    ),
    row(
        "check-mailmap",
        options(
            short("", "", ""),
            &[&["stdin", "mailmap-file=", "mailmap-blob="]],
        ),
        &[],
    ),
    row(
        "check-ref-format",
        options(
            short("", "", ""),
            &[&["branch", "normalize", "allow-onelevel", "refspec-pattern"]],
        ),
        &[],
    ),
    row(
        "stripspace",
        options(short("sc", "", ""), &[&["strip-comments", "comment-lines"]]),
        &[],
    ),
    row(
        "show-branch",
        options(short("ar", "", "g"), &[SHOW_BRANCH]),
        &[],
    ),
    row(
        "check-attr",
        options(
            short("az", "", ""),
            &[&["all", "cached", "stdin", "source="]],
        ),
        &[],
    ),
    // With --lost-found it writes.
    row("fsck", options(short("v", "", ""), &[FSCK]), &[]),
    row_with_form(
        "symbolic-ref",
        options(short("q", "", ""), &[&["short", "quiet", "recurse"]]),
        symbolic_ref,
    ),
    row_with_form("notes", options(short("", "", ""), &[&["ref="]]), notes),
    row_with_form("bisect", options(short("", "", ""), &[]), bisect),
    row_with_form(
        "submodule",
        options(short("q", "", ""), &[&["cached", "recursive", "quiet"]]),
        submodule,
    ),
    row_with_form(
        "branch",
        options(short("arvliq", "", ""), &[REFS]),
        list_of_branches,
    ),
    row_with_form("tag", options(short("li", "", "n"), &[REFS]), list_of_tags),
    row_with_form(
        "remote",
        options(short("vn", "", ""), &[&["verbose", "all", "push"]]),
        remote,
    ),
    row_with_form(
        "ls-remote",
        options(short("", "", ""), &[&["get-url"]]),
        |found| {
            accept(
                found.has_any(&["--get-url"]) && !found.has_any(&["--no-get-url"]),
                "git ls-remote --get-url",
            )
        },
    ),
    row_with_form(
        "sparse-checkout",
        options(short("", "", ""), &[]),
        |found| {
            accept(
                found.first_operand() == Some("list"),
                "git sparse-checkout list",
            )
        },
    ),
    row_with_form(
        "bundle",
        options(short("q", "", ""), &[&["quiet"]]),
        |found| {
            accept(
                matches!(found.first_operand(), Some("verify" | "list-heads")),
                "git bundle verify FILE, git bundle list-heads FILE",
            )
        },
    ),
    GitSubcommand {
        inserted: NO_PROGRAMS,
        ..row_with_form(
            "stash",
            options(
                REVISIONS,
                &[LOG, DIFF, &["include-untracked", "only-untracked"]],
            ),
            stash,
        )
    },
    row("show-index", options(short("", "", ""), &[NAMES]), &[]),
    row("get-tar-commit-id", options(short("", "", ""), &[]), &[]),
    // Otherwise it runs the commands that the configuration has for trailers.
    row_with_form(
        "interpret-trailers",
        options(short("", "", ""), &[TRAILERS]),
        |found| {
            let reads = found.has_any(&["--parse", "--only-input"]);
            let is_taken_back = found.has_any(&["--no-parse", "--no-only-input"]);
            accept(reads && !is_taken_back, "git interpret-trailers --parse")
        },
    ),
    row_with_form(
        "archive",
        options(short("l", "", ""), &[&["list"]]),
        |found| {
            let lists = found.has_any(&["--list", "-l"]) && !found.has_any(&["--no-list"]);
            accept(lists, "git archive --list")
        },
    ),
    row_with_form("config", options(short("lz", "f", ""), &[CONFIG]), config),
    row_with_form("reflog", options(REVISIONS, &[LOG, DIFF]), reflog),
    row_with_form("worktree", options(short("vz", "", ""), &[NAMES]), worktree),
];

/// What `range-diff` has besides.
const RANGE_DIFF: &[&str] = &[
    "creation-factor=",
    "dual-color",
    "left-only",
    "right-only",
    "notes",
];

const SHOW_BRANCH: &[&str] = &[
    "all",
    "remotes",
    "current",
    "topo-order",
    "date-order",
    "sparse",
    "list",
    "independent",
    "merge-base",
    "more=",
    "reflog",
    "topics",
    "sha1-name",
    "name",
    "color",
];

const FSCK: &[&str] = &[
    "unreachable",
    "dangling",
    "root",
    "tags",
    "cache",
    "reflogs",
    "full",
    "strict",
    "verbose",
    "progress",
    "connectivity-only",
    "name-objects",
    "references",
];

const GREP_LETTERS: Short = Short::Only {
    flags: "viwaIrEGFPnhHlLzocpWq",
    valued: "efABCm",
    attached: "",
    number: Number::Allowed,
};

/// It only prints; none of its options starts a program or writes a file.
const REV_PARSE: Options = Options {
    short: Short::AllBut {
        refused: "",
        valued: "",
    },
    long: Long::AllBut(&[]),
    operands: Operands::Any,
};

fn list_of_branches(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    let lists = [
        "--list",
        "-l",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
    ];
    accept(
        found.operands.is_empty() || found.has_any(&lists) && !takes_back(found),
        "git branch, git branch -a, git branch --list 'PATTERN'",
    )
}

fn list_of_tags(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    let lists = [
        "--list",
        "-l",
        "-n",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
    ];
    accept(
        found.operands.is_empty() || found.has_any(&lists) && !takes_back(found),
        "git tag, git tag --list 'PATTERN'",
    )
}

/// `git branch --list --no-list x` creates `x`.
fn takes_back(found: &FoundOptions<'_>) -> bool {
    found.has_any(&["--no-list", "--no-points-at"])
}

fn remote(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    // Without -n, `show NAME` asks the other side.
    let shows = found.operands.len() == 1 || found.has_any(&["-n"]);
    accept(
        match found.first_operand() {
            Some("show") => shows,
            Some("get-url") => true,
            _ => found.operands.is_empty(),
        },
        "git remote -v, git remote get-url NAME, git remote show -n NAME",
    )
}

fn stash(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    // `git stash -p list` and `git stash -- list` stash the file `list`.
    let is_verb = found.begins_with_operand;
    accept(
        is_verb && matches!(found.first_operand(), Some("list" | "show")),
        "git stash list, git stash show",
    )
}

fn config(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    let reads = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--list",
        "-l",
    ];
    // `git config user.email`: with a value behind it, it would be set.
    let is_name = |text: &str| text.contains('.');
    let reads_one = found.operands.len() == 1 && found.first_operand().is_some_and(is_name);
    accept(
        found.has_any(&reads) || reads_one || matches!(found.first_operand(), Some("get" | "list")),
        "git config --get NAME, git config --list",
    )
}

fn reflog(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    // Verbs are small letters; a reference is told from one by anything else, or is well known.
    let is_word = |text: &str| text.chars().all(|letter| letter.is_ascii_lowercase());
    let is_reference = |text: &str| !is_word(text) || KNOWN_REFERENCES.contains(&text);
    accept(
        found.operands.is_empty()
            || matches!(found.first_operand(), Some("show" | "list" | "exists"))
            || found.first_operand().is_some_and(is_reference),
        "git reflog, git reflog show REF",
    )
}

/// Branches that nearly every repository has, and the stash.
const KNOWN_REFERENCES: &[&str] = &["main", "master", "trunk", "develop", "stash"];

fn submodule(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    accept(
        found.operands.is_empty() || matches!(found.first_operand(), Some("status")),
        "git submodule status",
    )
}

fn symbolic_ref(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    accept(found.operands.len() == 1, "git symbolic-ref HEAD")
}

fn notes(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    accept(
        found.operands.is_empty() || matches!(found.first_operand(), Some("list" | "show")),
        "git notes list, git notes show",
    )
}

fn bisect(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    accept(
        matches!(found.first_operand(), Some("log" | "terms")),
        "git bisect log",
    )
}

fn worktree(found: &FoundOptions<'_>) -> Result<(), &'static str> {
    accept(
        matches!(found.first_operand(), Some("list")),
        "git worktree list",
    )
}

fn accept(is_accepted: bool, form: &'static str) -> Result<(), &'static str> {
    if is_accepted { Ok(()) } else { Err(form) }
}
