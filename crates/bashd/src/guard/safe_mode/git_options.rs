//! The long options of git that only read, by family. What is missing here is refused.
//!
//! Missing on purpose, because they write a file, start a program, or read what is not this
//! repository's: `output`, `ext-diff`, `textconv`, `filters`, `open-files-in-pager`, `show-signature`,
//! `submodule` and `ignore-submodules` (a submodule's own configuration would be read), `no-index`,
//! `contents`, `stdin` (options come in there as well), `remerge-diff` and `diff-merges` (merge drivers).

/// How differences are shown.
pub(super) const DIFF: &[&str] = &[
    "patch", "unified=", "function-context", "raw", "patch-with-raw", "patch-with-stat", "numstat",
    "shortstat", "dirstat", "cumulative", "dirstat-by-file", "check", "summary", "name-only",
    "name-status", "stat", "stat-width=", "stat-name-width=", "stat-graph-width=", "stat-count=",
    "compact-summary", "binary", "full-index", "color", "ws-error-highlight=", "abbrev",
    "src-prefix=", "dst-prefix=", "line-prefix=", "prefix", "default-prefix", "inter-hunk-context=",
    "output-indicator-new=", "output-indicator-old=", "output-indicator-context=", "break-rewrites",
    "find-renames", "irreversible-delete", "find-copies", "find-copies-harder", "renames",
    "rename-empty", "follow", "minimal", "ignore-all-space", "ignore-space-change",
    "ignore-space-at-eol", "ignore-cr-at-eol", "ignore-blank-lines", "ignore-matching-lines=",
    "indent-heuristic", "patience", "histogram", "diff-algorithm=", "anchored=", "word-diff",
    "word-diff-regex=", "color-words", "color-moved", "color-moved-ws=", "relative", "text",
    "exit-code", "quiet", "no-ext-diff", "no-textconv", "ita-invisible-in-index",
    "ita-visible-in-index", "pickaxe-all", "pickaxe-regex", "rotate-to=", "skip-to=",
    "find-object=", "diff-filter=", "cached", "staged", "merge-base", "base", "ours", "theirs",
    "combined-all-paths", "cc", "dd", "root",
];

/// Which commits are shown, and how.
pub(super) const LOG: &[&str] = &[
    "not", "all", "branches", "tags", "remotes", "glob=", "exclude=", "exclude-hidden=", "reflog",
    "first-parent", "exclude-first-parent-only", "merges", "max-count=", "skip=", "max-age=",
    "since=", "since-as-filter=", "after=", "min-age=", "until=", "before=", "min-parents=",
    "max-parents=", "author=", "committer=", "grep=", "grep-reflog=", "all-match", "invert-grep",
    "regexp-ignore-case", "basic-regexp", "extended-regexp", "fixed-strings", "perl-regexp", "dense",
    "sparse", "full-history", "simplify-merges", "simplify-by-decoration", "ancestry-path",
    "show-pulls", "left-right", "left-only", "right-only", "cherry", "cherry-mark", "cherry-pick",
    "boundary", "walk-reflogs", "merge", "bisect", "topo-order", "date-order",
    "author-date-order", "reverse", "walk", "no-walk", "date=", "relative-date", "pretty", "format=",
    "oneline", "abbrev-commit", "encoding=", "expand-tabs", "notes", "show-notes",
    "standard-notes", "parents", "children", "graph", "show-linear-break", "decorate",
    "decorate-refs=", "decorate-refs-exclude=", "clear-decorations", "source", "mailmap",
    "use-mailmap", "log-size", "full-diff", "remove-empty", "ignore-missing", "count", "objects",
    "timestamp", "header", "quiet", "single-worktree", "in-commit-order", "disk-usage",
    "no-show-signature",
];

/// `git status`.
pub(super) const STATUS: &[&str] = &[
    "verbose", "short", "branch", "show-stash", "ahead-behind", "porcelain", "long", "null",
    "untracked-files", "ignored", "column", "renames", "find-renames",
];

/// `git blame`.
pub(super) const BLAME: &[&str] = &[
    "incremental", "root", "show-stats", "progress", "score-debug", "show-name", "show-number",
    "porcelain", "line-porcelain", "show-email", "ignore-rev=", "ignore-revs-file=", "color-lines",
    "color-by-age", "minimal", "abbrev", "date=", "since=", "reverse", "first-parent", "encoding=",
    "no-textconv",
];

/// `git grep`.
pub(super) const GREP: &[&str] = &[
    "cached", "untracked", "exclude-standard", "invert-match", "ignore-case", "word-regexp", "text",
    "recursive", "max-depth=", "extended-regexp", "basic-regexp", "fixed-strings", "perl-regexp",
    "line-number", "column", "full-name", "files-with-matches", "name-only", "files-without-match",
    "null", "only-matching", "count", "color", "break", "heading", "context=", "before-context=",
    "after-context=", "threads=", "show-function", "function-context", "and", "or", "not", "quiet",
    "all-match", "max-count=", "no-textconv",
];

/// `git ls-files`, `git ls-tree`.
pub(super) const LS: &[&str] = &[
    "cached", "deleted", "modified", "others", "ignored", "stage", "killed", "directory", "eol",
    "empty-directory", "unmerged", "resolve-undo", "exclude=", "exclude-from=",
    "exclude-per-directory=", "exclude-standard", "full-name", "error-unmatch", "with-tree=",
    "abbrev", "debug", "deduplicate", "sparse", "format=", "long", "name-only", "name-status",
    "object-only", "full-tree",
];

/// Lists of references: `branch`, `tag`, `for-each-ref`, `show-ref`.
pub(super) const REFS: &[&str] = &[
    "list", "all", "remotes", "verbose", "show-current", "contains?", "no-contains?", "with?",
    "without?", "merged?", "no-merged?", "points-at?", "sort=", "format=", "column", "abbrev", "color",
    "ignore-case", "omit-empty", "count=", "exclude=", "include-root-refs", "shell", "perl",
    "python", "tcl", "tags", "heads", "branches", "head", "verify", "exists", "dereference", "hash",
    "quiet",
];

/// `describe`, `name-rev`, `merge-base`, `shortlog`, `cat-file`, `check-ignore`, `count-objects`.
pub(super) const NAMES: &[&str] = &[
    "contains", "debug", "all", "tags", "long", "first-parent", "abbrev", "exact-match",
    "candidates=", "match=", "exclude=", "always", "dirty", "refs=", "name-only", "undefined",
    "octopus", "independent", "is-ancestor", "fork-point", "committer", "numbered", "summary",
    "email", "group=", "batch", "batch-check", "batch-command", "batch-all-objects", "buffer",
    "follow-symlinks", "unordered", "allow-unknown-type", "use-mailmap", "mailmap", "quiet",
    "verbose", "non-matching", "human-readable", "porcelain", "expire=",
];

/// `git config`, reading.
pub(super) const CONFIG: &[&str] = &[
    "get", "get-all", "get-regexp", "get-urlmatch", "get-color", "get-colorbool", "list", "all",
    "regexp=", "value=", "fixed-value", "url=", "global", "system", "local", "worktree", "null",
    "name-only", "show-origin", "show-scope", "show-names", "includes", "type=", "bool", "int",
    "bool-or-int", "bool-or-str", "path", "expiry-date", "default=",
];
