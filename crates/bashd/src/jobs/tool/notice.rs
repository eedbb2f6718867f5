//! What a model is told, unasked, when its jobs have ended: one message for all that ended
//! meanwhile.

use super::poll::result_text;
use super::texts::{ending, label};
use crate::jobs::{Job, Jobs};
use crate::profile::Profile;
use bashd_keeper::template::fill;

/// The message about these jobs, in the profile's words.
pub(crate) async fn text(profile: &Profile, jobs: &Jobs, ended: &[Job]) -> String {
    let rules = &profile.background.notices;
    let mut parts = Vec::new();
    let (opening, block) = match ended {
        [_] => (&rules.one, &rules.one_block),
        _ => (&rules.many, &rules.block),
    };
    let count = ended.len().to_string();
    let first = ended.first().map_or("", |job| job.alias.as_str());
    parts.push(fill(opening, &[("job", first), ("count", &count)]));
    for job in ended {
        let result = result_text(profile, jobs, job).await;
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
