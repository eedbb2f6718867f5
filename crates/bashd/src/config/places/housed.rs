//! Places of kind `container` and `kubernetes`, as they are written.

use super::{PlaceTable, is_plain_path, slurm};
use crate::config::size;
use crate::place::{ContainerEngine, ContainerSettings, PlaceKind, PodSettings};
use std::time::Duration;

/// Keys of containers alone, of pods alone, and of both.
type Given = (&'static str, bool);

/// The kind of such a place; `None` if it is of another kind.
pub(super) fn kind(table: &PlaceTable) -> Result<Option<PlaceKind>, String> {
    let of_containers: [Given; 8] = [
        ("engine", table.engine.is_some()),
        ("name", table.name.is_some()),
        ("user", table.user.is_some()),
        ("pids", table.pids.is_some()),
        ("network", table.network.is_some()),
        ("read_only", table.read_only.is_some()),
        ("options", table.options.is_some()),
        ("workspace", table.workspace.is_some()),
    ];
    let of_pods: [Given; 7] = [
        ("context", table.context.is_some()),
        ("namespace", table.namespace.is_some()),
        ("pod", table.pod.is_some()),
        ("container", table.container.is_some()),
        ("service_account", table.service_account.is_some()),
        ("node_selector", table.node_selector.is_some()),
        ("spec", table.spec.is_some()),
    ];
    let of_both: [Given; 4] = [
        ("image", table.image.is_some()),
        ("memory", table.memory.is_some()),
        ("cpus", table.cpus.is_some()),
        ("start_seconds", table.start_seconds.is_some()),
    ];
    let of_others: [Given; 2] = [
        ("host", table.host.is_some()),
        ("command", table.command.is_some()),
    ];
    let of_slurm = slurm::own_keys(table);
    let kind = &*table.kind;
    match kind {
        "slurm" => {
            // Of these it has some.
            let [image, _, _, start] = &of_both;
            let foreign = [image, start].into_iter().chain(&of_pods);
            let foreign = foreign.chain(&of_containers).chain(&of_others);
            refuse(kind, of_slurm.iter(), foreign)?;
            slurm::kind(table).map(Some)
        }
        "container" => {
            let own = of_containers.iter().chain(&of_both);
            refuse(kind, own, of_pods.iter().chain(&of_others).chain(&of_slurm))?;
            container(table).map(|settings| Some(PlaceKind::Container(settings)))
        }
        "kubernetes" => {
            let own = of_pods.iter().chain(&of_both);
            let others = of_containers.iter().chain(&of_others).chain(&of_slurm);
            refuse(kind, own, others)?;
            pod(table).map(|settings| Some(PlaceKind::Kubernetes(settings)))
        }
        // Theirs are their own business.
        "pipe" | "ssh" => {
            let others = of_containers
                .iter()
                .chain(&of_pods)
                .chain(&of_both)
                .chain(&of_slurm);
            refuse(kind, std::iter::empty(), others)?;
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Refuses keys that mean nothing to this kind, and says which do.
fn refuse<'a>(
    kind: &str,
    own: impl Iterator<Item = &'a Given>,
    mut others: impl Iterator<Item = &'a Given>,
) -> Result<(), String> {
    let Some((key, _)) = others.find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let own: Vec<String> = own.map(|(key, _)| format!("`{key}`")).collect();
    let text = format!("a place of kind `{kind}` has no `{key}`");
    Err(match own.join(", ") {
        own if own.is_empty() => text,
        own => format!("{text}; of its own it has {own}"),
    })
}

fn container(table: &PlaceTable) -> Result<ContainerSettings, String> {
    let engine = match table.engine.as_deref() {
        None | Some("podman") => ContainerEngine::Podman,
        Some("docker") => ContainerEngine::Docker,
        Some(other) => {
            return Err(format!(
                "there is no engine `{other}`: there are `podman` and `docker`"
            ));
        }
    };
    one_of(("name", &table.name), ("image", &table.image))?;
    let settings = ContainerSettings {
        engine,
        name: table.name.clone(),
        image: table.image.clone(),
        bin: bin(table)?,
        user: table.user.clone(),
        memory: memory(table)?,
        cpus: cpus(table)?,
        pids: table.pids,
        network: table.network.clone(),
        read_only: table.read_only.unwrap_or_default(),
        options: table.options.clone().unwrap_or_default(),
        start: table.start_seconds.map(Duration::from_secs),
        workspace: table.workspace.clone(),
    };
    let for_its_making = settings.memory.is_some()
        || settings.cpus.is_some()
        || settings.pids.is_some()
        || settings.network.is_some()
        || settings.read_only
        || !settings.options.is_empty()
        || settings.workspace.is_some();
    if settings.name.is_some() && for_its_making {
        let text = "what a container is made of belongs to its `image`: one with a `name` is made by somebody else";
        return Err(text.to_owned());
    }
    if settings.image.is_some() && settings.bin.is_none() && table.via.is_some() {
        let text = "an `image` at another host needs bashd in it, named by `bin`";
        return Err(text.to_owned());
    }
    let workspace = table.workspace.iter();
    let paths = table.map.iter().flat_map(|(near, far)| [near, far]);
    for path in workspace.chain(paths.filter(|_| settings.image.is_some())) {
        if !path.is_absolute() {
            return Err(format!("{} must begin with a slash", path.display()));
        }
        if path.to_str().is_none_or(|path| path.contains(':')) {
            let shown = path.display();
            return Err(format!("{shown} can't be mounted: it has a colon"));
        }
    }
    Ok(settings)
}

fn pod(table: &PlaceTable) -> Result<PodSettings, String> {
    one_of(("pod", &table.pod), ("image", &table.image))?;
    let spec = table.spec.as_ref().map(serde_json::to_value);
    let spec = spec
        .transpose()
        .map_err(|error| format!("`spec`: {error}"))?;
    let settings = PodSettings {
        context: table.context.clone(),
        namespace: table.namespace.clone(),
        pod: table.pod.clone(),
        container: table.container.clone(),
        image: table.image.clone(),
        bin: bin(table)?,
        memory: memory(table)?,
        cpus: cpus(table)?,
        service_account: table.service_account.clone(),
        node_selector: table.node_selector.clone().unwrap_or_default(),
        spec,
        start: table.start_seconds.map(Duration::from_secs),
    };
    let for_its_making = settings.memory.is_some()
        || settings.cpus.is_some()
        || settings.service_account.is_some()
        || !settings.node_selector.is_empty()
        || settings.spec.is_some();
    if settings.pod.is_some() && for_its_making {
        let text = "what a pod is made of belongs to its `image`: one that is named by `pod` is made by somebody else";
        return Err(text.to_owned());
    }
    Ok(settings)
}

/// Exactly one of two must be there, and be no option of a program.
fn one_of(
    (first, one): (&str, &Option<String>),
    (second, other): (&str, &Option<String>),
) -> Result<(), String> {
    let ((Some(given), None) | (None, Some(given))) = (one, other) else {
        return Err(format!("it needs either a `{first}` or an `{second}`"));
    };
    if given.is_empty() || given.starts_with('-') || given.contains(char::is_whitespace) {
        return Err(format!("`{given}` is no name"));
    }
    Ok(())
}

fn bin(table: &PlaceTable) -> Result<Option<String>, String> {
    match &table.bin {
        Some(bin) if !is_plain_path(bin) => Err(format!(
            "`bin` is a path without blanks and quotes, not `{bin}`"
        )),
        bin => Ok(bin.clone()),
    }
}

fn memory(table: &PlaceTable) -> Result<Option<u64>, String> {
    let Some(given) = &table.memory else {
        return Ok(None);
    };
    match size::parse(given) {
        Some(bytes @ 1..) => Ok(Some(bytes)),
        _ => Err(format!(
            "`memory` is a size such as \"2GiB\", not `{given}`"
        )),
    }
}

fn cpus(table: &PlaceTable) -> Result<Option<String>, String> {
    match table.cpus {
        Some(cpus) if !(cpus > 0.0 && cpus.is_finite()) => {
            Err(format!("`cpus` is a number above 0, not {cpus}"))
        }
        cpus => Ok(cpus.map(|cpus| cpus.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::config::ConfigFile;
    use crate::place::PlaceKind;

    fn load(text: &str) -> Result<PlaceKind, String> {
        let file = ConfigFile {
            path: "/c.toml".into(),
            text: format!("[places.x]\n{text}"),
        };
        let places = read(&file).map_err(|error| error.to_string())?;
        Ok(places.into_iter().next().unwrap().kind)
    }

    #[test]
    fn containers_and_pods_are_read() {
        let kind = load(
            "kind = 'container'\nimage = 'dev'\nengine = 'docker'\nmemory = '2GiB'\ncpus = 1.5\n\
             pids = 9\nnetwork = 'none'\nread_only = true\nworkspace = '/work'",
        );
        let Ok(PlaceKind::Container(settings)) = kind else {
            panic!("{kind:?}");
        };
        assert_eq!(settings.memory, Some(2 << 30));
        assert_eq!(settings.cpus.as_deref(), Some("1.5"));
        assert!(settings.read_only && settings.engine.name() == "docker");
        let kind = load(
            "kind = 'kubernetes'\nimage = 'dev'\ncpus = 2\nservice_account = 'r'\n\
             node_selector = { disk = 'fast' }\nspec = { hostNetwork = true }",
        );
        let Ok(PlaceKind::Kubernetes(settings)) = kind else {
            panic!("{kind:?}");
        };
        assert_eq!(settings.cpus.as_deref(), Some("2"));
        assert_eq!(settings.spec.unwrap()["hostNetwork"], true);
    }

    #[test]
    fn what_is_wrong_with_them_is_said() {
        for (text, problem) in [
            ("kind = 'container'", "either a `name` or an `image`"),
            (
                "kind = 'kubernetes'\npod = 'a'\nimage = 'b'",
                "either a `pod` or an `image`",
            ),
            ("kind = 'container'\nname = '-v/:/x'", "`-v/:/x` is no name"),
            (
                "kind = 'container'\nname = 'a'\nengine = 'lxc'",
                "there is no engine `lxc`",
            ),
            (
                "kind = 'container'\nname = 'a'\nmemory = '1GiB'",
                "made by somebody else",
            ),
            (
                "kind = 'container'\nimage = 'a'\nmemory = 'much'",
                "a size such as",
            ),
            (
                "kind = 'container'\nimage = 'a'\ncpus = -1",
                "a number above 0",
            ),
            (
                "kind = 'container'\nimage = 'a'\nhost = 'h'",
                "has no `host`",
            ),
            (
                "kind = 'container'\nimage = 'a'\nmap = { '/a:b' = '/c' }",
                "it has a colon",
            ),
            (
                "kind = 'kubernetes'\nimage = 'a'\nnetwork = 'none'",
                "has no `network`",
            ),
            (
                "kind = 'pipe'\nimage = 'a'",
                "a place of kind `pipe` has no `image`",
            ),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
