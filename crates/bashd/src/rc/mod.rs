//! What the user's rc file sets up (aliases, functions, options, `PATH`), for shells that never
//! read it.
//!
//! An rc file takes up to half a second and may ask questions. So it is read once, by a separate
//! bash with no input and little time, and what it set up is written to a script that other shells
//! source. The script's name depends on what it says, so that a file which was only touched makes
//! no other script; a link, whose name depends on the state of the rc files, leads to it. A failure
//! is remembered for a while, and means that there is none; `bashd doctor` reports it.

use crate::exec::{self, Exit, Keepers, PlanOutcome};
use crate::output::line_limits::LineLimits;
use crate::output::{Source, StreamPiece};
use crate::plan::{
    Draft, Limits, OpenDirectory, Place, Plan, RcWish, Shell, StdinSource, Streams, Survivors,
    Vessel,
};
use bashd_keeper::spool::prepare_runs_directory;
use bashd_keeper::variables::Variables;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What reads the rc, and writes the rc script.
const SCRIPT: &str = include_str!("script.sh");

/// How a whole rc script ends.
const END: &[u8] = b"# end\n";

/// How long an rc may take.
const LIMIT: Duration = Duration::from_secs(2);

/// How long a failure is remembered: the machine may have been busy.
const FAILURE_HOLDS: Duration = Duration::from_mins(5);

/// The largest rc script that is kept; every new shell reads it.
const LARGEST: u64 = 4 << 20;

/// Variables that would make the shell that reads the rc read or write more than that.
const PRIVATE: [&str; 3] = ["BASH_ENV", "ENV", "HISTFILE"];

/// Files in the home directory that an rc script depends on.
const RC_FILES: [&str; 2] = [".bashrc", ".bash_aliases"];

/// What identifies a file and its state: inode, size, and modification time.
type FileState = (u64, u64, i64, i64);

/// The state of the rc script for a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// There is no rc file to read.
    NoRc,
    /// It is here.
    Ready(PathBuf),
    /// It could not be made.
    Failed(String),
    /// Nobody has asked for it yet.
    NotMade,
}

/// What the user's rc file left, as a script that shells source.
#[derive(Debug)]
pub(crate) struct RcScript {
    pub(crate) path: PathBuf,
    /// What it says, for a run that depends on it.
    pub(crate) text: Option<Arc<[u8]>>,
}

/// Where rc scripts are kept, and the one that is being made.
pub(crate) struct RcScripts {
    directory: PathBuf,
    making: tokio::sync::Mutex<()>,
    /// The one that was read last, by its file's state.
    read: Mutex<Option<(FileState, Arc<[u8]>)>>,
}

/// What an rc script is made from.
struct RcSource<'a> {
    program: &'a Path,
    env: &'a Variables,
    home: PathBuf,
}

/// Finds the state of the rc script for a shell with this environment. Starts nothing.
pub fn standing(directory: &Path, program: &Path, env: &Variables) -> Standing {
    let origin = RcSource::new(program, env);
    let Some(origin) = origin.filter(RcSource::has_rc) else {
        return Standing::NoRc;
    };
    origin.standing(directory)
}

