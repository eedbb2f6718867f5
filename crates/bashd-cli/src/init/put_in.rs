//! What `bashd init` put into which file, so that it can take out exactly that: one folder for each
//! file, in the state directory, with the file as it was (the backup) and as we left it.

use super::edit::{ConfigEdit, ConfigFormat};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// For whom something is put in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct WishOrigin {
    pub(super) agent: String,
    /// The project whose file it is; `None` if it is the user's.
    pub(super) project: Option<PathBuf>,
}

/// What was put into one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PutIn {
    #[serde(flatten)]
    pub(super) origin: WishOrigin,
    pub(super) file: PathBuf,
    /// `None` if the whole file is ours.
    pub(super) format: Option<ConfigFormat>,
    pub(super) edits: Vec<ConfigEdit>,
    /// Folders that were made for the file, the uppermost first.
    pub(super) folders: Vec<PathBuf>,
    /// The file as it was; `None` if there was none.
    #[serde(skip)]
    pub(super) before: Option<String>,
    /// The file as we left it.
    #[serde(skip)]
    pub(super) after: String,
    /// Where this is kept.
    #[serde(skip)]
    place: Option<PathBuf>,
}

impl PutIn {
    /// Nothing yet.
    pub(super) fn nothing(origin: &WishOrigin, file: &Path, format: Option<ConfigFormat>) -> Self {
        Self {
            origin: origin.clone(),
            file: file.to_owned(),
            format,
            edits: Vec::new(),
            folders: Vec::new(),
            before: None,
            after: String::new(),
            place: None,
        }
    }

    /// Everything that was put in, by agent and file. What can't be read is left out: then nothing
    /// of it is taken out, either.
    pub(super) fn all(state_dir: &Path) -> Vec<Self> {
        let entries = fs::read_dir(state_dir.join("init"))
            .into_iter()
            .flatten()
            .flatten();
        let mut all: Vec<Self> = entries
            .filter_map(|entry| Self::load(&entry.path()))
            .collect();
        all.sort_by(|one, two| (&one.origin, &one.file).cmp(&(&two.origin, &two.file)));
        all
    }

    fn load(place: &Path) -> Option<Self> {
        let text = fs::read_to_string(place.join("put_in.json")).ok()?;
        let mut put_in: Self = serde_json::from_str(&text).ok()?;
        put_in.after = fs::read_to_string(place.join("after")).ok()?;
        put_in.before = match fs::read_to_string(place.join("before")) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => return None,
        };
        put_in.place = Some(place.to_owned());
        Some(put_in)
    }

    /// Keeps it; says where the backup is.
    pub(super) fn keep(&mut self, state_dir: &Path) -> io::Result<Option<PathBuf>> {
        let place = match &self.place {
            Some(place) => place.clone(),
            None => self.new_place(&state_dir.join("init"))?,
        };
        let backup = place.join("before");
        if let Some(before) = &self.before {
            write(&backup, before)?;
        }
        write(&place.join("after"), &self.after)?;
        let text = serde_json::to_string_pretty(self)?;
        write(&place.join("put_in.json"), &text)?;
        self.place = Some(place);
        Ok(self.before.as_ref().map(|_| backup))
    }

    fn new_place(&self, all: &Path) -> io::Result<PathBuf> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(all)?;
        builder.recursive(false);
        for number in 1.. {
            let place = all.join(format!("{}-{number}", self.origin.agent));
            match builder.create(&place) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done.map(|()| place),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Forgets it.
    pub(super) fn forget(&self) -> io::Result<()> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        fs::remove_dir_all(place)?;
        // The last one takes the folder with it.
        let _ = place.parent().map(fs::remove_dir);
        Ok(())
    }
}

/// The preset by which an earlier `bashd init` had this agent's server confine commands.
pub(super) fn confinement_of(known: &[PutIn], origin: &WishOrigin) -> Option<String> {
    let mut of_agent = known.iter().filter(|put_in| put_in.origin == *origin);
    of_agent.find_map(|put_in| {
        let edits = serde_json::to_value(&put_in.edits).ok()?;
        word_after("--confine", &edits)
    })
}

/// The text that follows this one in some list of a value.
fn word_after(word: &str, value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => {
            let at = items.iter().position(|item| item == word);
            let next = at.and_then(|at| items.get(at + 1)).and_then(Value::as_str);
            let deeper = || items.iter().find_map(|item| word_after(word, item));
            next.map(str::to_owned).or_else(deeper)
        }
        Value::Object(members) => members.values().find_map(|value| word_after(word, value)),
        _ => None,
    }
}

/// Only the user may read it: configurations hold keys.
fn write(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let new = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)
}
