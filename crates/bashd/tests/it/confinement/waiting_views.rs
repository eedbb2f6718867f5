//! Views that were built ahead of their calls, and are looked at again when these come.

use super::{ConfinedEngine, inhabitants, until};
use bashd::Request;
use bashd::approval::{ApprovalAnswer, Approver};
use bashd_testkit::loudly;
use serde_json::json;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// How long a person thinks: much longer than what a keeper found holds.
const THINKS: Duration = Duration::from_millis(200);

/// The engine tells a keeper of a call as soon as it has come. What the keeper finds holds for a
/// moment, and not for as long as a person takes to answer.
#[test]
fn what_was_made_while_somebody_was_asked_is_protected() {
    if !rustix::process::geteuid().is_root() {
        return loudly("not root: whether a view waits is not seen, and this is NOT tested");
    }
    for started_shells in [0, 1] {
        let site = ConfinedEngine::new(|config| {
            config.started_shells = started_shells;
            let asks = json!([{"name": "asks", "decision": "ask", "message": "really?", "command": "touch"}]);
            config.rules = serde_json::from_value(asks).expect("a rule");
        });
        assert_eq!(site.run(Request::new("true")).exit_code, Some(0));
        until(|| (!inhabitants().is_empty()).then_some(()));
        let hooks = site.home.workspace().join(".git/hooks");
        let made = hooks.clone();
        let slowly: Approver = Arc::new(move |_| {
            let made = made.clone();
            Box::pin(async move {
                tokio::time::sleep(THINKS).await;
                fs::create_dir_all(made).expect("hooks");
                ApprovalAnswer::Once
            })
        });
        site.engine.ask(slowly);
        let reply = site.run(Request::new("touch .git/hooks/pre-commit"));
        assert!(reply.output.contains("Read-only file system"), "{reply:?}");
        assert!(hooks.is_dir() && !hooks.join("pre-commit").exists());
    }
}
