//! What becomes of one file: planned without an effect, then made.

use super::edit::{ConfigEdit, ConfigFormat, EditState, FileUse, FileWish, WishedContent};
use super::files::FoundFile;
use super::put_in::{PutIn, WishOrigin};
use std::path::{Path, PathBuf};

/// What is to become of one file.
#[derive(Debug)]
pub(super) struct FileChange {
    pub(super) path: PathBuf,
    pub(super) kind: ChangeKind,
}

/// What happens to a file.
#[derive(Debug)]
pub(super) enum ChangeKind {
    /// It is as it should be.
    Unchanged,
    /// It is left as it is, for this reason.
    Left(String),
    /// It gets another text.
    Write(Box<NewText>),
    /// It is removed.
    Remove(Box<(FoundFile, PutIn)>),
    /// There is nothing to take out, only to forget.
    Forget(Box<PutIn>),
}

/// Another text for a file.
#[derive(Debug)]
pub(super) struct NewText {
    found: FoundFile,
    after: String,
    /// The mode of a file that is new.
    mode: u32,
    /// What will be known about it; `None` if nothing of ours is left in it.
    put_in: Option<PutIn>,
    /// What was known before.
    former: Option<PutIn>,
    /// What of ours has changed since, and stays.
    pub(super) remains: Vec<String>,
}

impl FileChange {
    /// What it takes to fulfil a wish.
    pub(super) fn for_wish(origin: &WishOrigin, wish: &FileWish, known: &[PutIn]) -> Self {
        let former = known.iter().find(|put_in| put_in.file == wish.path);
        let kind = match &wish.content {
            WishedContent::Whole(text, usage) => whole(origin, &wish.path, (text, *usage), former),
            WishedContent::Edits(format, edits) => {
                edited(origin, &wish.path, (*format, edits), former)
            }
        };
        Self {
            path: wish.path.clone(),
            kind: kind.unwrap_or_else(ChangeKind::Left),
        }
    }

    /// What it takes to undo what was put in.
    pub(super) fn to_undo(put_in: &PutIn) -> Self {
        Self {
            path: put_in.file.clone(),
            kind: undone(put_in).unwrap_or_else(ChangeKind::Left),
        }
    }

    /// The texts before and after, if it is a change.
    pub(super) fn texts(&self) -> Option<(&str, &str)> {
        match &self.kind {
            ChangeKind::Write(new) => {
                Some((new.found.text.as_deref().unwrap_or_default(), &new.after))
            }
            ChangeKind::Remove(gone) => Some((gone.0.text.as_deref().unwrap_or_default(), "")),
            ChangeKind::Unchanged | ChangeKind::Left(_) | ChangeKind::Forget(_) => None,
        }
    }

    /// The folders that were made for a file that is removed: several files may be in one.
    pub(super) fn folders(&self) -> &[PathBuf] {
        match &self.kind {
            ChangeKind::Remove(gone) => &gone.1.folders,
            _ => &[],
        }
    }

    /// Makes the change; says where the backup is, if there is one.
    pub(super) fn make(&mut self, state_dir: &Path) -> Result<Option<PathBuf>, String> {
        let unkept = |error| unkept(state_dir, &error);
        match &mut self.kind {
            ChangeKind::Unchanged | ChangeKind::Left(_) => Ok(None),
            ChangeKind::Forget(former) => former.forget().map(|()| None).map_err(unkept),
            ChangeKind::Remove(gone) => {
                let (found, former) = &**gone;
                found.remove()?;
                former.forget().map(|()| None).map_err(unkept)
            }
            ChangeKind::Write(new) => new.write(state_dir),
        }
    }
}

impl NewText {
    fn write(&mut self, state_dir: &Path) -> Result<Option<PathBuf>, String> {
        let unkept = |error| unkept(state_dir, &error);
        let Some(put_in) = &mut self.put_in else {
            self.found.replace(&self.after, self.mode)?;
            let forgotten = self.former.as_ref().map_or(Ok(()), PutIn::forget);
            return forgotten.map(|()| None).map_err(unkept);
        };
        // First the backup: what we can't undo we do not do.
        let backup = put_in.keep(state_dir).map_err(unkept)?;
        match self.found.replace(&self.after, self.mode) {
            Ok(folders) => {
                put_in.folders.extend(folders);
                put_in.keep(state_dir).map_err(unkept)?;
                Ok(backup)
            }
            Err(reason) => {
                // As it was known before.
                let back = match &mut self.former {
                    Some(former) => former.keep(state_dir).map(drop),
                    None => put_in.forget(),
                };
                back.map_err(unkept)?;
                Err(reason)
            }
        }
    }
}

