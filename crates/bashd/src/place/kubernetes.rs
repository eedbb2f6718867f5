//! Pods as places, by kubectl: one that somebody else made, by its name; or one of our own, made
//! when it is needed, with resources, a service account and a choice of nodes.
//!
//! In one of our own the outpost's program is the first process. It is sent there, since an image
//! need not have it: until it has come the first process is a shell that waits. How a pod fares is
//! what `kubectl get` says of it, never how an `exec` ended.

use super::housed::HouseState;
use super::line::{self, LineMark};
use super::program::ProgramToSend;
use super::settings::PlaceSettings;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// The directory of ours in a pod of our own: its volume is there whatever the image is like.
const DIRECTORY: &str = "/.bashd";

/// The name of the container in it, and of that volume.
const CONTAINER: &str = "bashd";

/// Hexadecimal digits of the hash in a name.
const DIGITS: usize = 12;

/// What a pod's first process does until the program has come; ten minutes at most.
const WAIT: &str = concat!(
    r#"trap "exit 143" TERM; n=0; while [ ! -x @BIN@ ]; do sleep 0.1 2>/dev/null || sleep 1; "#,
    r#"n=$((n+1)); [ $n -gt 6000 ] && exit 1; done; exec @BIN@ outpost --hold --build @HASH@"#,
);

/// A pod, in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PodSettings {
    /// kubectl's context; else the current one.
    pub context: Option<String>,
    /// Its namespace; else the context's.
    pub namespace: Option<String>,
    /// The name of one that somebody else made.
    pub pod: Option<String>,
    /// The container in that.
    pub container: Option<String>,
    /// The image of one of our own.
    pub image: Option<String>,
    /// bashd in it, if it is installed.
    pub bin: Option<String>,
    /// Bytes of memory that it asks for, and may use.
    pub memory: Option<u64>,
    /// Processors that it asks for, and may use.
    pub cpus: Option<String>,
    /// Its service account; without one it gets no token.
    pub service_account: Option<String>,
    /// Labels of the nodes on which it may run.
    pub node_selector: BTreeMap<String, String>,
    /// What else its specification says: merged into ours.
    pub spec: Option<Value>,
    /// How long it may take to start, with waiting for a node and fetching its image.
    pub start: Option<Duration>,
}

