//! What is shown of a run if its profile minimizes: the digest of its output, once the raw output
//! is stored.

use super::Profile;
use super::rules::MinimizeSwitch;
use crate::artifact::{self, KeptArtifact};
use crate::exec::{Exit, Run};
use crate::minimize::{self, Digest, FilterSettings, Subject};
use crate::output::in_memory::InMemory;
use crate::output::view::View;
use crate::output::{Captured, Source};
use crate::plan::Plan;
use std::fmt::Write as _;
use std::io;

/// Bytes of the longest footer.
const LONGEST_FOOTER: usize = 64;

/// The digest of a run's output; nothing where the raw output is to be shown.
pub(crate) fn digest(
    profile: &Profile,
    plan: &Plan,
    run: &Run,
    out: &View<'_>,
    settings: Option<&FilterSettings>,
) -> io::Result<Option<Digest>> {
    let (Some(settings), Some(script)) = (settings, plan.script.as_deref()) else {
        return Ok(None);
    };
    // A caller that asks for certain lines wants exactly those.
    let is_wanted = profile.output.minimize == MinimizeSwitch::On
        && plan.lines.is_none()
        && plan.vessel.terminal().is_none()
        && run.err.is_none();
    let length = run.out.len();
    if !is_wanted || length < minimize::SHORTEST as u64 || length > settings.max_bytes as u64 {
        return Ok(None);
    }
    let Some(raw) = out.whole_text()? else {
        return Ok(None);
    };
    let exit = match (run.exit, run.ended_by) {
        (Exit::Code(code), None) => Some(code),
        _ => None,
    };
    let subject = Subject {
        command: script,
        exit,
        text: &raw,
    };
    let digest = minimize::minimize(subject, settings).ok();
    Ok(digest.filter(|digest| digest.text.len() + LONGEST_FOOTER < raw.len()))
}

/// A digest within the profile's window, counted as the output that it stands for.
pub(crate) fn in_window(
    profile: &Profile,
    run: &Run,
    text: &str,
    kept: KeptArtifact,
) -> io::Result<Captured> {
    let cut = profile.output.cut(&InMemory(text), None)?;
    let mut captured = cut.arrange(Some(kept));
    if let Captured::One(shown) = &mut captured {
        (shown.bytes, shown.lines) = (run.out.len(), run.out.lines());
    }
    Ok(captured)
}

/// A digest, and where its raw output is: on the line that says what was done.
pub(crate) fn with_footer(mut digest: String, id: u64) -> String {
    let end = digest.trim_end_matches('\n').len();
    digest.truncate(end);
    let address = artifact::address(id);
    let _ = writeln!(digest, " [raw output: {address}]");
    digest
}
