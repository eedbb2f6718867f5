"""Installs what `./dist` built, each way in an empty root of its own without a network, and runs `bashd run 'echo hello'` there.

    install.py --packages DIRECTORY --cache DIRECTORY [--smoke] [--only WAY]

The root is Debian's smallest, made once by debootstrap and kept in the cache; every way gets a layer over it, so that none sees another.
`--smoke` needs none of that: its root has busybox, bash and the libraries of the program, and it tries the installer, the archive and the
Debian package. Prints a table with sizes and times. Exits with 77 where none of this can be tried.
"""

import argparse
import contextlib
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import registry

NOT_HERE = 77
OWN = f"{os.uname().machine}-linux"
# What the kernel hands programs for the other kind of machine to, and how it knows them.
FORMATS = Path("/proc/sys/fs/binfmt_misc")
FOREIGN = "aarch64" if os.uname().machine == "x86_64" else "x86_64"
EMULATOR = shutil.which(f"qemu-{FOREIGN}-static")
HEADS = {"aarch64": r"\xb7\x00", "x86_64": r"\x3e\x00"}
HERE = Path(__file__).resolve().parent
HELLO = "bashd run 'echo hello'"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Mounts what a root needs, in namespaces of its own, and goes there. Its words: the root, the layer to mount on it, what is below that, the
# packages; then the command.
INSIDE = """
set -eu
root=$1 layer=$2
if [ -n "$layer" ]; then mount -t overlay overlay -o "lowerdir=$3,upperdir=$layer/upper,workdir=$layer/work" "$root"; fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root/tmp/packages" "$root/home/me"
mount --bind "$4" "$root/tmp/packages"
command -v ip >/dev/null && ip link set lo up
shift 4
exec chroot "$root" env -i HOME=/home/me PATH=%s LANG=C.UTF-8 "$@"
""" % PATH


class Untried(Exception):
    """This way can't be tried here."""


def not_here(reason):
    print(reason, file=sys.stderr)
    sys.exit(NOT_HERE)


def say(text):
    print(text, file=sys.stderr, flush=True)


class Root:
    """An empty root, which what is done in it changes for this way alone."""

    def __init__(self, place, base, packages, layered):
        self.base, self.packages, self.layer = Path(base), Path(packages), place if layered else ""
        self.mounted = place / "root" if layered else self.base
        if layered:
            for name in ("root", "upper", "work"):
                (place / name).mkdir(parents=True)
        self.changed = place / "upper" if layered else self.base

    def run(self, script, shell=("/bin/sh", "-c"), expect=0):
        """Runs a script inside; its stdout, and the seconds that it took."""
        words = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", INSIDE, "inside"]
        words += [str(self.mounted), str(self.layer), str(self.base), str(self.packages), *shell, script]
        begun = time.monotonic()
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        took = time.monotonic() - begun
        if done.returncode != expect:
            raise AssertionError(f"{script}\nexited with {done.returncode}, not {expect}:\n{done.stdout}\n{done.stderr}")
        return done.stdout + (done.stderr if expect else ""), took

    def size(self):
        """The bytes of what was added."""
# uv and others link a file a second time.
        found = (path.lstat() for path in self.changed.rglob("*") if path.is_file() and not path.is_symlink())
        return sum({one.st_ino: one.st_size for one in found}.values())


# Something that is minimized, so that there are tokens to count.
STATS = "cd /tmp && for n in $(seq 99); do echo needle $n; done >hay && mkdir -p d && cp hay d && bashd run 'grep -rn needle .' >hidden && bashd stats --json"


def tried(root, way, command=HELLO, exact=True, path=""):
    """Runs the command thrice and counts tokens; the shortest time."""
    words = f"export PATH={path}:$PATH; " if path else ""
    times = []
    for _ in range(3):
        told, took = root.run(words + command)
        assert told == "hello\n", f"{way}: {told!r}"
        times.append(took)
    stats, _ = root.run(words + STATS.replace("bashd", command.split(" run ")[0]))
    stats = json.loads(stats)
    assert stats["total"]["calls"] == 1, f"{way}: {stats}"
    assert stats["tokenizer"] == ("o200k_base" if exact else None), f"{way}: {stats}"
    return min(times)