impl RcScripts {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            making: tokio::sync::Mutex::default(),
            read: Mutex::default(),
        }
    }

    /// What the rc left for the shell of a draft, where the draft wants that and it can be found
    /// out.
    pub(crate) async fn get(&self, draft: &Draft, keepers: &Keepers) -> Option<RcScript> {
        let wish = draft.rc_wish()?;
        let source = RcSource::of(&wish).filter(RcSource::has_rc)?;
        let path = match source.standing(&self.directory) {
            Standing::Ready(path) => path,
            Standing::Failed(_) => return None,
            // A process that ends after its call would make it for nobody.
            Standing::NoRc | Standing::NotMade if keepers.is_for_one_call() => return None,
            Standing::NoRc | Standing::NotMade => self.make(&source, &wish, keepers).await?,
        };
        let text = draft.calls_one_program().then(|| self.text(&path).ok());
        Some(RcScript {
            text: text.flatten(),
            path,
        })
    }

    /// Makes the script, unless another call does so at the same time.
    async fn make(
        &self,
        source: &RcSource<'_>,
        wish: &RcWish<'_>,
        keepers: &Keepers,
    ) -> Option<PathBuf> {
        let _alone = self.making.lock().await;
        // An earlier holder of the lock may have made it.
        match source.standing(&self.directory) {
            Standing::Ready(path) => return Some(path),
            Standing::Failed(_) => return None,
            Standing::NoRc | Standing::NotMade => {}
        }
        let link = source.link(&self.directory);
        let written = match source.make(wish.like, keepers).await {
            Ok(text) => self.store(&text, &link),
            Err(reason) => Err(io::Error::other(reason)),
        };
        match written {
            Ok(path) => {
                self.remove_others(&path, &link);
                Some(path)
            }
            Err(error) => {
                let _ = write(&failure_of(&link), error.to_string().as_bytes());
                None
            }
        }
    }

    /// Stores a script under the name that its text gives it, and has the link lead there.
    fn store(&self, text: &[u8], link: &Path) -> io::Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let name = format!("rc-bash-{:016x}.sh", hasher.finish());
        let path = self.directory.join(&name);
        if fs::read(&path).is_ok_and(|stored| stored == text) {
            prepare_runs_directory(&self.directory)?;
        } else {
            write(&path, text)?;
        }
        let unfinished = unfinished(link);
        let _ = fs::remove_file(&unfinished);
        std::os::unix::fs::symlink(&name, &unfinished)?;
        fs::rename(&unfinished, link)?;
        Ok(path)
    }

    /// What an rc script says.
    fn text(&self, path: &Path) -> io::Result<Arc<[u8]>> {
        let state = state_of(path)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = read.as_ref().filter(|(of, _)| *of == state) {
            return Ok(text.clone());
        }
        let text: Arc<[u8]> = fs::read(path)?.into();
        *read = Some((state, text.clone()));
        Ok(text)
    }

    /// Removes rc scripts of other states that are old enough for nobody to be starting with them.
    fn remove_others(&self, current: &Path, link: &Path) {
        for entry in fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let is_rc_script = entry.file_name().as_encoded_bytes().starts_with(b"rc-");
            let is_old = age(&entry.path()).is_some_and(|age| age > Duration::from_hours(24));
            let is_current = entry.path() == current || entry.path() == link;
            if is_rc_script && is_old && !is_current {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl<'a> RcSource<'a> {
    fn of(wish: &RcWish<'a>) -> Option<Self> {
        Self::new(&wish.shell.program, wish.env)
    }

    fn new(program: &'a Path, env: &'a Variables) -> Option<Self> {
        let home = env.get("HOME")?.into();
        Some(Self { program, env, home })
    }

    fn has_rc(&self) -> bool {
        self.home.join(".bashrc").is_file()
    }

    fn standing(&self, directory: &Path) -> Standing {
        let link = self.link(directory);
        if let Some(path) = fs::read_link(&link).ok().map(|name| directory.join(name))
            && path.is_file()
        {
            return Standing::Ready(path);
        }
        let failure = failure_of(&link);
        match fs::read_to_string(&failure) {
            Ok(reason) if age(&failure).is_some_and(|age| age < FAILURE_HOLDS) => {
                Standing::Failed(reason)
            }
            _ => Standing::NotMade,
        }
    }

    /// The link to the rc script: another state of the rc files gets another name.
    fn link(&self, directory: &Path) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (self.program, &self.home, self.env.get("PATH"), SCRIPT).hash(&mut hasher);
        for name in RC_FILES {
            state_of(&self.home.join(name)).ok().hash(&mut hasher);
        }
        directory.join(format!("rc-bash-{:016x}.link", hasher.finish()))
    }

    /// Has a shell read the rc and report what it set up.
    async fn make(&self, like: &Plan, keepers: &Keepers) -> Result<Vec<u8>, String> {
        let plan = self.plan(like).map_err(|error| error.to_string())?;
        let never = CancellationToken::new();
        let run = exec::run_alone(&plan, keepers, None, &never).await;
        let PlanOutcome::Ended(run) =
            run.map_err(|failure| crate::Error::from(failure).to_string())?
        else {
            return Err("it became a job".to_owned());
        };
        if run.ended_by.is_some() {
            return Err(format!("it took longer than {} s", LIMIT.as_secs()));
        }
        let pieces = run.out.read(0..run.out.len().min(LARGEST));
        let mut text = Vec::new();
        for piece in pieces.map_err(|error| error.to_string())? {
            match piece {
                StreamPiece::Kept(bytes) => text.extend(bytes),
                StreamPiece::Dropped(_) => return Err("it is too large".to_owned()),
            }
        }
        match run.exit {
            _ if run.out.len() > LARGEST => Err("it is too large".to_owned()),
            Exit::Code(0) if text.ends_with(END) => Ok(text),
            _ => Err("it ended the shell".to_owned()),
        }
    }

    fn plan(&self, like: &Plan) -> io::Result<Plan> {
        let mut env = self.env.clone();
        env.retain(|name| !PRIVATE.iter().any(|own| name == *own));
        let args = ["--norc", "--noprofile", "-i", "-c"];
        let limits = Limits {
            timeout: LIMIT,
            grace: Duration::from_millis(100),
            drain_silence: Duration::ZERO,
            drain_total: Duration::ZERO,
            drain_finish: Duration::ZERO,
            survivors: Survivors::End,
        };
        Ok(Plan {
            place: Place::Here,
            vessel: Vessel::OwnShell,
            exclusive_in: None,
            restraint: None,
            shell: Shell {
                program: self.program.to_owned(),
                name: "bash".into(),
                args: args.map(Into::into).to_vec(),
            },
            script: Some(SCRIPT.to_owned()),
            rc_script: None,
            setup: None,
            program: None,
            cwd: OpenDirectory {
                path: like.cwd.path.clone(),
                fd: like.cwd.fd.try_clone()?,
            },
            env,
            stdin: StdinSource::Null,
            stdin_open: false,
            streams: Streams::Apart,
            lines: LineLimits::default(),
            make_directories: Vec::new(),
            limits,
            quota: like.quota,
            backgrounding: None,
            job: like.job.clone(),
            directory: like.directory.clone(),
            notes: Vec::new(),
            notices: Vec::new(),
        })
    }
}

fn state_of(path: &Path) -> io::Result<FileState> {
    let file = fs::metadata(path)?;
    Ok((file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

fn failure_of(path: &Path) -> PathBuf {
    path.with_extension("failed")
}

/// Where a file is while it is being made.
fn unfinished(path: &Path) -> PathBuf {
    path.with_extension(format!("{}.new", std::process::id()))
}

fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

/// Writes a file for its owner only, completely or not at all.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    prepare_runs_directory(path.parent().unwrap_or(Path::new("/")))?;
    let unfinished = unfinished(path);
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let written = options
        .open(&unfinished)
        .and_then(|mut file| file.write_all(text))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}
