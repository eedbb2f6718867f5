//! Containers as places, by podman or docker: one that somebody else runs, by its name; or one of
//! our own, made of an image when it is needed.
//!
//! In one of our own the outpost is all that runs at first: the program is mounted into it, and is
//! its first process. `run` itself is the first carrier, so a first call costs one start of the
//! container and nothing else. It stops when its outpost has been idle, and is started again with
//! what was in it. Every further carrier is an `exec`.

use super::housed::HouseState;
use super::line::{self, LineMark};
use super::program::ProgramToSend;
use super::settings::PlaceSettings;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::time::Duration;

/// Where the program is in a container of our own, or in one without a shell.
pub(super) const PROGRAM: &str = "/.bashd-outpost";

/// Hexadecimal digits of the hash in a name.
const DIGITS: usize = 12;

/// The program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContainerEngine {
    /// podman, with or without root.
    #[default]
    Podman,
    /// docker.
    Docker,
}

impl ContainerEngine {
    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

/// A container, in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContainerSettings {
    /// Who runs it.
    pub engine: ContainerEngine,
    /// The name of one that somebody else runs.
    pub name: Option<String>,
    /// The image of one of our own.
    pub image: Option<String>,
    /// bashd in it, if it is installed.
    pub bin: Option<String>,
    /// As whom commands run in it.
    pub user: Option<String>,
    /// Bytes of memory that it may use.
    pub memory: Option<u64>,
    /// Processors that it may use, as the engine reads them.
    pub cpus: Option<String>,
    /// Processes that it may have.
    pub pids: Option<u64>,
    /// Its network, as the engine names it: `none` for none.
    pub network: Option<String>,
    /// Whether its root can't be written.
    pub read_only: bool,
    /// Further words for the engine's `run`.
    pub options: Vec<String>,
    /// How long it may take to start, with fetching its image.
    pub start: Option<Duration>,
    /// Where in it the directory is in which we are.
    pub workspace: Option<PathBuf>,
}

