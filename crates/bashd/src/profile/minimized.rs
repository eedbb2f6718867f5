//! What is shown of a run if its profile minimizes: the digest of its output, once the raw output
//! is stored.

use super::Profile;
use super::rules::Minimize;
use crate::artifact;
use crate::exec::{Exit, Run};
use crate::minimize::{self, Settings, Subject};
use crate::output::in_memory::InMemory;
use crate::output::window::Keep;
use crate::output::{Captured, Piece, Source, text};
use crate::plan::Plan;
use std::fmt::Write as _;
use std::io;

/// Bytes of the longest footer.
const LONGEST_FOOTER: usize = 64;

/// What is shown instead of the raw output, and the filter that made it.
pub(super) struct Minimized {
    pub(super) captured: Captured,
    pub(super) filter: String,
}

/// The digest within the profile's window; `None` if the raw output should be shown.
pub(super) fn minimized(
    profile: &Profile,
    plan: &Plan,
    run: &Run,
    settings: Option<&Settings>,
    keep: &mut Keep<'_>,
) -> io::Result<Option<Minimized>> {
    let (Some(settings), Some(script)) = (settings, plan.script.as_deref()) else {
        return Ok(None);
    };
    // A caller that asks for certain lines wants exactly those.
    let is_wanted = profile.output.minimize == Minimize::On
        && plan.lines.is_none()
        && plan.terminal.is_none()
        && run.err.is_none();
    let length = run.out.len();
    if !is_wanted || length < minimize::SHORTEST as u64 || length > settings.max_bytes as u64 {
        return Ok(None);
    }
    let Some(raw) = whole_text(&run.out)? else {
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
    let Ok(digest) = minimize::minimize(subject, settings) else {
        return Ok(None);
    };
    if digest.text.len() + LONGEST_FOOTER >= raw.len() {
        return Ok(None);
    }
    // The raw output is stored first. If that fails, it is shown.
    let Some(kept) = keep().filter(|kept| kept.dropped == 0) else {
        return Ok(None);
    };
    let text = with_footer(digest.text, kept.id);
    let mut captured = profile.output.capture(&InMemory(&text), None, keep)?;
    if let Captured::One(shown) = &mut captured {
        (shown.bytes, shown.lines) = (length, run.out.lines());
    }
    Ok(Some(Minimized {
        captured,
        filter: digest.filter,
    }))
}

/// A digest, and where its raw output is.
pub(crate) fn with_footer(mut digest: String, id: u64) -> String {
    if !digest.ends_with('\n') {
        digest.push('\n');
    }
    let address = artifact::address(id);
    let _ = writeln!(digest, "[raw output: {address}]");
    digest
}

/// All of a stream as text; `None` if some of it is gone.
fn whole_text(source: &dyn Source) -> io::Result<Option<String>> {
    let mut bytes = Vec::with_capacity(source.len() as usize);
    for piece in source.read(0..source.len())? {
        match piece {
            Piece::Kept(more) => bytes.extend_from_slice(&more),
            Piece::Dropped(_) => return Ok(None),
        }
    }
    Ok(Some(text::decode(&bytes)))
}
