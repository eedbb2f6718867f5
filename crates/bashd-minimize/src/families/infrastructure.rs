//! terraform, tofu, pulumi: waiting for what is being made.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput};
use std::sync::LazyLock;

pub(super) struct Infrastructure;

const FORMS: &[NoiseForm] = &[NoiseForm {
    kind: "still under way",
    whose: "terraform",
    pattern: r"\S+: Still (?:creating|modifying|reading)\.\.\. \[(?:id=\S+, )?(?:\d+m)?\d+s elapsed\]",
    words: FormWords::Telling,
    case: "aws_db_instance.main: Still creating... [1m30s elapsed]",
}];

static WAITING: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

impl Filter for Infrastructure {
    fn name(&self) -> &'static str {
        "infrastructure"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["terraform", "tofu", "terragrunt", "pulumi", "cdk"]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        for (at, line) in input.numbered() {
            let Some(form) = WAITING.find(line) else {
                continue;
            };
            // How long it took in the end is said later.
            let object = line.split(": Still ").next().unwrap_or_default();
            let is_over = input.lines.iter().skip(at).any(|later| {
                later
                    .strip_prefix(object)
                    .is_some_and(|rest| rest.starts_with(": ") && rest.contains(" complete after "))
            });
            if is_over && input.work.charge(input.lines.len()) {
                noise.leave(at, form);
            }
        }
    }
}