impl ContainerSettings {
    /// What it is called: by its user, or by all that it is made of, so that another setting is
    /// another container.
    pub(super) fn called(&self, place: &PlaceSettings, program: Option<&ProgramToSend>) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let mut hash = Sha256::new();
        for word in self.making(place, program) {
            hash.update(word.as_bytes());
            hash.update([0]);
        }
        if let Some(program) = program {
            hash.update(&program.hash);
        }
        let digits = hash.finalize();
        let digits: Vec<String> = digits.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.concat();
        let digits = digits.get(..DIGITS).unwrap_or_default();
        format!("bashd-{}-{digits}", place.name)
    }

    /// Words that make one of our own and are its first carrier.
    pub(super) fn make(
        &self,
        called: &str,
        place: &PlaceSettings,
        program: Option<&ProgramToSend>,
    ) -> Vec<String> {
        let mut words = vec![
            self.engine.name().to_owned(),
            "run".to_owned(),
            format!("--name={called}"),
        ];
        words.extend(self.making(place, program));
        words
    }

    /// What follows `run` and the name.
    fn making(&self, place: &PlaceSettings, program: Option<&ProgramToSend>) -> Vec<String> {
        let mut words = vec!["--interactive".to_owned()];
        words.extend(self.no_keys());
        // What goes over the stream is nobody's log.
        words.push("--log-driver=none".to_owned());
        words.push(format!("--label=bashd.place={}", place.name));
        if let (None, Some(program)) = (&self.bin, program) {
            words.push(format!("--volume={}:{PROGRAM}:ro", program.path.display()));
        }
        for (near, far) in &place.map {
            words.push(format!("--volume={}:{}", near.display(), far.display()));
        }
        let mut set = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name}={value}")));
        };
        set("user", self.user.clone());
        set("memory", self.memory.map(|bytes| bytes.to_string()));
        set("cpus", self.cpus.clone());
        set("pids-limit", self.pids.map(|most| most.to_string()));
        set("network", self.network.clone());
        set("read-only", self.read_only.then(|| "true".to_owned()));
        set("entrypoint", Some(self.program().to_owned()));
        words.extend(self.options.iter().cloned());
        words.extend(self.image.clone());
        words.extend(["outpost", "--hold"].map(str::to_owned));
        words.extend(self.outpost_words(place, program));
        words
    }

    fn program(&self) -> &str {
        self.bin.as_deref().unwrap_or(PROGRAM)
    }

    fn outpost_words(&self, place: &PlaceSettings, program: Option<&ProgramToSend>) -> Vec<String> {
        let mut words = Vec::new();
        if let (None, Some(program)) = (&self.bin, program) {
            words.extend(["--build".to_owned(), program.hash.clone()]);
        }
        if let Some(idle) = place.idle {
            words.extend(["--idle".to_owned(), idle.as_secs_f64().to_string()]);
        }
        words
    }

    /// Without it podman takes two bytes of the stream for a wish to leave.
    fn no_keys(&self) -> Option<String> {
        (self.engine == ContainerEngine::Podman).then(|| "--detach-keys=".to_owned())
    }

    /// Words that start one of our own again, and are a carrier.
    pub(super) fn wake(&self, called: &str) -> Vec<String> {
        let mut words = vec![self.engine.name().to_owned(), "start".to_owned()];
        words.extend(["--attach", "--interactive"].map(str::to_owned));
        words.extend(self.no_keys());
        words.push(called.to_owned());
        words
    }

    /// Words that enter it. `is_copied`: the program was put there, since it has no shell.
    pub(super) fn enter(
        &self,
        called: &str,
        place: &PlaceSettings,
        program: Option<&ProgramToSend>,
        is_copied: bool,
    ) -> (Vec<String>, Option<LineMark>) {
        let mut words = vec![
            self.engine.name().to_owned(),
            "exec".to_owned(),
            "--interactive".to_owned(),
        ];
        words.extend(self.no_keys());
        words.extend(self.user.as_ref().map(|user| format!("--user={user}")));
        words.push(called.to_owned());
        if self.name.is_none() || self.bin.is_some() || is_copied {
            words.extend([self.program().to_owned(), "outpost".to_owned()]);
            // In one of our own only its first process starts an outpost.
            words.extend(self.name.is_none().then(|| "--join".to_owned()));
            words.extend(self.outpost_words(place, program));
            return (words, None);
        }
        let to = place.upload_to.as_ref().map(|to| to.display().to_string());
        let hash = program.map(|program| &*program.hash);
        let (inner, mark) = line::finding_or_asking(to.as_deref(), place, hash, "");
        words.extend(inner);
        (words, Some(mark))
    }

    /// Words that put the program into one that has no shell.
    pub(super) fn copy_in(&self, called: &str, program: &ProgramToSend) -> Vec<String> {
        let (from, to) = (program.path.display(), format!("{called}:{PROGRAM}"));
        let words = [self.engine.name(), "cp", &from.to_string(), &to];
        words.map(str::to_owned).to_vec()
    }

    /// Words that remove what was made and never ran.
    pub(super) fn remove(&self, called: &str) -> Vec<String> {
        [self.engine.name(), "rm", called]
            .map(str::to_owned)
            .to_vec()
    }

    /// Words that ask how it is.
    pub(super) fn inspect(&self, called: &str) -> Vec<String> {
        let format = "--format={{json .State}}";
        [self.engine.name(), "container", "inspect", format, called]
            .map(str::to_owned)
            .to_vec()
    }

    /// Words that ask whether there is one of this name: a line if so.
    pub(super) fn exists(&self, called: &str) -> Vec<String> {
        let filter = format!("--filter=name=^{called}$");
        [self.engine.name(), "ps", "--all", "--quiet", &filter]
            .map(str::to_owned)
            .to_vec()
    }

    /// What its state means for whoever wants to enter it, or had something running in it.
    pub(super) fn told(&self, called: &str, state: &str) -> HouseState {
        let state: Value = serde_json::from_str(state.trim()).unwrap_or_default();
        let status = state["Status"].as_str().unwrap_or("nothing of its state");
        let mut text = format!(
            "{} says of the container `{called}`: {status}",
            self.engine.name()
        );
        let code = state["ExitCode"].as_i64();
        match status {
            "running" => return HouseState::Running,
            "exited" | "dead" | "stopped" => {}
            // It has not begun, or is about to end.
            "created" | "configured" | "initialized" => return HouseState::Stopped(text),
            _ => return HouseState::Held(text),
        }
        if let Some(code) = code {
            let code = code.to_string();
            text.extend([", with ", &code, " as its own exit code"]);
        }
        if state["OOMKilled"] == true {
            text.push_str(", OOMKilled");
        }
        if let Some(error) = state["Error"].as_str().filter(|error| !error.is_empty()) {
            text.push_str(", ");
            text.push_str(&crate::output::plain(error.as_bytes()));
        }
        HouseState::Stopped(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::PlaceKind;

    fn place(settings: &ContainerSettings) -> PlaceSettings {
        PlaceSettings::new("box", PlaceKind::Container(settings.clone()))
    }

    #[test]
    fn a_container_of_our_own_is_named_by_all_that_it_is_made_of() {
        let mut settings = ContainerSettings {
            image: Some("dev".to_owned()),
            bin: Some("/usr/bin/bashd".to_owned()),
            ..ContainerSettings::default()
        };
        let mut place = place(&settings);
        let first = settings.called(&place, None);
        assert!(first.starts_with("bashd-box-"), "{first}");
        assert_eq!(first, settings.called(&place, None));
        settings.network = Some("none".to_owned());
        let second = settings.called(&place, None);
        assert_ne!(first, second);
        place.map = vec![("/src".into(), "/work".into())];
        assert_ne!(second, settings.called(&place, None));
        let words = settings.make("c", &place, None);
        for word in [
            "--network=none",
            "--volume=/src:/work",
            "--detach-keys=",
            "--log-driver=none",
        ] {
            assert!(words.iter().any(|other| other == word), "{word}: {words:?}");
        }
        let end = &words[words.len() - 3..];
        assert_eq!(end, ["dev", "outpost", "--hold"]);
        settings.name = Some("mine".to_owned());
        assert_eq!(settings.called(&place, None), "mine");
    }

    #[test]
    fn what_an_engine_says_decides_whether_anything_of_it_still_runs() {
        let settings = ContainerSettings::default();
        let told = |state: &str| settings.told("c", state);
        assert_eq!(told(r#"{"Status":"running"}"#), HouseState::Running);
        let oom = r#"{"Status":"exited","ExitCode":137,"OOMKilled":true,"Error":""}"#;
        let text =
            "podman says of the container `c`: exited, with 137 as its own exit code, OOMKilled";
        assert_eq!(told(oom), HouseState::Stopped(text.to_owned()));
        // It goes on once somebody lets it.
        let text = "podman says of the container `c`: paused";
        assert_eq!(
            told(r#"{"Status":"paused"}"#),
            HouseState::Held(text.to_owned())
        );
        assert!(matches!(
            told(r#"{"Status":"stopping"}"#),
            HouseState::Held(_)
        ));
        assert!(matches!(told("garbage"), HouseState::Held(_)));
        assert!(matches!(
            told(r#"{"Status":"created"}"#),
            HouseState::Stopped(_)
        ));
    }
}
