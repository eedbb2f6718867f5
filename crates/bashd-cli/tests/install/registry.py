"""Makes a registry of crates in a directory: those of other people, as the lock file has them, and the packages of ours.

cargo takes it in the place of crates.io, and compares the hash of every package with the lock file that the package brings along.
"""

import hashlib
import json
import subprocess
import tarfile
from pathlib import Path


def make(directory, workspace, crates):
    """Writes the registry for these `.crate` files; the options by which cargo uses it."""
    directory = Path(directory).resolve()
    words = ["cargo", "vendor", "--quiet", "--locked", "--versioned-dirs", "--manifest-path", f"{workspace}/Cargo.toml", str(directory)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=900)
    for crate in crates:
        with tarfile.open(crate) as archive:
            archive.extractall(directory, filter="data")
        checksum = {"files": {}, "package": hashlib.sha256(crate.read_bytes()).hexdigest()}
        (directory / crate.name.removesuffix(".crate") / ".cargo-checksum.json").write_text(json.dumps(checksum))
    settings = {"source.crates-io.replace-with": "packages", "source.packages.directory": str(directory)}
    return [word for key, value in settings.items() for word in ("--config", f"{key}={json.dumps(value)}")]
