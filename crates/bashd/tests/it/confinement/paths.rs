//! Random ways to a file, while others move the directories under them: none leads to a write
//! outside. The same script is run unconfined first, where some of it must get out, or it shows
//! nothing.

use super::ConfinedEngine;
use bashd::Request;
use bashd::config::Preset;
use bashd_testkit::{Home, as_each_user, loudly, repetitions};
use std::fs;
use std::path::Path;
use std::time::Duration;

const PYTHON: &str = "/usr/bin/python3";

/// So deep that no path of the walk, which has four parts at most, leaves the home of this test:
/// unconfined it would write there.
const DEEP: &str = "1/2/3/4/5/6/7/8";

/// Ways that are tried; a twentieth of them in every run of the tests.
const WAYS: usize = 20_000;

/// Makes links, moves directories about in a second process, and writes along random paths. Its
/// arguments: a seed, how many, the directory outside.
const WALKER: &str = r#"
import os, random, sys, errno
seed, count, outside = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
random.seed(seed)
here = os.getcwd()
names = ["a", "b", "c", "d"]
targets = [outside, here, "..", ".", "/proc/self/root" + outside, "/proc/self/cwd", os.path.join(outside, "deep")]
def shake(rounds):
    for _ in range(rounds):
        x, y = random.choice(names), random.choice(names)
        try:
            kind = random.randrange(5)
            if kind == 0: os.symlink(random.choice(targets), x)
            elif kind == 1: os.rename(x, y)
            elif kind == 2: os.mkdir(x)
            elif kind == 3: os.unlink(x)
            else: os.rename(x, os.path.join(y, "in"))
        except OSError: pass
shaker = os.fork()
if shaker == 0:
    random.seed(seed + 1)
    shake(count * 4)
    os._exit(0)
up = "../" * (here.count("/") + 2)
def part():
    return random.choice(names + ["..", ".", "in", "deep", "file"])
written = 0
for n in range(count):
    beginning = random.choice(["", here + "/", outside + "/", "/proc/self/root" + outside + "/", "/proc/self/cwd/", up + outside[1:] + "/"])
    path = beginning + "/".join(part() for _ in range(random.randrange(1, 5)))
    how = random.randrange(6)
    try:
        if how == 0: os.close(os.open(path + f"/new{n}", os.O_WRONLY | os.O_CREAT, 0o644))
        elif how == 1: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644))
        elif how == 2: os.mkdir(path + f"/dir{n}")
        elif how == 3: os.rename(path, random.choice(names))
        elif how == 4: os.link(path, f"link{n}"); open(f"link{n}", "a").write("x")
        else:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try: os.close(os.open(f"at{n}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd))
            finally: os.close(fd)
        written += 1
    except OSError: pass
os.waitpid(shaker, 0)
print("done", written)
"#;

/// Everything below a directory, with what is in its files and when they changed.
fn contents(at: &Path, found: &mut Vec<String>) {
    let entries = fs::read_dir(at).expect("a directory").flatten();
    for entry in entries {
        let path = entry.path();
        let meta = path.symlink_metadata().expect("a file");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let modified = meta.modified().ok();
        found.push(format!("{} {text:?} {modified:?}", path.display()));
        if meta.is_dir() {
            contents(&path, found);
        }
    }
    found.sort();
}

/// What a walk did to the outside, and what it said.
fn walk(preset: Option<Preset>, seed: usize, count: usize) -> (bool, String) {
    let site = ConfinedEngine::with(Home::new(), |home, config| {
        config.confinement.preset = preset;
        // It is seen inside, so that there is something to be kept from.
        let outside = home.root().join("outside");
        fs::create_dir(&outside).expect("a directory");
        config.confinement.read = vec!["/".to_owned(), outside.display().to_string()];
    });
    let top = site.home.root().join("outside");
    let outside = top.join(DEEP);
    fs::create_dir_all(outside.join("deep")).expect("a directory");
    fs::write(outside.join("file"), "as it was").expect("a file");
    fs::write(outside.join("deep/file"), "as it was").expect("a file");
    fs::write(site.home.workspace().join("walker.py"), WALKER).expect("a script");
    let (mut before, mut after) = (Vec::new(), Vec::new());
    contents(&top, &mut before);
    let script = format!(
        "mkdir -p {DEEP} && cd {DEEP} && {PYTHON} {}/walker.py {seed} {count} {}",
        site.home.workspace().display(),
        outside.display()
    );
    let reply = site.run(Request::new(script).timeout(Duration::from_mins(5)));
    contents(&top, &mut after);
    (before == after, reply.output.as_str().to_owned())
}

#[test]
fn no_path_leads_outside_however_it_is_twisted() {
    if !Path::new(PYTHON).exists() {
        loudly("no python3: random paths are NOT tried");
        return;
    }
    as_each_user(|| {
        let seed = 20_261;
        let (is_untouched, said) = walk(None, seed, 200);
        assert!(
            said.starts_with("done") && !is_untouched,
            "shows nothing: {said}"
        );
        let (is_untouched, said) = walk(Some(Preset::Workspace), seed, repetitions(WAYS));
        assert!(said.starts_with("done"), "{said}");
        assert!(is_untouched, "seed {seed}: something outside was changed");
        let (is_untouched, said) = walk(Some(Preset::ReadOnly), seed, 100);
        assert!(is_untouched, "seed {seed}: read-only: {said}");
    });
}