fn unkept(state_dir: &Path, error: &std::io::Error) -> String {
    format!("{} can't be written: {error}", state_dir.display())
}

fn whole(
    origin: &WishOrigin,
    path: &Path,
    (text, usage): (&str, FileUse),
    former: Option<&PutIn>,
) -> Result<ChangeKind, String> {
    let found = FoundFile::at(path)?;
    match (&found.text, former) {
        (Some(current), _) if current == text => return Ok(ChangeKind::Unchanged),
        (Some(current), Some(former)) if *current == former.after => {}
        (Some(_), _) => return Err("it is already there, and not from bashd".to_owned()),
        (None, _) => {}
    }
    let mut put_in = former
        .cloned()
        .unwrap_or_else(|| PutIn::nothing(origin, path, None));
    text.clone_into(&mut put_in.after);
    Ok(ChangeKind::Write(Box::new(NewText {
        found,
        after: text.to_owned(),
        mode: match usage {
            FileUse::Read => 0o644,
            FileUse::Executed => 0o755,
        },
        put_in: Some(put_in),
        former: former.cloned(),
        remains: Vec::new(),
    })))
}

fn edited(
    origin: &WishOrigin,
    path: &Path,
    (format, wished): (ConfigFormat, &[ConfigEdit]),
    former: Option<&PutIn>,
) -> Result<ChangeKind, String> {
    let found = FoundFile::at(path)?;
    // An empty file is an empty configuration.
    let is_blank = |text: &&String| !text.trim().is_empty();
    let current = found.text.as_ref().filter(is_blank);
    let current = current.map_or(format.empty(), String::as_str);
    let root = format.read(current)?;
    if wished
        .iter()
        .all(|edit| edit.state(&root) == EditState::Present)
    {
        return Ok(ChangeKind::Unchanged);
    }
    // What was put in earlier stays, unless the new wish has its place.
    let earlier = former.map_or(&[][..], |former| &former.edits);
    let replaced = |edit: &&ConfigEdit| wished.iter().any(|new| new.has_place_of(edit));
    let (gone, stay): (Vec<&ConfigEdit>, Vec<&ConfigEdit>) = earlier.iter().partition(replaced);
    let gone: Vec<ConfigEdit> = gone.into_iter().cloned().collect();
    let (without, changed) = format.take(current, &gone)?;
    if let Some(name) = changed.first() {
        return Err(format!("`{name}` was changed since bashd wrote it"));
    }
    let (after, put) = format.put(&without, wished)?;
    let mut put_in = former
        .cloned()
        .unwrap_or_else(|| PutIn::nothing(origin, path, Some(format)));
    let is_as_we_left_it = former.is_some_and(|former| found.text.as_ref() == Some(&former.after));
    if !is_as_we_left_it {
        // What others changed meanwhile stays when we leave.
        let (before, _) = format.take(current, earlier)?;
        put_in.before = match &found.text {
            Some(text) if former.is_none() => Some(text.clone()),
            Some(_) => Some(before),
            None => None,
        };
    }
    put_in.edits = stay.into_iter().cloned().chain(put).collect();
    put_in.after.clone_from(&after);
    Ok(ChangeKind::Write(Box::new(NewText {
        found,
        after,
        mode: 0o644,
        put_in: Some(put_in),
        former: former.cloned(),
        remains: Vec::new(),
    })))
}

fn undone(put_in: &PutIn) -> Result<ChangeKind, String> {
    let found = FoundFile::at(&put_in.file)?;
    let write = |found: FoundFile, after: String, remains: Vec<String>| {
        ChangeKind::Write(Box::new(NewText {
            found,
            after,
            mode: 0o644,
            put_in: None,
            former: Some(put_in.clone()),
            remains,
        }))
    };
    let remove = |found| ChangeKind::Remove(Box::new((found, put_in.clone())));
    let forget = || ChangeKind::Forget(Box::new(put_in.clone()));
    let Some(current) = &found.text else {
        return Ok(forget());
    };
    if *current == put_in.after {
        return Ok(match &put_in.before {
            Some(before) => write(found.clone(), before.clone(), Vec::new()),
            None => remove(found),
        });
    }
    let Some(format) = put_in.format else {
        return Err("it was changed since bashd wrote it: remove it yourself".to_owned());
    };
    if current.trim().is_empty() {
        return Ok(forget());
    }
    let (after, remains) = format.take(current, &put_in.edits)?;
    let is_empty = after.trim() == format.empty().trim();
    Ok(if is_empty && put_in.before.is_none() {
        remove(found)
    } else if after == *current && remains.is_empty() {
        forget()
    } else {
        write(found, after, remains)
    })
}
