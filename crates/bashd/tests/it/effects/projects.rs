//! What people do all day, held: tried, applied, undone, byte for byte. What is not installed here
//! is told.

use super::{HoldingEngine, bash, picture};
use bashd::Request;
use bashd::changes::Effects;
use bashd_testkit::loudly;
use bashd_testkit::repeat::is_soak;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tries a command in a project, applies it, has a script check what is there, and undoes it.
fn tried(name: &str, prepare: &str, command: &str, check: &str) {
    tried_at(&HoldingEngine::new(), name, [prepare, command, check]);
}

fn tried_at(site: &HoldingEngine, name: &str, [prepare, command, check]: [&str; 3]) {
    let root = site.home.workspace();
    let plainly = |script: &str| {
        let done = Command::new("bash")
            .args(["-ec", script])
            .env_clear()
            .envs(site.home.env())
            .current_dir(&root)
            .output()
            .expect("bash");
        done.status.success().then_some(()).ok_or(done)
    };
    if let Err(done) = plainly(prepare) {
        loudly(&format!("effects of {name} are NOT tried: {done:?}"));
        return;
    }
    let before = picture(&root);
    let reply = site.run(Request::new(command).effects(Effects::Hold));
    assert_eq!(reply.exit_code, Some(0), "{name}: {reply:?}");
    assert_eq!(picture(&root), before, "{name}, held");
    let id = reply.changes.and_then(|changes| changes.id).expect("an id");
    for round in ["applied", "applied again"] {
        site.apply(&id);
        if let Err(done) = plainly(check) {
            panic!("{name}, {round}: {done:?}");
        }
        site.undo(&id);
        assert_eq!(picture(&root), before, "{name}, undone");
    }
}

/// What git says of a directory, without writing there.
const CLEAN: &str =
    "[ -z \"$(git --no-optional-locks status --porcelain)\" ]; git fsck --no-progress";

const REPOSITORY: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
    git init -q -b main .; git config user.name a; git config user.email a@b; \
    for i in 1 2 3; do echo $i >f$i; git add .; git commit -qm $i; done; git checkout -qb topic HEAD~2; \
    for i in 4 5; do echo $i >f$i; git add .; git commit -qm $i; done; echo '/sub/' >.git/info/exclude; \
    git init -q -b main sub; git -C sub config user.name a; git -C sub config user.email a@b; \
    echo x >sub/x; git -C sub add .; git -C sub commit -qm x; git status";

#[test]
fn a_rebase_and_a_commit_in_a_repository_below() {
    let check = format!("{CLEAN}; [ $(git log --oneline | wc -l) = 5 ]; cd sub; {CLEAN}; [ -f y ]");
    let command = "git rebase -q main && cd sub && echo y >y && git add y && git commit -qm y";
    tried("git rebase", REPOSITORY, command, &check);
}

#[test]
fn a_thousand_files_are_edited_and_removed() {
    let prepare = "mkdir -p src/deep; for i in $(seq 500); do echo old $i >src/$i; echo old $i >src/deep/$i; done";
    let check = "[ $(cat src/* src/deep/* 2>/dev/null | grep -c new) = 1000 ]";
    tried(
        "sed -i",
        prepare,
        "sed -i s/old/new/ src/[0-9]* src/deep/*",
        check,
    );
    tried("rm -rf", prepare, "rm -rf src", "[ ! -e src ]");
}

#[test]
fn make_installs_into_a_directory() {
    let prepare = "printf 'install: prog\\n\\tinstall -D -m 755 prog $(DESTDIR)/usr/bin/prog\\n\\tinstall -D -m 644 doc $(DESTDIR)/usr/share/doc\\nprog:\\n\\techo x >prog\\n' >Makefile; \
                   echo d >doc; mkdir -p root/usr/bin; echo old >root/usr/bin/prog; make -v";
    tried(
        "make install",
        prepare,
        "make install DESTDIR=root",
        "[ $(cat root/usr/bin/prog) = x ] && [ -f root/usr/share/doc ] && [ -x root/usr/bin/prog ]",
    );
}

/// The first line that a program of this test's own environment says. What is found by way of the
/// home (a toolchain of rustup, a Python of pyenv) is not found from the bare one.
fn told(program: &str, words: &[&str]) -> Option<String> {
    let done = Command::new(program).args(words).output().ok()?;
    let told = String::from_utf8(done.stdout).ok()?;
    let line = told.lines().next()?.to_owned();
    done.status.success().then_some(line)
}

/// With the toolchain of whoever runs this test, as they have it: below their home, where rustup
/// finds it. What it writes there goes with the run.
#[test]
fn cargo_builds_a_crate() {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.filter(|home| home.join(".cargo/bin/cargo").exists());
    let site = match &home {
        Some(home) => HoldingEngine::of_user(home),
        None => HoldingEngine::new(),
    };
    let toolchain = told("rustc", &["--print", "sysroot"]).unwrap_or_default();
    let prepare = format!(
        "PATH='{toolchain}/bin':$PATH; mkdir -p src lib/src; echo 'fn main() {{ println!(\"built {{}}\", part::PART); }}' >src/main.rs; \
         echo 'pub const PART: u8 = 7;' >lib/src/lib.rs; \
         printf '[package]\nname = \"part\"\nversion = \"0.1.0\"\nedition = \"2021\"\n' >lib/Cargo.toml; \
         printf '[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\npart = {{ path = \"lib\" }}\n' >Cargo.toml; \
         cargo --version"
    );
    let before = home.as_deref().map(entries);
    tried_at(
        &site,
        "cargo build",
        [
            &prepare,
            "PATH=$HOME/.cargo/bin:$PATH cargo build --offline",
            "[ \"$(target/debug/tiny)\" = 'built 7' ]",
        ],
    );
    assert_eq!(home.as_deref().map(entries), before, "the home was written");
}