def one(packages, pattern):
    found = sorted(packages.glob(pattern))
    assert len(found) == 1, f"{pattern} in {packages}: {found}"
    return found[0]


@contextlib.contextmanager
def emulated():
    """Meanwhile, programs for the other kind of machine run here, in every root, by qemu."""
    if not EMULATOR:
        raise Untried(f"there is no qemu-{FOREIGN}-static")
    if not (FORMATS / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", FORMATS], check=False)
    ours = FORMATS / f"bashd-{FOREIGN}"
    head = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00" + HEADS[FOREIGN]
    # A fixed or a position-independent program; F: qemu is opened now, so that it need not be in the root.
    mask = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    try:
        (FORMATS / "register").write_text(f":{ours.name}:M::{head}:{mask}:{EMULATOR}:F")
    except OSError as error:
        raise Untried(f"the kernel takes no further kind of program: {error}") from error
    try:
        yield
    finally:
        ours.write_text("-1")


def pages_are_whole(share):
    """Every manual page that another one names is there, and every page that the README links."""
    texts, folder = {}, share / "man/man1"
    for path in folder.glob("bashd*"):
        texts[path.name.removesuffix(".gz")] = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    named = {name.replace("\\", "") for text in texts.values() for name in re.findall(r"\bbashd(?:\\?-[a-z]+)+(?=\(1\))", text)}
    missing = sorted(name for name in named if f"{name}.1" not in texts)
    assert "bashd-jobs-attach" in named and not missing, f"manual pages that are missing: {missing}"
    readme = share / "doc/bashd/README.md"
    linked = set(re.findall(r"\]\((docs/[^)#]+)", readme.read_text()))
    missing = sorted(name for name in linked if not (readme.parent / name).exists())
    assert len(linked) > 40 and not missing, f"pages that are missing: {missing}"


def archive_foreign(root, packages):
    with emulated():
        return archive(root, packages, f"{FOREIGN}-linux")


def archive(root, packages, machine=OWN):
    if machine != OWN and not list(packages.glob(f"bashd-*-{machine}.tar.gz")):
        raise Untried("./dist did not build it here")
    file = one(packages, f"bashd-*-{machine}.tar.gz")
    _, took = root.run(f"mkdir -p /usr/local && gzip -dc /tmp/packages/{file.name} | tar -xf - -C /usr/local --strip-components=1")
    return file, took, tried(root, "archive")


def archive_musl(root, packages):
    return archive(root, packages, f"{OWN}-musl")


def installer(root, packages):
    file = one(packages, f"bashd-*-{OWN}.tar.gz")
    _, took = root.run("sh /tmp/packages/install.sh --base file:///tmp/packages")
    hello = tried(root, "installer", path="/home/me/.local/bin")
    # Again over itself, then away again, with everything that it brought.
    root.run("sh /tmp/packages/install.sh --base file:///tmp/packages && sh /tmp/packages/install.sh --uninstall")
    left, _ = root.run("find /home/me/.local -type f ! -path '*/state/*'")
    assert left == "", f"left behind: {left}"
    root.run("sh /tmp/packages/install.sh --base file:///tmp/packages")
    return file, took, hello


def damaged(root, packages):
    """An archive whose bytes are not those of SHA256SUMS is not installed."""
    name = one(packages, f"bashd-*-{OWN}.tar.gz").name
    script = f"mkdir /tmp/bad && cp /tmp/packages/SHA256SUMS /tmp/bad && head -c 1000 /tmp/packages/{name} >/tmp/bad/{name} && "
    script += "sh /tmp/packages/install.sh --base file:///tmp/bad --prefix /opt/bashd"
    told, _ = root.run(script, expect=1)
    assert "damaged or not ours" in told and "Nothing was installed" in told, told
    told, _ = root.run("ls /opt")
    assert told == "", told


def deb(root, packages):
    file = one(packages, "bashd_*_" + {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine] + ".deb")
    _, took = root.run(f"dpkg --install /tmp/packages/{file.name}")
    for path in ("lib/systemd/user/bashd.service", "share/bash-completion/completions/bashd", "share/zsh/vendor-completions/_bashd"):
        root.run(f"test -s /usr/{path}")
    listed, _ = root.run("dpkg --listfiles bashd | grep -c man1/bashd")
    # Debian's smallest root in containers leaves manuals out; this one does not.
    assert int(listed) > 10, listed
    hello = tried(root, "deb")
    root.run("dpkg --purge bashd && ! command -v bashd && ! test -e /usr/share/bashd")
    root.run(f"dpkg --install /tmp/packages/{file.name}")
    return file, took, hello


def pip(root, packages):
    file = one(packages, f"bashd-*_{os.uname().machine}.whl")
    _, took = root.run("python3 -m venv /opt/v && /opt/v/bin/pip install --quiet --no-index --find-links /tmp/packages bashd")
    told, _ = root.run("/opt/v/bin/python -c 'import bashd\nwith bashd.SyncClient() as c: print(c.run(\"echo typed\").text)'")
    assert told.strip() == "typed", told
    return file, took, tried(root, "pip", path="/opt/v/bin")


def uvx(root, packages, cache):
    for name in ("uv", "uvx"):
        shutil.copy(cache / "uv" / "bin" / name, root.changed / name)
    file = one(packages, f"bashd-*_{os.uname().machine}.whl")
    command = "/uvx --offline --no-index --find-links /tmp/packages --quiet bashd"
    before = root.size()
    _, took = root.run(f"{command} --version")
    return file, took, tried(root, "uvx", f"{command} run 'echo hello'"), root.size() - before


def npx(root, packages):
    node = Path(subprocess.check_output(["node", "-p", "process.execPath"], text=True).strip())
    modules = Path(subprocess.check_output(["npm", "root", "-g"], text=True).strip()) / "npm"
    (root.changed / "usr/lib").mkdir(parents=True)
    (root.changed / "usr/bin").mkdir()
    shutil.copy(node, root.changed / "usr/bin/node")
    shutil.copytree(modules, root.changed / "usr/lib/npm", symlinks=True)
    file = one(packages, "bashd-*.tgz")
    # npx asks where the terminal is; the file is the registry here.
    command = f"node /usr/lib/npm/bin/npx-cli.js --yes --offline --package /tmp/packages/{file.name} bashd"
    before = root.size()
    _, took = root.run(f"{command} --version")
    return file, took, tried(root, "npx", f"{command} run 'echo hello'"), root.size() - before


def cargo(root, packages, cache):
    index = cache / "registry"
    shutil.rmtree(index, ignore_errors=True)
    options = registry.make(index, HERE.parents[3], sorted((packages / "crates").glob("*.crate")))
    place, home = cache / "cargo-root", cache / "cargo-home"
    for directory in (place, home):
        shutil.rmtree(directory, ignore_errors=True)
    words = ["cargo", "install", "--quiet", "--locked", "--offline", *options, "--root", place, "bashd-cli"]
    # What it builds is kept; the directory is outside of any workspace and its toolchain file, and no crate was fetched before.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(cache / "cargo"), "CARGO_HOME": str(home)}
    begun = time.monotonic()
    done = subprocess.run([str(word) for word in words], env=environment, cwd="/", capture_output=True, text=True, timeout=3600)
    took = time.monotonic() - begun
    assert done.returncode == 0, done.stderr
    (root.changed / "usr/local").mkdir(parents=True)
    shutil.copytree(place / "bin", root.changed / "usr/local/bin")
    return one(packages / "crates", "bashd-cli-*.crate"), took, tried(root, "cargo", exact=False)


def debian(cache, name, *include):
    """Debian's smallest root, made once."""
    place = cache / name
    if not (place / "bin/sh").exists():
        if not shutil.which("debootstrap"):
            not_here("debootstrap is missing: no empty root can be made")
        say(f"making a root, {name}, by debootstrap")
        half = cache / f"{name}.half"
        shutil.rmtree(half, ignore_errors=True)
        (cache / "debs").mkdir(exist_ok=True)
        words = ["debootstrap", "--variant=minbase", f"--cache-dir={cache}/debs", *include, "bookworm", str(half)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=1800)
        if done.returncode != 0:
            not_here(f"debootstrap failed: {done.stdout[-500:]}{done.stderr[-500:]}")
        half.rename(place)
    return place


def uv(cache):
    if not (cache / "uv/bin/uvx").exists():
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
        words += ["--target", str(cache / "uv"), "--requirement", str(HERE / "requirements.txt")]
        subprocess.run(words, check=True, timeout=600)


def every_way(packages, cache, only):
    bare = debian(cache, "bare")
    python = debian(cache, "python", "--include=python3,python3-venv")
    uv(cache)
    ways = {
        "archive, static": (bare, archive),
        "archive, musl": (bare, archive_musl),
        f"archive, {FOREIGN}, by qemu": (bare, archive_foreign),
        "install.sh": (bare, installer),
        "dpkg --install": (bare, deb),
        "pip install": (python, pip),
        "uvx": (python, lambda root, packages: uvx(root, packages, cache)),
        "npx": (bare, npx),
        "cargo install": (bare, lambda root, packages: cargo(root, packages, cache)),
    }
    rows, failed = [], []
    for name, (base, way) in ways.items():
        if only and only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="bashd-install-", dir=cache) as place:
            root = Root(Path(place), base, packages, True)
            try:
                if way is installer:
                    damaged(root, packages)
                file, took, hello, *size = way(root, packages)
                rows.append((name, file, took, hello, size[0] if size else root.size()))
            except Untried as why:
                say(f"{name}: NOT tried: {why}")
            except AssertionError as error:
                failed.append(f"{name}: {error}")
    return rows, failed


