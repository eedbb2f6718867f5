//! What a model should know before its first call: one line for each feature of the profile that is
//! served.

use crate::serve::ServerBase;
use crate::serve::stored;
use bashd::profile::offered::ToolWork;
use bashd::profile::rules::JobToolKind;
use bashd::profile::sets::Sets;
use rmcp::model::Tool;

const ENDED: &str = "bashd runs shell commands and always returns: a command that exceeds its timeout is ended with everything it started, and its output so far comes back.";

const CONTINUED: &str = "bashd runs shell commands and always returns: a command that exceeds its timeout continues as a job, and its output so far comes back.";

const ALWAYS: &str = "
- If a command failed or was ended, the text says how.
- A denied command did not run. The message names the rule and often says what to do instead; do not try the same command in another spelling.";

const WITH_ARTIFACTS: &str = "
- Long output is cut, and the reply says how much is missing and where it is stored (artifact://N): read it with the artifact tool (lines, tail, grep) instead of running the command again.";

const WITH_FILES: &str = "
- Long output is cut, and the reply names the file that has all of it: read that instead of running the command again.";

const WITHOUT_ARTIFACTS: &str = "
- Long output is cut, and the reply says so: filter at the source (grep, head, tail) rather than printing everything.";

/// The instructions of a server with these tools.
pub(super) fn text(server: &ServerBase, tools: &[Tool]) -> String {
    let has_tool = |name: &str| tools.iter().any(|tool| tool.name == name);
    let parameter = |sets| parameter(server, sets);
    let continues = server.profile.continues_long_commands();
    let mut text = if continues { CONTINUED } else { ENDED }.to_owned();
    if let Some(timeout) = parameter(Sets::Timeout).or_else(|| parameter(Sets::TimeoutMs)) {
        text.extend([format!(
            "\n- Give slow commands (builds, installs, test suites) a longer {timeout} instead of running them again."
        )]);
    }
    text.push_str(ALWAYS);
    let job_tool = server.profile.job_tool.as_ref();
    if let Some(tool) = job_tool.filter(|tool| has_tool(&tool.name)) {
        let uses = match tool.kind {
            JobToolKind::Actions => "wait, output, kill",
            JobToolKind::Poll => "list, poll, cancel",
        };
        text.extend([format!(
            "\n- If a reply names a job, its command is still running: manage it with the {} tool ({uses}). A reply begins with the jobs that ended before it.",
            tool.name
        )]);
        if let Some(background) = parameter(Sets::Background) {
            text.extend([" Start servers with ", background, ": true."]);
        }
    }
    let managing = server
        .tools
        .iter()
        .filter(|tool| tool.does == ToolWork::ManagesJobs);
    let managing: Vec<&str> = managing
        .filter_map(|tool| Some(tool.names.first()?.as_str()))
        .collect();
    if !managing.is_empty() {
        text.extend([format!(
            "\n- If a reply says that a command is still running, manage it with {}.",
            managing.join(", ")
        )]);
    }
    text.push_str(if has_tool(stored::NAME) {
        WITH_ARTIFACTS
    } else if server.profile.output.names_path() {
        WITH_FILES
    } else {
        WITHOUT_ARTIFACTS
    });
    text
}

/// The name of the parameter that sets this, if the tool has one as it is configured.
fn parameter(server: &ServerBase, sets: Sets) -> Option<&str> {
    let parameters = server.profile.parameters.iter();
    let mut offered = parameters.filter(|parameter| parameter.is_offered(server.engine.config()));
    let found = offered.find(|parameter| parameter.sets == sets);
    found.map(|parameter| parameter.name.as_str())
}
