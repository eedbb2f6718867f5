//! `no_container_loss`: deletes volumes, all containers, or what runs in a cluster.

use super::concern::ProgramCall;
use super::options::{has_short, operands};
use super::tool_rows::{ToolRow, asks};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_container_loss",
    denies: "asks about docker volume rm and prune, system prune --volumes, rm -f of all containers, kubectl delete of namespaces, volumes and --all, helm uninstall",
    message: "this deletes volumes, all containers, or resources of a cluster",
    instead: "List them first, then delete one container, image or pod by its name",
    example: "kubectl delete namespace production",
    judge: RuleJudge::Each(&[
        Concern::Tools(ROWS),
        Concern::Programs {
            names: DOCKER,
            judge: all_containers,
        },
        Concern::Programs {
            names: DOCKER,
            judge: gets_host,
        },
        Concern::Programs {
            names: &["kubectl", "oc", "k3s", "k"],
            judge: kubectl,
        },
    ]),
};

const DOCKER: &[&str] = &["docker", "podman", "nerdctl"];
const COMPOSE: &[&str] = &[
    "docker",
    "podman",
    "docker-compose",
    "podman-compose",
    "nerdctl",
];

const ROWS: &[ToolRow] = &[
    asks(&["podman"], "rm").with(&["-a", "--all"]),
    asks(DOCKER, "volume rm|remove|prune"),
    asks(DOCKER, "system prune").with(&["--volumes"]),
    asks(DOCKER, "system reset"),
    asks(COMPOSE, "down").with(&["-v", "--volumes"]),
    asks(COMPOSE, "rm").with(&["-fsv", "-fv", "-vf", "-sfv"]),
    asks(DOCKER, "swarm leave").with(&["--force", "-f"]),
    asks(DOCKER, "stack rm|remove"),
    asks(DOCKER, "service rm|remove"),
    asks(DOCKER, "node rm"),
    asks(DOCKER, "secret rm"),
    asks(&["helm"], "uninstall|delete|del|un"),
    asks(&["kubectl", "oc"], "scale").with(&["--all"]),
    asks(&["kind", "k3d", "minikube"], "delete").with(&["--all", "-a", "--purge"]),
    asks(&["helmfile"], "destroy|delete"),
    asks(&["kubectl", "oc"], "drain"),
    asks(&["kubectl", "oc"], "replace").with(&["--force"]),
    asks(&["oc"], "delete project"),
    asks(
        &["kubectl", "oc"],
        "patch *\"finalizers\":null}}|*\"finalizers\":[]}}",
    ),
    asks(&["kubeadm"], "reset"),
    asks(&["k3s-uninstall.sh", "k3s-killall.sh"], ""),
    asks(&["etcdctl"], "del"),
    asks(&["velero"], "backup|restore|schedule delete"),
    asks(&["crictl"], "rmi|rmp|rm").with(&["-a", "--all", "-fa", "-af"]),
    asks(&["ctr"], "containers|images|namespaces rm"),
    asks(&["lxc", "incus"], "delete"),
    asks(&["colima"], "delete").with(&["-f", "--force", "-d", "--data"]),
    asks(&["multipass"], "purge"),
    asks(&["multipass"], "delete").with(&["--all", "--purge"]),
    asks(&["nomad"], "job|system stop").with(&["-purge"]),
    asks(&["argocd"], "app delete"),
    asks(&["flux"], "uninstall"),
    asks(&["istioctl"], "uninstall"),
    asks(&["rancher"], "delete|rm"),
];

