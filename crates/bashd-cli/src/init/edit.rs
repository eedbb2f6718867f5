//! What is to be in a file: edits of a configuration in JSON or TOML, or a whole file of ours.

use super::{json, toml};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// A file, and what we want in it.
#[derive(Debug)]
pub(super) struct FileWish {
    pub(super) path: PathBuf,
    pub(super) content: WishedContent,
}

/// What we want in a file.
#[derive(Debug)]
pub(super) enum WishedContent {
    /// These edits of a configuration; whatever else is in it stays.
    Edits(ConfigFormat, Vec<ConfigEdit>),
    /// The file is ours.
    Whole(String, FileUse),
}

/// What a file of ours is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileUse {
    Read,
    Executed,
}

/// The language of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ConfigFormat {
    /// JSON, with comments and trailing commas where a user has them.
    Json,
    Toml,
}

/// One thing that is put into a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConfigEdit {
    /// The keys that lead to it.
    pub(super) path: Vec<String>,
    pub(super) kind: EditKind,
    pub(super) value: Value,
    /// How many of the keys were there before us; what is below is removed with the edit.
    #[serde(default)]
    pub(super) kept: usize,
}

/// Where an edit's value goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EditKind {
    /// It is the value of the last key.
    Member,
    /// It is an element of the list at the last key. No other element may hold this text.
    Element { mark: Option<String> },
}

/// Whether an edit is in a configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EditState {
    Absent,
    Present,
    /// Something else has its place, for this reason.
    Foreign(String),
}

impl ConfigEdit {
    /// A value under a key.
    pub(super) fn member(path: &[&str], value: Value) -> Self {
        Self::new(path, EditKind::Member, value)
    }

    /// An element of a list.
    pub(super) fn element(path: &[&str], value: Value) -> Self {
        Self::new(path, EditKind::Element { mark: None }, value)
    }

    /// An element of a list, of which there may be only one with this text in it.
    pub(super) fn only_element(path: &[&str], mark: &str, value: Value) -> Self {
        let mark = Some(mark.to_owned());
        Self::new(path, EditKind::Element { mark }, value)
    }

    fn new(path: &[&str], kind: EditKind, value: Value) -> Self {
        Self {
            path: path.iter().map(|&key| key.to_owned()).collect(),
            kind,
            value,
            kept: 0,
        }
    }

    /// Whether two edits can't both be in a file.
    pub(super) fn has_place_of(&self, other: &Self) -> bool {
        self.path == other.path
            && match (&self.kind, &other.kind) {
                (EditKind::Member, EditKind::Member) => true,
                (EditKind::Element { mark: Some(one) }, EditKind::Element { mark: Some(two) }) => {
                    one == two
                }
                _ => self.kind == other.kind && self.value == other.value,
            }
    }

    /// Whether it is in a configuration.
    pub(super) fn state(&self, root: &Value) -> EditState {
        let mut place = root;
        for (depth, key) in self.path.iter().enumerate() {
            let Some(members) = place.as_object() else {
                let name = self.name(depth);
                return EditState::Foreign(format!("`{name}` is not what it should be"));
            };
            match members.get(key) {
                Some(below) => place = below,
                None => return EditState::Absent,
            }
        }
        let name = self.name(self.path.len());
        match &self.kind {
            EditKind::Member if *place == self.value => EditState::Present,
            EditKind::Member => {
                EditState::Foreign(format!("`{name}` is already there, and differs"))
            }
            EditKind::Element { mark } => {
                let Some(elements) = place.as_array() else {
                    return EditState::Foreign(format!("`{name}` is not a list"));
                };
                let has_mark = |element: &&Value| {
                    mark.as_ref()
                        .is_some_and(|mark| element.to_string().contains(mark.as_str()))
                };
                if elements.contains(&self.value) {
                    EditState::Present
                } else if elements.iter().any(|element| has_mark(&element)) {
                    EditState::Foreign(format!(
                        "`{name}` already has a hook of bashd, which differs"
                    ))
                } else {
                    EditState::Absent
                }
            }
        }
    }

    /// How deep its keys are there.
    fn depth(&self, root: &Value) -> usize {
        let mut place = Some(root);
        let below = self.path.iter().take_while(|key| {
            place = place.and_then(|place| place.get(key.as_str()));
            place.is_some()
        });
        below.count()
    }

    fn name(&self, depth: usize) -> String {
        let keys: Vec<&str> = self.path.iter().take(depth).map(String::as_str).collect();
        keys.join(".")
    }
}

impl ConfigFormat {
    /// The empty configuration.
    pub(super) fn empty(self) -> &'static str {
        match self {
            Self::Json => "{}\n",
            Self::Toml => "",
        }
    }

    /// What a configuration says.
    pub(super) fn read(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Json => json::read(text),
            Self::Toml => toml::read(text),
        }
    }

    /// Puts edits in; gives back those that were not there, as they must be taken out.
    pub(super) fn put(
        self,
        text: &str,
        edits: &[ConfigEdit],
    ) -> Result<(String, Vec<ConfigEdit>), String> {
        let mut text = text.to_owned();
        let mut put = Vec::new();
        for edit in edits {
            let root = self.read(&text)?;
            match edit.state(&root) {
                EditState::Present => continue,
                EditState::Foreign(reason) => return Err(reason),
                EditState::Absent => {}
            }
            text = match self {
                Self::Json => json::insert(&text, edit)?,
                Self::Toml => toml::insert(&text, edit)?,
            };
            if edit.state(&self.read(&text)?) != EditState::Present {
                return Err("bashd can't edit a file of this form".to_owned());
            }
            let kept = edit.depth(&root);
            put.push(ConfigEdit {
                kept,
                ..edit.clone()
            });
        }
        Ok((text, put))
    }

    /// Takes edits out, with the containers that they brought and that are empty now. An edit that
    /// is not there any more is left out; what has changed stays, and is told.
    pub(super) fn take(
        self,
        text: &str,
        edits: &[ConfigEdit],
    ) -> Result<(String, Vec<String>), String> {
        let mut text = text.to_owned();
        let mut changed = Vec::new();
        for edit in edits.iter().rev() {
            match edit.state(&self.read(&text)?) {
                EditState::Absent => continue,
                EditState::Foreign(_) => {
                    changed.push(edit.name(edit.path.len()));
                    continue;
                }
                EditState::Present => {}
            }
            text = match self {
                Self::Json => json::remove(&text, &edit.path, Some(edit))?,
                Self::Toml => toml::remove(&text, &edit.path)?,
            };
            let brought = (edit.kept..edit.path.len()).rev();
            for depth in brought.map(|depth| depth + 1) {
                let path = edit.path.get(..depth).unwrap_or_default();
                let root = self.read(&text)?;
                let place = path.iter().try_fold(&root, |place, key| place.get(key));
                if !place.is_some_and(is_empty) {
                    continue;
                }
                text = match self {
                    Self::Json => json::remove(&text, path, None)?,
                    Self::Toml => toml::remove(&text, path)?,
                };
            }
        }
        Ok((text, changed))
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests;
