//! The guard, the safe modes and the interceptor: total, places within the text, and strict safe
//! mode allows nothing whose run form it would refuse.

use bashd_script::guard::interceptor::Interceptor;
use bashd_script::guard::safe_mode::SafeMode;
use bashd_script::guard::{Gate, Guard, RULES, Verdict};
use bashd_script::rewrite::Command;

/// Judges the bytes as a command, by every rule there is.
pub fn try_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let command = Command::as_given(&text);
    for safe_mode in [SafeMode::Off, SafeMode::Compat, SafeMode::Strict] {
        let gate = Gate {
            guard: Guard::new(RULES.iter().map(|rule| rule.name), &[]),
            safe_mode,
            interceptor: Some(Interceptor::new(&[])),
            tools: ["read", "search", "find", "edit", "write"]
                .map(str::to_owned)
                .to_vec(),
            ..Gate::default()
        };
        let judgement = gate.judge(&command);
        assert_eq!(
            judgement.objection().is_none(),
            judgement.verdict == Verdict::Allow
        );
        for objection in &judgement.objections {
            assert!(!objection.message.is_empty(), "{objection:?}");
            if let Some(span) = objection.span {
                assert!(text.get(span.start..span.end).is_some(), "{objection:?}");
            }
        }
        if text.contains('\0') {
            assert!(
                matches!(judgement.verdict, Verdict::Deny(_)),
                "a NUL was let through"
            );
        }
    }
}