/// `docker run -v /:/host x`: what runs there may do everything here. Who only reads the host's
/// files says so (`:ro`).
fn gets_host(call: &ProgramCall<'_>) -> Decision {
    let known: Vec<&str> = call.words.iter().filter_map(Word::known).collect();
    let runs = known.iter().any(|text| matches!(*text, "run" | "create"));
    let mounts_root = |text: &str| {
        let text = text
            .trim_start_matches("--volume=")
            .trim_start_matches("-v");
        text.starts_with("/:/") && !text.contains(":ro")
            || (text.contains("source=/,") || text.contains("src=/,")) && !text.contains("readonly")
    };
    let has = |option: &str| known.contains(&option);
    let enters = has("--privileged") && has("--pid=host") && has("nsenter");
    Decision::ask_if(runs && (known.iter().any(|text| mounts_root(text)) || enters))
}

/// `docker rm -f $(docker ps -aq)`
fn all_containers(call: &ProgramCall<'_>) -> Decision {
    let verbs: Vec<&str> = operands(call.words)
        .filter_map(Word::known)
        .take(2)
        .collect();
    let removes = matches!(
        verbs.as_slice(),
        ["rm" | "rmi" | "kill", ..] | ["container" | "image", "rm" | "kill" | "remove", ..]
    );
    let is_unknown = |word: &Word| word.known().is_none() && word.known_beginning().is_empty();
    let is_forced = call
        .words
        .iter()
        .any(|word| has_short(word, "fv", "") || word.is("--force"));
    let kills = verbs.contains(&"kill");
    let is_substitution = |word: &Word| {
        word.parts
            .iter()
            .any(|part| matches!(part, crate::script::WordPart::Unknown { .. }))
    };
    Decision::ask_if(
        removes
            && (is_forced || kills)
            && call
                .words
                .iter()
                .any(|word| is_unknown(word) && is_substitution(word)),
    )
}

/// Kinds whose loss a new pod does not mend.
const KINDS: &[&str] = &[
    "namespace",
    "namespaces",
    "ns",
    "pv",
    "persistentvolume",
    "persistentvolumes",
    "pvc",
    "persistentvolumeclaim",
    "persistentvolumeclaims",
    "crd",
    "crds",
    "customresourcedefinition",
    "customresourcedefinitions",
    "node",
    "nodes",
    "no",
    "statefulset",
    "statefulsets",
    "sts",
    "deployment",
    "deployments",
    "deploy",
    "daemonset",
    "daemonsets",
    "ds",
    "secret",
    "secrets",
    "all",
    "clusterrole",
    "clusterroles",
    "clusterrolebinding",
    "storageclass",
    "sc",
    "ingress",
    "ing",
    "service",
    "services",
    "svc",
    "configmap",
    "configmaps",
    "cm",
    "pvcs",
    "validatingwebhookconfiguration",
    "cluster",
    "clusters",
    "serviceaccount",
    "sa",
    "networkpolicy",
    "resourcequota",
];

fn kubectl(call: &ProgramCall<'_>) -> Decision {
    let known: Vec<&str> = call.words.iter().filter_map(Word::known).collect();
    let Some(at) = known.iter().position(|text| *text == "delete") else {
        return Decision::Allow;
    };
    let dry = known
        .iter()
        .any(|text| text.starts_with("--dry-run") && !text.ends_with("=none") || *text == "--help");
    if dry {
        return Decision::Allow;
    }
    let rest = known.get(at + 1..).unwrap_or_default();
    let kind = |text: &&str| {
        let kinds = text.split('/').next().unwrap_or_default();
        kinds.split(',').any(|kind| {
            KINDS.contains(
                &kind
                    .to_ascii_lowercase()
                    .split('.')
                    .next()
                    .unwrap_or_default(),
            )
        })
    };
    let first = rest.iter().find(|text| !text.starts_with('-'));
    let all = rest
        .iter()
        .any(|text| matches!(*text, "--all" | "--all=true" | "-A" | "--all-namespaces"));
    let file = rest
        .iter()
        .any(|text| matches!(*text, "-f" | "-k") || text.starts_with("--filename"));
    // What to delete comes from elsewhere, its kind as well.
    let is_unknown = first.is_none() && call.words.iter().any(|word| word.known().is_none());
    Decision::ask_if(all || !file && (is_unknown || first.is_some_and(kind)))
}
