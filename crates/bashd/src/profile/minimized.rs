//! What is shown of a run if its profile minimizes: the digest of its output, once the raw output
//! is stored.

use super::Profile;
use super::rules::MinimizeSwitch;
use crate::artifact::{self, KeptArtifact, LONGEST_BROUGHT};
use crate::exec::{Exit, Run};
use crate::minimize::{self, Digest, FilterSettings, References, ShellMasks, Subject};
use crate::output::in_memory::InMemory;
use crate::output::view::View;
use crate::output::window::{self, Window};
use crate::output::{Capture, Captured, Source};
use crate::plan::Outline;
use crate::profile::digest_lines::DigestLines;
pub(crate) use crate::profile::digest_lines::DigestWindow;
use std::fmt::Write as _;
use std::io;

/// Bytes of the longest footer.
const LONGEST_FOOTER: usize = 64;

/// How often a window is cut again to make room for headings.
const MOST_TRIES: usize = 4;

/// The digest of a run's output, and the text that it was made of; nothing where that is to be
/// shown.
pub(crate) fn digest(
    profile: &Profile,
    outline: &Outline,
    run: &Run,
    out: &View<'_>,
    settings: Option<&FilterSettings>,
) -> io::Result<Option<(Digest, String)>> {
    let (Some(settings), Some(script)) = (settings, outline.script.as_deref()) else {
        return Ok(None);
    };
    // A caller that asks for certain lines wants exactly those.
    let is_wanted = profile.output.minimize == MinimizeSwitch::On
        && outline.lines.is_none()
        && !outline.in_terminal
        && run.err.is_none();
    let length = run.out.len();
    let is_there = run.out.may_wait();
    let most = settings.max_bytes as u64;
    // What is not brought here to be stored is not brought here to be read, either.
    let most = most.min(if is_there { LONGEST_BROUGHT } else { u64::MAX });
    if !is_wanted || length < minimize::SHORTEST as u64 || length > most {
        return Ok(None);
    }
    let raw = match out.whole_text() {
        // Its ends are here, and are shown.
        Err(_) if is_there => None,
        raw => raw?,
    };
    let Some(raw) = raw else {
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
    let digest = made(profile, &masks(outline, run), subject, settings);
    let digest = digest.filter(|digest| digest.text.len() + LONGEST_FOOTER < raw.len());
    Ok(digest.map(|digest| (digest, raw)))
}

/// The digest of an output. In one that the profile's window cuts, no line stands for another that
/// may be left out.
pub(crate) fn made(
    profile: &Profile,
    masks: &ShellMasks,
    subject: Subject<'_>,
    settings: &FilterSettings,
) -> Option<Digest> {
    let digest = minimize::minimize_after(masks, subject, settings).ok()?;
    if digest.text.len() + LONGEST_FOOTER <= profile.output.window.max {
        return Some(digest);
    }
    let settings = FilterSettings {
        references: References::Never,
        ..settings.clone()
    };
    minimize::minimize_after(masks, subject, &settings).ok()
}

/// What the shell had before the command that may change what a name or a status means.
fn masks(outline: &Outline, run: &Run) -> ShellMasks {
    let mut masks = run.masks.clone();
    if let Some(rc_script) = &outline.rc_script {
        let text = std::fs::read(rc_script).unwrap_or_default();
        masks.add_definitions(&String::from_utf8_lossy(&text));
    }
    masks.add(outline.setup.as_deref().unwrap_or_default());
    masks
}

/// A digest within the profile's window, counted as the output that it stands for.
pub(crate) fn in_window(
    profile: &Profile,
    run: &Run,
    (digest, raw): (&Digest, &str),
    kept: &KeptArtifact,
) -> io::Result<(Captured, DigestWindow)> {
    let (mut shown, window) = shown(profile, digest, raw, kept)?;
    (shown.bytes, shown.lines) = (run.out.len(), run.out.lines());
    Ok((Captured::One(shown), window))
}

/// What the profile shows of a digest.
pub(crate) fn shown(
    profile: &Profile,
    digest: &Digest,
    raw: &str,
    kept: &KeptArtifact,
) -> io::Result<(Capture, DigestWindow)> {
    let text = with_footer(digest.text.clone(), kept.id);
    let lines = DigestLines::of(digest, &text, raw);
    let mut window = profile.output.window.clone();
    let cut = |window: &Window| {
        let cut = window::cut_text(&InMemory(&text), window, profile.output.form());
        cut.map(|mut cut| {
            cut.begin_at_a_line(&text);
            cut
        })
    };
    let mut windowed = cut(&window)?;
    // The headings need room, and with less room others may be needed.
    for _ in 0..MOST_TRIES {
        let headings = lines.headings_above(windowed.first_of_tail());
        let room = profile.output.window.tail.saturating_sub(headings.len());
        if window.tail <= room {
            windowed.head_the_end(&headings);
            break;
        }
        window.tail = room;
        windowed = cut(&window)?;
    }
    let ranges = lines.ranges(&windowed);
    if let Some(omitted) = lines.omitted(&windowed, &ranges) {
        windowed.count_omitted(omitted);
    } else if !window.artifact.is_empty() {
        window.artifact.insert_str(0, " of the minimized text");
    }
    Ok((windowed.arrange(&window, Some(kept)), ranges))
}

/// A digest, and where its raw output is: on the line that says what was done.
pub(crate) fn with_footer(mut digest: String, id: u64) -> String {
    let end = digest.trim_end_matches('\n').len();
    digest.truncate(end);
    let address = artifact::address(id);
    let _ = writeln!(digest, " [raw output: {address}]");
    digest
}
