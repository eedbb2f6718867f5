//! Confinements that were decided before: most calls have the one of the call before them, and what
//! a preset means takes looking at some fifty paths.
//!
//! What it depends on is the configuration, which does not change, and the directories whose
//! entries it lists. If these are as they were, so is the confinement.

use crate::config::Preset;
use bashd_keeper::confinement::SharedConfinement;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How many are remembered.
const REMEMBERED: usize = 4;

/// Changes that follow each other more closely may have the same time.
const COARSE: Duration = Duration::from_millis(50);

/// What was asked for: a preset, the configured one, and the home.
pub(super) type PresetWish<'a> = ((Preset, Preset), Option<&'a OsStr>);

/// The confinements that were decided last.
#[derive(Default)]
pub(crate) struct DecidedConfinements(Mutex<Vec<DecidedConfinement>>);

struct DecidedConfinement {
    presets: (Preset, Preset),
    home: Option<OsString>,
    /// The directory that it is about.
    place: Option<(u64, u64)>,
    /// Those whose entries matter.
    listed: Vec<ListingStamp>,
    confinement: SharedConfinement,
}

/// A directory as it was, or that there was none: device, inode, time of the last change.
type ListingStamp = Option<(u64, u64, i64, i64)>;

fn stamp(path: &Path) -> ListingStamp {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.mtime(), found.mtime_nsec()))
}

/// Whether a later change is bound to have another time.
fn is_settled(stamp: ListingStamp, now: SystemTime) -> bool {
    let Some((_, _, seconds, nanos)) = stamp else {
        return true;
    };
    let changed = u64::try_from(seconds).ok().zip(u32::try_from(nanos).ok());
    let changed = changed.map(|(seconds, nanos)| Duration::new(seconds, nanos));
    let age = changed.and_then(|changed| {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        now.checked_sub(changed)
    });
    age.is_some_and(|age| age > COARSE)
}

impl DecidedConfinements {
    /// The one that was decided before, or that this decides now. It is about a directory; the
    /// others are those whose entries matter.
    pub(super) fn get<E>(
        &self,
        (presets, home): PresetWish<'_>,
        (place, listed): (&Path, &[&Path]),
        decide: impl FnOnce() -> Result<Option<SharedConfinement>, E>,
    ) -> Result<Option<SharedConfinement>, E> {
        let now = SystemTime::now();
        let place = stamp(place).map(|(device, inode, ..)| (device, inode));
        let listed: Vec<ListingStamp> = listed.iter().map(|path| stamp(path)).collect();
        let is_same = |known: &&DecidedConfinement| {
            known.presets == presets && known.home.as_deref() == home && known.place == place
        };
        let known = self.lock();
        let same = known.iter().find(is_same);
        if let Some(same) = same.filter(|same| same.listed == listed) {
            return Ok(Some(same.confinement.clone()));
        }
        drop(known);
        let decided = decide()?;
        if let Some(confinement) = &decided
            && listed.iter().all(|stamp| is_settled(*stamp, now))
        {
            let mut known = self.lock();
            known.retain(|known| !is_same(&known));
            known.truncate(REMEMBERED - 1);
            let decided = DecidedConfinement {
                presets,
                home: home.map(OsStr::to_owned),
                place,
                listed,
                confinement: confinement.clone(),
            };
            known.insert(0, decided);
        }
        Ok(decided)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<DecidedConfinement>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashd_keeper::confinement::{Confinement, Level, Network};
    use std::cell::Cell;

    fn confinement() -> Confinement {
        Confinement {
            preset: "workspace".to_owned(),
            workspace: "/w".into(),
            write: Vec::new(),
            read: Vec::new(),
            hide: Vec::new(),
            protect: Vec::new(),
            sockets: Vec::new(),
            network: Network::None,
            hosts: Vec::new(),
            resolve: Vec::new(),
            home: None,
            bring: Vec::new(),
            require: Level::Full,
            most: Level::Full,
            watches_files: false,
            layers: Vec::new(),
        }
    }

    #[test]
    fn what_depends_on_a_directory_that_changed_is_decided_again() {
        let made = tempfile::tempdir().unwrap();
        let later = made.path().join("later");
        let listed = [made.path(), &later];
        let old = SystemTime::now() - Duration::from_mins(1);
        let age = || {
            let directory = fs::File::open(made.path()).unwrap();
            directory.set_modified(old).unwrap();
        };
        let (decided, count) = (DecidedConfinements::default(), Cell::new(0));
        let get = |preset| {
            let decide = || {
                count.set(count.get() + 1);
                Ok::<_, ()>(Some(confinement().into()))
            };
            let wish = ((preset, Preset::Workspace), None);
            assert!(
                decided
                    .get(wish, (made.path(), &listed), decide)
                    .unwrap()
                    .is_some()
            );
            count.get()
        };
        // What changed just now may change again in the same moment.
        assert_eq!((get(Preset::Workspace), get(Preset::Workspace)), (1, 2));
        age();
        assert_eq!((get(Preset::Workspace), get(Preset::Workspace)), (3, 3));
        assert_eq!((get(Preset::ReadOnly), get(Preset::Workspace)), (4, 4));
        fs::create_dir(&later).unwrap();
        assert_eq!(get(Preset::Workspace), 5);
        age();
        assert_eq!(get(Preset::Workspace), 6);
    }
}
