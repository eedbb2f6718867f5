//! What a model is told, unasked, when its jobs have ended: one message for all that ended
//! meanwhile.

use super::result::JobResults;
use super::texts::{ending, label};
use super::verbs;
use crate::exec::EndedBy;
use crate::jobs::Job;
use bashd_keeper::template::fill;

/// The message about these jobs, in the profile's words.
pub(crate) async fn text(results: JobResults<'_>, ended: &[Job]) -> String {
    let rules = &results.profile.background.notices;
    let is_cancelled = |job: &&Job| job.ended_by == Some(EndedBy::Cancel);
    // Nobody waits for the result of what was cancelled, and it is not called complete.
    let (cancelled, ended): (Vec<&Job>, Vec<&Job>) = ended.iter().partition(is_cancelled);
    let cancelled = cancelled.iter().map(|job| {
        let values = [("job", job.alias.as_str()), ("label", &label(&job.command))];
        fill(&rules.cancelled, &values)
    });
    let mut parts: Vec<String> = cancelled.collect();
    if ended.is_empty() {
        return fill(&rules.around, &[("text", &parts.join("\n\n"))]);
    }
    let (opening, block) = match ended.as_slice() {
        [_] => (&rules.one, &rules.one_block),
        _ => (&rules.many, &rules.block),
    };
    let count = ended.len().to_string();
    let first = ended.first().map_or("", |job| job.alias.as_str());
    parts.push(fill(opening, &[("job", first), ("count", &count)]));
    for job in ended {
        if !rules.parts.is_empty() {
            parts.push(verbs::about(results.profile, job, &rules.parts));
            continue;
        }
        let result = results.text(job).await;
        let values = [
            ("job", job.alias.as_str()),
            ("label", &label(&job.command)),
            ("ending", &ending(job)),
            ("result", result.trim_end()),
        ];
        parts.push(fill(block, &values));
    }
    fill(&rules.around, &[("text", &parts.join("\n\n"))])
}
