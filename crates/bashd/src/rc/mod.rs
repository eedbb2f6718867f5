//! What the user's rc file sets up (aliases, functions, options, `PATH`), for shells that never
//! read it.
//!
//! An rc file takes up to half a second and may ask questions. So it is read once, by a separate
//! bash with no input and little time, and what it set up is written to a script that other shells
//! source. The script's name depends on what it says, so that a file which was only touched makes
//! no other script; a link, whose name depends on the state of the rc files, leads to it. A failure
//! is remembered for a while, and means that there is none; `bashd doctor` reports it.

use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{self, Exit, Keepers, PlanOutcome};
use crate::near;
use crate::output::line_limits::LineLimits;
use crate::output::{Source, StreamPiece};
use crate::plan::{
    Draft, Limits, OpenDirectory, Plan, RcWish, Shell, StdinSource, Streams, Survivors, Vessel,
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
    /// Whether the shell that sources it becomes the one program that it is to run.
    pub(crate) becomes_program: bool,
}

/// What there is for the shell of a draft.
enum RcFound {
    /// This.
    Script(RcScript),
    /// Nothing, and nothing is to be made.
    Nothing,
    /// Nothing yet; it would be found by this link.
    NotMade(PathBuf),
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
    standing_of(&origin.link(directory))
}

/// What this link leads to.
fn standing_of(link: &Path) -> Standing {
    let directory = link.parent().unwrap_or(Path::new("/"));
    if let Some(path) = fs::read_link(link).ok().map(|name| directory.join(name))
        && path.is_file()
    {
        return Standing::Ready(path);
    }
    let failure = failure_of(link);
    match fs::read_to_string(&failure) {
        Ok(reason) if age(&failure).is_some_and(|age| age < FAILURE_HOLDS) => {
            Standing::Failed(reason)
        }
        _ => Standing::NotMade,
    }
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
    pub(crate) async fn get(
        &self,
        draft: Draft,
        keepers: &Keepers,
    ) -> Result<(Draft, Option<RcScript>)> {
        let (draft, found) = self.look(draft).await?;
        match found {
            RcFound::Script(script) => return Ok((draft, Some(script))),
            RcFound::Nothing => return Ok((draft, None)),
            // A process that ends after its call would make it for nobody.
            RcFound::NotMade(_) if keepers.is_for_one_call() => return Ok((draft, None)),
            RcFound::NotMade(link) => {
                if let Some(wish) = draft.rc_wish()
                    && let Some(source) = RcSource::of(&wish)
                {
                    self.make((&source, &link), &wish, keepers).await;
                }
            }
        }
        let (draft, found) = self.look(draft).await?;
        Ok(match found {
            RcFound::Script(script) => (draft, Some(script)),
            RcFound::Nothing | RcFound::NotMade(_) => (draft, None),
        })
    }

    /// Looks for it: here if everything is near, else by an errand.
    async fn look(&self, draft: Draft) -> Result<(Draft, RcFound)> {
        let far = draft.rc_wish().and_then(|wish| {
            let source = RcSource::of(&wish)?;
            let files = RC_FILES.map(|name| source.home.join(name)).into_iter();
            let mut files = files.chain(draft.one_program().map(PathBuf::from));
            files.find(|file| !near::is_near_or_missing(file))
        });
        let Some(far) = far else {
            let found = find(&draft, &self.directory, |path| self.text(path));
            return Ok((draft, found));
        };
        let directory = self.directory.clone();
        let looked = errand::go(&far, move || {
            let found = find(&draft, &directory, |path| Ok(fs::read(path)?.into()));
            (draft, found)
        });
        let failed = |failure: errand::ErrandFailure| {
            Error::io(
                ErrorKind::Io,
                format!("look at {}", far.display()),
                failure.into(),
            )
        };
        looked.await.map_err(failed)
    }

    /// Makes the script, unless another call does so at the same time.
    async fn make(
        &self,
        (source, link): (&RcSource<'_>, &Path),
        wish: &RcWish<'_>,
        keepers: &Keepers,
    ) {
        let _alone = self.making.lock().await;
        // An earlier holder of the lock may have made it.
        match standing_of(link) {
            Standing::Ready(_) | Standing::Failed(_) => return,
            Standing::NoRc | Standing::NotMade => {}
        }
        let written = match source.make(wish.like, keepers).await {
            Ok(text) => self.store(&text, link),
            Err(reason) => Err(io::Error::other(reason)),
        };
        match written {
            Ok(path) => self.remove_others(&path, link),
            Err(error) => {
                let _ = write(&failure_of(link), error.to_string().as_bytes());
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
    async fn make(&self, like: &Plan, keepers: &Keepers) -> std::result::Result<Vec<u8>, String> {
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
                StreamPiece::Dropped(_) | StreamPiece::Replaced { .. } => {
                    return Err("it is too large".to_owned());
                }
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
        env.retain(|name, _| !PRIVATE.iter().any(|own| name == *own));
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
            effects: crate::changes::Effects::Now,
            vessel: Vessel::OwnShell,
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
            silence: None,
            quota: like.quota,
            records: false,
            backgrounding: None,
            answer_by: None,
            job: like.job.clone(),
            directory: like.directory.clone(),
            notes: Vec::new(),
            notices: Vec::new(),
        })
    }
}

/// What there is for the shell of a draft, if it wants something.
fn find(draft: &Draft, directory: &Path, text: impl Fn(&Path) -> io::Result<Arc<[u8]>>) -> RcFound {
    let wish = draft.rc_wish();
    let source = wish.as_ref().and_then(RcSource::of);
    let Some(source) = source.filter(RcSource::has_rc) else {
        return RcFound::Nothing;
    };
    let link = source.link(directory);
    match standing_of(&link) {
        Standing::Ready(path) => RcFound::Script(RcScript {
            becomes_program: draft.one_program().is_some()
                && text(&path).is_ok_and(|text| draft.becomes_program(&text)),
            path,
        }),
        Standing::Failed(_) => RcFound::Nothing,
        Standing::NoRc | Standing::NotMade => RcFound::NotMade(link),
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