/// The names in a home and in what cargo has there.
fn entries(home: &Path) -> BTreeSet<OsString> {
    let directories = [home.to_owned(), home.join(".cargo")];
    let read = directories.iter().flat_map(std::fs::read_dir).flatten();
    read.flatten().map(|entry| entry.file_name()).collect()
}

/// Of what cargo and rustup have at home all is seen but the credentials.
#[test]
fn toolchains_at_home_are_seen_and_their_credentials_are_not() {
    let site = HoldingEngine::new();
    let own = site.home.home();
    let script = "mkdir -p .cargo/bin .rustup/toolchains/t/bin; echo token >.cargo/credentials.toml; cp .cargo/credentials.toml .cargo/credentials; \
                  echo '[net]' >.cargo/config.toml; printf '#!/bin/sh\necho built >made; cat ~/.cargo/config.toml\n' >.rustup/toolchains/t/bin/cargo; \
                  chmod +x .rustup/toolchains/t/bin/cargo; ln -s ../../.rustup/toolchains/t/bin/cargo .cargo/bin/cargo";
    bash(script, &own);
    let reply = site.run(Request::new("~/.cargo/bin/cargo").effects(Effects::Hold));
    assert_eq!((reply.exit_code, &*reply.output), (Some(0), "[net]\n"));
    for name in ["credentials", "credentials.toml"] {
        let request = Request::new(format!("cat ~/.cargo/{name}")).effects(Effects::Hold);
        let reply = site.run(request);
        assert_eq!(reply.exit_code, Some(1), "{reply:?}");
        assert!(!reply.output.contains("token"), "{reply:?}");
    }
}

#[test]
fn npm_installs_a_package() {
    let prepare = "mkdir dep; echo '{\"name\": \"dep\", \"version\": \"1.0.0\"}' >dep/package.json; echo 'module.exports = 7' >dep/index.js; \
                   tar czf dep.tgz --transform s/^dep/package/ dep; echo '{\"name\": \"top\", \"version\": \"1.0.0\"}' >package.json; npm --version";
    tried(
        "npm install",
        prepare,
        "npm install --offline --no-audit --no-fund ./dep.tgz",
        "[ $(node -p 'require(\"dep\")') = 7 ]",
    );
}

#[test]
fn pip_installs_what_is_edited() {
    // One that has all of it: a package can't be fetched here.
    let has_all = |python: &&str| {
        let modules = "import setuptools, wheel, venv, pip, sys; print(sys.executable)";
        told(python, &["-c", modules]).is_some()
    };
    let python = ["/usr/bin/python3", "python3"].into_iter().find(has_all);
    let python = python.unwrap_or("no-python-with-pip-setuptools-and-wheel");
    let prepare = format!(
        "mkdir pkg; echo 'x = 7' >pkg/__init__.py; {python} -m venv --system-site-packages v; \
         printf '[project]\\nname = \"pkg\"\\nversion = \"1\"\\n[build-system]\\nrequires = []\\nbuild-backend = \"setuptools.build_meta\"\\n[tool.setuptools]\\npackages = [\"pkg\"]\\n' >pyproject.toml"
    );
    tried(
        "pip install -e",
        &prepare,
        "v/bin/python -m pip install -q --no-index --no-build-isolation --no-deps -e .",
        "python=$PWD/v/bin/python; [ $(cd /; PYTHONDONTWRITEBYTECODE=1 $python -c 'import pkg; print(pkg.x)') = 7 ]",
    );
}

#[test]
fn a_submodule_is_changed_committed_and_taken_back() {
    let prepare = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
        git init -q -b main part; cd part; echo x >x; git add x; git commit -qm x; cd ..; \
        git init -q -b main top; cd top; git config user.name a; git config user.email a@b; \
        git -c protocol.file.allow=always submodule --quiet add ../part sub; git commit -qm sub; \
        git -C sub config user.name a; git -C sub config user.email a@b; git status";
    let check = format!(
        "cd top; {CLEAN}; [ \"$(git submodule status | cut -c1)\" = ' ' ]; cd sub; {CLEAN}; [ -f y ]"
    );
    let command = "cd top/sub && echo y >y && git add y && git commit -qm y && cd .. && git add sub && git commit -qm up";
    tried("git submodule", prepare, command, &check);
}

#[test]
fn a_great_many_files_in_a_directory_that_stays() {
    let many = if is_soak() { 100_000 } else { 2_000 };
    let site = HoldingEngine::new();
    let root = site.home.workspace();
    bash("mkdir many; touch many/0", &root);
    let id = site.hold(&format!("cd many; seq {many} | xargs touch; rm 0"));
    let count = || std::fs::read_dir(root.join("many")).expect("it").count();
    site.apply(&id);
    assert_eq!(count(), many);
    site.undo(&id);
    assert_eq!(count(), 1);
}
