//! What people do all day, held: tried, applied, undone, byte for byte. What is not installed here
//! is told.

use super::{HoldingEngine, bash, picture};
use bashd::Request;
use bashd::changes::Effects;
use bashd_testkit::loudly;
use bashd_testkit::repeat::is_soak;
use std::process::Command;

/// Tries a command in a project, applies it, has a script check what is there, and undoes it.
fn tried(name: &str, prepare: &str, command: &str, check: &str) {
    let site = HoldingEngine::new();
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

#[test]
fn cargo_builds_a_crate() {
    let prepare = "mkdir src; echo 'fn main() { println!(\"built\"); }' >src/main.rs; \
                   printf '[package]\\nname = \"tiny\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n[workspace]\\n' >Cargo.toml; \
                   cargo build --offline --target-dir /dev/shm/bashd-tiny-$$; rm -rf /dev/shm/bashd-tiny-$$ Cargo.lock";
    tried(
        "cargo build",
        prepare,
        "cargo build --offline",
        "[ $(target/debug/tiny) = built ]",
    );
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
    let prepare = "mkdir pkg; echo 'x = 7' >pkg/__init__.py; python3 -c 'import pip, setuptools'; \
                   printf '[project]\\nname = \"pkg\"\\nversion = \"1\"\\n[build-system]\\nrequires = []\\nbuild-backend = \"setuptools.build_meta\"\\n' >pyproject.toml; \
                   python3 -m venv --system-site-packages v";
    tried(
        "pip install -e",
        prepare,
        "v/bin/python -m pip install -q --no-index --no-build-isolation --no-deps -e .",
        "[ $(cd /; \"$OLDPWD/v/bin/python\" -c 'import pkg; print(pkg.x)') = 7 ]",
    );
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
