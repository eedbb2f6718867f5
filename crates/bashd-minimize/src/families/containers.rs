//! docker, podman, buildah, kubectl, helm: layers in transfer, cached steps, and tables.

use super::super::sheet::Sheet;
use super::logs::RepeatedLines;
use super::{Filter, FilterInput, tables};

pub(super) struct Containers;

impl Filter for Containers {
    fn name(&self) -> &'static str {
        "containers"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "docker",
            "podman",
            "buildah",
            "docker-compose",
            "nerdctl",
            "kubectl",
            "helm",
            "oc",
            "k3s",
            "kind",
            "minikube",
        ]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        let mut again = RepeatedLines::default();
        for line in input.lines() {
            if again.take(line, sheet) {
                continue;
            }
            if let Some(item) = layer(line) {
                sheet.fold("lines about layers", item, line);
            } else if is_transfer(line) {
                sheet.leave("lines of transfers", line);
            } else if line.is_empty() {
                sheet.skip("");
            } else {
                tables::keep_row(line, sheet);
            }
        }
        again.close(sheet);
    }
}

/// `a1b2c3d4e5f6: Pull complete`
fn layer(line: &str) -> Option<&str> {
    let (id, state) = line.trim_start().split_once(": ")?;
    let is_id = id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let states = [
        "Pulling fs layer",
        "Waiting",
        "Downloading",
        "Extracting",
        "Verifying",
        "Download complete",
        "Pull complete",
        "Already exists",
        "Preparing",
        "Pushing",
        "Pushed",
        "Mounted from",
        "Layer already exists",
    ];
    (is_id && states.iter().any(|known| state.starts_with(known))).then_some(id)
}

/// Progress of buildkit, and of copying blobs.
fn is_transfer(line: &str) -> bool {
    let trimmed = line.trim_start();
    let of_buildkit = trimmed
        .strip_prefix('#')
        .and_then(|rest| rest.split_once(' '))
        .is_some_and(|(number, rest)| {
            number.bytes().all(|byte| byte.is_ascii_digit())
                && (rest.starts_with("sha256:")
                    || rest.starts_with("transferring ")
                    || rest.starts_with("extracting ")
                    || rest.starts_with("resolve "))
        });
    of_buildkit
        || trimmed.starts_with("Copying blob")
        || trimmed.starts_with("Copying config")
        || trimmed.starts_with("Sending build context")
}