impl PodSettings {
    /// What it is called: by its user, or by all that it is made of, for whom and from where.
    pub(super) fn called(&self, place: &PlaceSettings, program: Option<&ProgramToSend>) -> String {
        if let Some(pod) = &self.pod {
            return pod.clone();
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let user = rustix::process::getuid().as_raw();
        let mut hash = Sha256::new();
        hash.update(self.manifest("", place, program).to_string());
        hash.update(format!("{} {user}", host.trim()));
        let digits = hash.finalize();
        let digits: Vec<String> = digits.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.concat();
        let digits = digits.get(..DIGITS).unwrap_or_default();
        // What a name may have there.
        let name = place.name.to_ascii_lowercase().replace('_', "-");
        format!("bashd-{}-{digits}", name.trim_matches('-'))
    }

    fn kubectl(&self, words: &[&str]) -> Vec<String> {
        let mut all = vec!["kubectl".to_owned()];
        all.extend(
            self.context
                .as_ref()
                .map(|name| format!("--context={name}")),
        );
        let namespace = self.namespace.as_ref();
        all.extend(namespace.map(|name| format!("--namespace={name}")));
        all.extend(words.iter().map(|word| (*word).to_owned()));
        all
    }

    /// Words that make one of our own, whose manifest is their stdin.
    pub(super) fn make(&self) -> Vec<String> {
        self.kubectl(&["create", "--filename=-", "--output=name"])
    }

    /// Words that remove one of our own that has ended.
    pub(super) fn remove(&self, called: &str) -> Vec<String> {
        let pod = format!("pod/{called}");
        self.kubectl(&["delete", "--ignore-not-found", "--wait=true", &pod])
    }

    /// Words that ask how it is: nothing if there is none.
    pub(super) fn get(&self, called: &str) -> Vec<String> {
        self.kubectl(&["get", "--ignore-not-found", "--output=json", "pod", called])
    }

    /// Words that ask how its node is.
    pub(super) fn get_node(&self, node: &str) -> Vec<String> {
        self.kubectl(&["get", "--ignore-not-found", "--output=json", "node", node])
    }

    /// What one of our own is made of.
    pub(super) fn manifest(
        &self,
        called: &str,
        place: &PlaceSettings,
        program: Option<&ProgramToSend>,
    ) -> Value {
        let idle = place.idle.unwrap_or(Duration::from_mins(10));
        let idle = idle.as_secs_f64().to_string();
        let state = format!("{DIRECTORY}/state");
        let command = match (&self.bin, program) {
            (Some(bin), _) => json!([bin, "outpost", "--hold", "--idle", idle, "--state", state]),
            (None, program) => {
                let hash = program.map_or("none", |program| &program.hash);
                let script = WAIT
                    .replace("@BIN@", &format!("{DIRECTORY}/bin/{hash}"))
                    .replace("@HASH@", hash);
                let script = format!("{script} --idle {idle} --state {state}");
                json!(["/bin/sh", "-c", script])
            }
        };
        let mut limits = Map::new();
        if let Some(bytes) = self.memory {
            limits.insert("memory".to_owned(), json!(bytes.to_string()));
        }
        if let Some(cpus) = &self.cpus {
            limits.insert("cpu".to_owned(), json!(cpus));
        }
        let mut spec = json!({
            "restartPolicy": "Never",
            // What commands get between the request to end and the end: ours, and some more.
            "terminationGracePeriodSeconds": 15,
            "automountServiceAccountToken": self.service_account.is_some(),
            "volumes": [{ "name": CONTAINER, "emptyDir": {} }],
            "containers": [{
                "name": CONTAINER,
                "image": self.image,
                "command": command,
                "resources": { "limits": limits, "requests": limits },
                "volumeMounts": [{ "name": CONTAINER, "mountPath": DIRECTORY }],
            }],
        });
        if let Some(account) = &self.service_account {
            spec["serviceAccountName"] = json!(account);
        }
        if !self.node_selector.is_empty() {
            spec["nodeSelector"] = json!(self.node_selector);
        }
        if let Some(more) = &self.spec {
            merge(&mut spec, more);
        }
        let labels = json!({ "app.kubernetes.io/managed-by": "bashd", "bashd/place": place.name });
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": called, "labels": labels },
            "spec": spec,
        })
    }

    /// Words that enter it.
    pub(super) fn enter(
        &self,
        called: &str,
        place: &PlaceSettings,
        program: Option<&ProgramToSend>,
    ) -> (Vec<String>, Option<LineMark>) {
        let mut words = self.kubectl(&["exec", "--stdin", called]);
        let is_own = self.pod.is_none();
        let container = self.container.as_deref();
        let container = container.or(is_own.then_some(CONTAINER));
        words.extend(container.map(|name| format!("--container={name}")));
        words.push("--".to_owned());
        let more = if is_own {
            format!(" --join --state {DIRECTORY}/state")
        } else {
            String::new()
        };
        if let Some(bin) = &self.bin {
            words.extend([bin.clone(), "outpost".to_owned()]);
            words.extend(more.split_whitespace().map(str::to_owned));
            return (words, None);
        }
        let given = place.upload_to.as_ref().map(|to| to.display().to_string());
        let to = given.or(is_own.then(|| format!("{DIRECTORY}/bin")));
        let hash = program.map(|program| &*program.hash);
        let (inner, mark) = line::finding_or_asking(to.as_deref(), place, hash, &more);
        words.extend(inner);
        (words, Some(mark))
    }

    /// What its state means for whoever wants to enter it, or had something running in it.
    pub(super) fn told(&self, called: &str, pod: &str) -> HouseState {
        if pod.trim().is_empty() {
            let text = format!("Kubernetes says: pod `{called}` not found");
            return HouseState::Absent(text);
        }
        let pod: Value = serde_json::from_str(pod).unwrap_or_default();
        let status = &pod["status"];
        let phase = status["phase"].as_str().unwrap_or("nothing of its phase");
        let is_leaving = pod["metadata"]["deletionTimestamp"].is_string();
        let says = |what: &str| {
            let leaving = if is_leaving {
                ", it is being deleted"
            } else {
                ""
            };
            format!("Kubernetes says of the pod `{called}`: {what}{leaving}")
        };
        let own = self.pod.is_none().then_some(CONTAINER);
        let named = self.container.as_deref().or(own);
        let containers = status["containerStatuses"].as_array();
        let mut containers = containers.into_iter().flatten();
        let container = containers.find(|one| named.is_none_or(|name| one["name"] == name));
        let state = container.map_or(&Value::Null, |one| &one["state"]);
        let ended = |terminated: &Value| {
            let code = terminated["exitCode"].as_i64().unwrap_or_default();
            let why = worded(terminated);
            says(&format!(
                "{phase}, container terminated, {why}, with {code} as its own exit code"
            ))
        };
        if status["reason"].is_string() && matches!(phase, "Failed" | "Succeeded") {
            return HouseState::Stopped(says(&format!("{phase}, {}", worded(status))));
        }
        if state["terminated"].is_object() {
            return HouseState::Stopped(ended(&state["terminated"]));
        }
        if matches!(phase, "Failed" | "Succeeded") {
            return HouseState::Stopped(says(phase));
        }
        if is_leaving {
            return HouseState::Held(says(phase));
        }
        if let Some(last) = container.map(|one| &one["lastState"]["terminated"])
            && last.is_object()
            && state["waiting"].is_object()
        {
            return HouseState::Stopped(ended(last));
        }
        if phase == "Running" && state["running"].is_object() {
            return HouseState::Running;
        }
        let conditions = status["conditions"].as_array();
        let unfit = conditions.into_iter().flatten();
        let unfit = unfit.filter(|one| one["status"] != "True" && one["reason"].is_string());
        let mut why: Vec<String> = unfit.map(worded).collect();
        if state["waiting"].is_object() {
            why = vec![worded(&state["waiting"])];
        }
        why.insert(0, phase.to_owned());
        why.dedup();
        HouseState::Held(says(&why.join(", ")))
    }

    /// The node that it is on, and whether that is ready, as far as Kubernetes says so.
    pub(super) fn node_of(pod: &str) -> Option<String> {
        let pod: Value = serde_json::from_str(pod).ok()?;
        pod["spec"]["nodeName"].as_str().map(str::to_owned)
    }

    /// What is wrong with a node.
    pub(super) fn told_of_node(node: &str) -> Option<String> {
        let node: Value = serde_json::from_str(node).ok()?;
        let mut conditions = node["status"]["conditions"].as_array()?.iter();
        let ready = conditions.find(|one| one["type"] == "Ready")?;
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        let is_bad = ready["status"] != "True";
        is_bad.then(|| format!("Kubernetes says of the node `{name}`: {}", worded(ready)))
    }
}

