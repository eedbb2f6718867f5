//! What a model should know before its first call: one line for each feature of the server.

use super::artifact;
use rmcp::model::Tool;

const ALWAYS: &str = "\
bashd runs shell commands and always returns: a command that exceeds its timeout is ended with everything it started, and its output so far comes back.
- Give slow commands (builds, installs, test suites) a longer timeout, if the tool has one, instead of running them again.
- If a command failed or was ended, the text says how.
- A denied command did not run. The message names the rule and often says what to do instead; do not try the same command in another spelling.";

const WITH_JOBS: &str = "
- If a reply names a job, its command is still running: `job wait bg_1` means the job tool with action wait and job bg_1. Start servers with background.";

const WITH_ARTIFACTS: &str = "
- Long output is cut in the middle, and the reply says how much is missing and where it is stored (artifact://N): read it with the artifact tool (lines, tail, grep) instead of running the command again.";

const WITHOUT_ARTIFACTS: &str = "
- Long output is cut, and the reply says so: filter at the source (grep, head, tail) rather than printing everything.";

/// The instructions of a server with these tools.
pub(super) fn text(job: Option<&Tool>, tools: &[Tool]) -> String {
    let mut text = ALWAYS.to_owned();
    if job.is_some() {
        text.push_str(WITH_JOBS);
    }
    let has_artifacts = tools.iter().any(|tool| tool.name == artifact::NAME);
    text.push_str(if has_artifacts {
        WITH_ARTIFACTS
    } else {
        WITHOUT_ARTIFACTS
    });
    text
}
