//! The seven rules that apply when none are configured: the documents' patterns, as data.
//!
//! By default commands are judged as they are parsed (`parsed`), and a rule gives its tool and its
//! words. Whoever configures rules, these or others, has them matched against the text.

use super::{InterceptorRule, PatternScope};

/// One of the defaults, by its place among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultRule {
    Read,
    Search,
    Find,
    EditBySed,
    EditByPerl,
    EditByAwk,
    Write,
}

/// Pattern, tool, message, and what the pattern looks at.
const DEFAULTS: [(&str, &str, &str, PatternScope); 7] = [
    (
        r"^\s*(cat|head|tail|less|more)\s+",
        "read",
        "Use the `read` tool instead of cat/head/tail. It provides better context and handles binary files.",
        PatternScope::Command,
    ),
    (
        r"^\s*(grep|rg|ripgrep|ag|ack)\s+",
        "search",
        "Use the `search` tool instead of grep/rg. It respects .gitignore and provides structured output.",
        PatternScope::Command,
    ),
    (
        r"^\s*(find|fd|locate)\s+.*(-name|-iname|-type|--type|-glob)",
        "find",
        "Use the `find` tool instead of find/fd. It respects .gitignore and is faster for glob patterns.",
        PatternScope::Command,
    ),
    (
        r"^\s*sed\s+(-i|--in-place)",
        "edit",
        "Use the `edit` tool instead of sed -i. It provides diff preview and fuzzy matching.",
        PatternScope::Command,
    ),
    (
        r"^\s*perl\s+.*-[pn]?i",
        "edit",
        "Use the `edit` tool instead of perl -i. It provides diff preview and fuzzy matching.",
        PatternScope::Command,
    ),
    (
        r"^\s*awk\s+.*-i\s+inplace",
        "edit",
        "Use the `edit` tool instead of awk -i inplace. It provides diff preview and fuzzy matching.",
        PatternScope::Command,
    ),
    (
        r"^\s*(echo|printf|cat\s*<<)\s+.*[^|]>\s*\S",
        "write",
        "Use the `write` tool instead of echo/cat redirection. It handles encoding and provides confirmation.",
        PatternScope::CommandThatWrites,
    ),
];

/// The rules that apply when none are configured.
pub fn defaults() -> Vec<InterceptorRule> {
    let rules = DEFAULTS.iter();
    rules
        .map(|(pattern, tool, message, scope)| InterceptorRule {
            pattern: (*pattern).to_owned(),
            flags: String::new(),
            tool: (*tool).to_owned(),
            message: (*message).to_owned(),
            scope: *scope,
        })
        .collect()
}
