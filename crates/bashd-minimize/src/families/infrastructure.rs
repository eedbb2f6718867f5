//! terraform, tofu, pulumi: refreshing, values that are only known later, steps in progress.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};

pub(super) struct Infrastructure;

impl Filter for Infrastructure {
    fn name(&self) -> &'static str {
        "infrastructure"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["terraform", "tofu", "terragrunt", "pulumi", "cdk"]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            let trimmed = line.trim_start();
            if let Some((item, _)) = line.split_once(": Refreshing state...") {
                sheet.fold("refreshed", item, line);
            } else if let Some((item, _)) = line.split_once(": Still ") {
                sheet.fold("still under way", item, line);
            } else if let Some((item, _)) = under_way(line) {
                sheet.fold("begun", item, line);
            } else if trimmed.starts_with('+') && trimmed.ends_with("= (known after apply)") {
                sheet.leave("values known after apply", line);
            } else if line.is_empty() || matches!(trimmed, "╷" | "╵" | "│") {
                sheet.skip("");
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// `terraform_data.node[3]: Creating...`
fn under_way(line: &str) -> Option<(&str, &str)> {
    let (item, state) = line.split_once(": ")?;
    let is_step = ["Creating...", "Destroying...", "Modifying...", "Reading..."]
        .iter()
        .any(|step| state.starts_with(step));
    is_step.then_some((item, state))
}