/// Reason and message of something, in its own words.
fn worded(what: &Value) -> String {
    let text = |key: &str| {
        what[key]
            .as_str()
            .map(|text| crate::output::plain(text.as_bytes()))
    };
    match (text("reason"), text("message")) {
        (Some(reason), Some(message)) if !message.is_empty() => format!("{reason}: {message}"),
        (Some(reason), _) => reason,
        (None, Some(message)) => message,
        (None, None) => "no reason".to_owned(),
    }
}

/// Puts one value into another: tables are merged, the first container is ours, all else replaces.
fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(more)) => {
            for (at, value) in more.iter().enumerate() {
                match into.get_mut(at) {
                    Some(ours) if value["name"].is_null() => merge(ours, value),
                    Some(_) | None => into.push(value.clone()),
                }
            }
        }
        (into, more) => *into = more.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::PlaceKind;

    fn own() -> (PodSettings, PlaceSettings) {
        let settings = PodSettings {
            image: Some("dev".to_owned()),
            bin: Some("/bin/bashd".to_owned()),
            memory: Some(1 << 30),
            service_account: Some("robot".to_owned()),
            node_selector: BTreeMap::from([("disk".to_owned(), "fast".to_owned())]),
            spec: Some(json!({
                "hostNetwork": true,
                "containers": [{ "imagePullPolicy": "Never" }],
                "volumes": [{ "name": "data", "emptyDir": {} }],
            })),
            ..PodSettings::default()
        };
        let place = PlaceSettings::new("My_Pod", PlaceKind::Kubernetes(settings.clone()));
        (settings, place)
    }

    #[test]
    fn a_pod_of_our_own_has_what_was_asked_for() {
        let (settings, place) = own();
        let called = settings.called(&place, None);
        assert!(called.starts_with("bashd-my-pod-"), "{called}");
        let pod = settings.manifest(&called, &place, None);
        let spec = &pod["spec"];
        assert_eq!(spec["hostNetwork"], true);
        assert_eq!(spec["serviceAccountName"], "robot");
        assert_eq!(spec["nodeSelector"]["disk"], "fast");
        let container = &spec["containers"][0];
        assert_eq!(container["imagePullPolicy"], "Never");
        assert_eq!(container["image"], "dev");
        assert_eq!(container["resources"]["limits"]["memory"], "1073741824");
        assert_eq!(container["command"][2], "--hold");
        assert_eq!(spec["volumes"][0]["name"], "bashd");
        assert_eq!(spec["volumes"][1]["name"], "data");
        let (words, mark) = settings.enter(&called, &place, None);
        assert!(
            mark.is_none() && words.contains(&"--join".to_owned()),
            "{words:?}"
        );
    }

    #[test]
    fn what_kubernetes_says_decides_whether_anything_of_it_still_runs() {
        let (settings, _) = own();
        let told = |pod: Value| settings.told("p", &pod.to_string());
        let container = |state: Value| {
            json!({ "status": { "phase": "Running",
                "containerStatuses": [{ "name": "bashd", "state": state }] } })
        };
        assert_eq!(
            told(container(json!({ "running": {} }))),
            HouseState::Running
        );
        let oom = json!({ "terminated": { "reason": "OOMKilled", "exitCode": 137 } });
        let text = "Kubernetes says of the pod `p`: Running, container terminated, OOMKilled, \
                    with 137 as its own exit code";
        assert_eq!(told(container(oom)), HouseState::Stopped(text.to_owned()));
        let evicted = json!({ "status": { "phase": "Failed", "reason": "Evicted",
            "message": "The node was low on resource: memory. " } });
        let HouseState::Stopped(text) = told(evicted) else {
            panic!("an evicted pod has ended");
        };
        assert!(text.contains("Failed, Evicted: The node was low"), "{text}");
        assert!(matches!(settings.told("p", " \n"), HouseState::Absent(_)));
        let mut leaving = container(json!({ "running": {} }));
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(matches!(told(leaving), HouseState::Held(_)));
        let pending = json!({ "status": { "phase": "Pending", "conditions": [{ "status": "False",
            "reason": "Unschedulable", "message": "0/1 nodes are available" }] } });
        let text =
            "Kubernetes says of the pod `p`: Pending, Unschedulable: 0/1 nodes are available";
        assert_eq!(told(pending), HouseState::Held(text.to_owned()));
        let node = json!({ "metadata": { "name": "n" }, "status": { "conditions": [
            { "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
              "message": "Kubelet stopped posting node status." }] } });
        let text = PodSettings::told_of_node(&node.to_string()).unwrap();
        assert!(
            text.contains("`n`: NodeStatusUnknown: Kubelet stopped"),
            "{text}"
        );
    }
}
