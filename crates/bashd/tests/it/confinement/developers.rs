//! Commands of developers' days, in `workspace` as outside, from `cases/confinement/commands.toml`.
//! The page's table is made from that file; each row is run in a soak, the quick ones always.

use super::{ConfinedEngine, Preset};
use bashd::config::{Config, Surroundings};
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::cases::{self, Named};
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{Home, as_each_user, loudly};
use serde::Deserialize;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/confinement");
const PAGE: &str = include_str!("../../../../../docs/confinement.md");
const BEGIN: &str = "<!-- made by the test `what_developers_do_is_what_the_page_says` -->";
const END: &str = "<!-- end of the commands -->";

/// The issue of a table that says less is smaller than its space.
const FEWEST: usize = 60;

/// The slowest of them compile something.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeveloperCase {
    name: String,
    group: String,
    /// The program without which it can't be tried.
    needs: String,
    /// What is there before, made unconfined.
    #[serde(default)]
    before: String,
    run: String,
    /// What to do about it, if it can't be done inside.
    refused: Option<String>,
    /// What is said then.
    #[serde(default)]
    says: String,
    /// Whether it is tried in every run of the tests.
    #[serde(default)]
    quick: bool,
    /// Whether only root can do it outside.
    #[serde(default)]
    only_root: bool,
    /// Whether its program is installed in the user's own home.
    #[serde(default)]
    own_home: bool,
}

impl Named for DeveloperCase {
    fn name(&self) -> &str {
        &self.name
    }
}

fn all() -> Vec<DeveloperCase> {
    let cases = cases::load(Path::new(CASES)).into_iter();
    cases.map(|(_, case)| case).collect()
}

impl DeveloperCase {
    /// Runs it in a new directory of a home, which is the workspace.
    fn run_in(&self, home: &Home, number: usize, preset: Preset) -> Reply {
        let place = home.workspace().join(format!("case-{number}"));
        fs::create_dir(&place).expect("a workspace");
        let run = |script: &str, preset: Preset| {
            let mut config = Config::new(home.state());
            config.minimizer.enabled = false;
            config.confinement.preset = Some(preset);
            config.confinement.workspace = Some(place.clone());
            let surroundings = Surroundings {
                cwd: place.clone(),
                env: self.variables(home),
            };
            let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(engine.run(Request::new(script).timeout(PATIENCE)))
        };
        if !self.before.is_empty() {
            let made = run(&self.before, Preset::Off);
            assert_eq!(made.exit_code, Some(0), "{}: before: {made:?}", self.name);
        }
        run(&self.run, preset)
    }

    /// What is not as the table says.
    fn judge(&self, free: &Reply, held: &Reply) -> Option<String> {
        let is_done = |reply: &Reply| reply.exit_code == Some(0);
        let is_right = match self.refused {
            Some(_) => !is_done(held) && held.output.contains(&self.says),
            None => is_done(held),
        };
        let trouble = |where_it_was: &str, reply: &Reply| {
            Some(format!("{}, {where_it_was}: {}", self.name, reply.text))
        };
        if !is_done(free) {
            trouble("outside", free)
        } else if !is_right {
            trouble("inside", held)
        } else {
            None
        }
    }

    fn variables(&self, home: &Home) -> Vec<(OsString, OsString)> {
        let mut env = home.env();
        let path = std::env::var_os("PATH").unwrap_or_default();
        env.retain(|(name, _)| name != "PATH");
        env.push(("PATH".into(), path));
        if self.own_home {
            env.retain(|(name, _)| name != "HOME");
            env.push(("HOME".into(), std::env::var_os("HOME").unwrap_or_default()));
        }
        env
    }

    fn can_be_tried(&self) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&paths).map(|path: PathBuf| path.join(&self.needs));
        let first = found.into_iter().find(|path| fs::File::open(path).is_ok());
        let is_root = rustix::process::geteuid().is_root();
        // What is in somebody's home, or below /tmp, is not seen inside by others.
        let is_seen = |program: &PathBuf| {
            let home = std::env::var_os("HOME").map(PathBuf::from);
            let unseen = home.into_iter().chain(["/tmp".into(), "/root".into()]);
            self.own_home || !unseen.into_iter().any(|place| program.starts_with(place))
        };
        first.as_ref().is_some_and(is_seen) && (is_root || !self.only_root && !self.own_home)
    }
}

#[test]
fn what_developers_do_works_inside_or_is_refused_as_the_table_says() {
    as_each_user(|| {
        let (outside, inside) = (Home::new(), Home::new());
        let (mut tried, mut missing, mut wrong) = (0, Vec::new(), Vec::new());
        for (number, case) in all().iter().enumerate() {
            if !case.quick && !is_soak() {
                continue;
            }
            if !case.can_be_tried() {
                missing.push(case.name.clone());
                continue;
            }
            let free = case.run_in(&outside, number, Preset::Off);
            let held = case.run_in(&inside, number, Preset::Workspace);
            wrong.extend(case.judge(&free, &held));
            tried += 1;
        }
        if !missing.is_empty() {
            loudly(&format!(
                "without their programs NOT tried: {}",
                missing.join("; ")
            ));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(tried >= 8, "only {tried} could be tried");
    });
}

#[test]
fn what_developers_do_is_what_the_page_says() {
    let cases = all();
    assert!(cases.len() >= FEWEST, "{} commands", cases.len());
    let mut table = "| command | in `workspace` |\n|---|---|\n".to_owned();
    let mut last = "";
    for case in &cases {
        if case.group != last {
            let _ = writeln!(table, "| *{}* | |", case.group);
            last = &case.group;
        }
        let how = match &case.refused {
            Some(what) => format!("refused: {what}"),
            None => "as outside".to_owned(),
        };
        let _ = writeln!(table, "| {} | {how} |", case.name);
    }
    let (before, rest) = PAGE.split_once(BEGIN).expect("the table's place");
    let (_, after) = rest.split_once(END).expect("the table's end");
    let page = format!("{before}{BEGIN}\n\n{table}\n{END}{after}");
    if std::env::var_os("BASHD_BLESS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/confinement.md");
        fs::write(path, page).expect("the page");
    } else {
        assert_eq!(PAGE, page, "BASHD_BLESS=1 writes it anew");
    }
}

#[test]
fn the_home_is_as_it_was_after_a_confined_run() {
    let site = ConfinedEngine::new(|_| {});
    let reply = site.run(Request::new(
        "echo x > ~/.made && mkdir -p ~/.cache && cat ~/.made",
    ));
    assert_eq!(&*reply.output, "x\n", "{reply:?}");
    assert!(!site.home.home().join(".made").exists());
}