def small_root(place, program):
    """busybox, bash and the libraries of both bash and the program."""
    busybox = shutil.which("busybox")
    if not busybox:
        not_here("busybox is missing: no small root can be made (apt-get install busybox-static)")
    for folder in ("bin", "proc", "dev", "tmp", "root", "home", "opt", "usr", "lib", "lib64", "etc"):
        (place / folder).mkdir()
    shutil.copy(busybox, place / "bin/busybox")
    for name in subprocess.check_output([busybox, "--list"], text=True).split():
        if name != "busybox":
            (place / "bin" / name).symlink_to("busybox")
    shutil.copy(shutil.which("bash"), place / "bin/bash")
    for file in {shutil.which("bash"), program, busybox}:
        told = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
        for library in [word for word in told.split() if word.startswith("/")]:
            target = place / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)
    (place / "etc/passwd").write_text("root:x:0:0::/root:/bin/bash\n")


def smoke(packages, program):
    rows = []
    file = one(packages, f"bashd-*-{OWN}.tar.gz")
    for way in ("install.sh over HTTP", "dpkg-deb"):
        with tempfile.TemporaryDirectory(prefix="bashd-install-") as place:
            place = Path(place)
            small_root(place, program)
            root = Root(place, place, packages, False)
            if way == "dpkg-deb":
                file = one(packages, "bashd_*.deb")
                subprocess.run(["dpkg-deb", "--extract", str(file), str(place)], check=True)
                took, where = 0.0, ""
                pages_are_whole(place / "usr/share")
            else:
                damaged(root, packages)
                # A server of files beside it, as a mirror would be.
                server = "busybox httpd -p 127.0.0.1:8080 -h /tmp/packages; "
                base = "http://127.0.0.1:8080"
                _, took = root.run(f"ifconfig lo up; {server} wget -q -O - {base}/install.sh | sh -s -- --base {base}")
                where = "/home/me/.local/bin"
                pages_are_whole(place / "home/me/.local/share")
            rows.append((way, file, took, tried(root, way, path=where), root.size()))
    return rows, []


def table(rows):
    print("| way | file | MB | installed, MB | installing, s | `echo hello` there, s |")
    print("|---|---|--:|--:|--:|--:|")
    for name, file, took, hello, size in rows:
        print(f"| {name} | `{file.name}` | {file.stat().st_size / 1e6:.1f} | {size / 1e6:.1f} | {took:.1f} | {hello:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--smoke", metavar="PROGRAM", help="only what is quick, with the libraries of this program")
    parser.add_argument("--only", metavar="WAY")
    given = parser.parse_args()
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "true"]).returncode != 0:
        not_here("namespaces can't be made here, or this is not root: no root can be entered")
    packages = given.packages.resolve()
    if given.smoke:
        rows, failed = smoke(packages, given.smoke)
    else:
        given.cache.mkdir(parents=True, exist_ok=True)
        rows, failed = every_way(packages, given.cache.resolve(), given.only)
    table(rows)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
