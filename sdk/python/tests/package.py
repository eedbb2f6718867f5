"""Builds, installs and uses the package as a user would, in the current directory: wheels with and without the binary.

    package.py SOURCES      SOURCES is sdk/python; BASHD is the binary
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from readme import blocks


def run(*command, **environment):
    """What a command prints."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wheel(source, place, **environment):
    """Builds a wheel, offline: nothing is needed for it."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "-w", place, source, **environment)
    (built,) = Path(place).iterdir()
    return built


def main():
    source, bashd = Path(sys.argv[1]), os.environ.pop("BASHD")
    os.environ.pop("PYTHONPATH", None)
    program, shown = next(blocks((source / "README.md").read_text(), "python"))
    pip = [sys.executable, "-m", "pip", "--python", "env/bin/python", "install", "--quiet", "--no-index", "--no-deps"]
    run(sys.executable, "-m", "venv", "--without-pip", "env")
    nowhere = "/nowhere"

    pure = wheel(source, "pure")
    assert pure.name.endswith("-py3-none-any.whl"), pure
    run(*pip, pure)
    missing = subprocess.run(["env/bin/bashd", "--version"], capture_output=True, text=True, env={"PATH": nowhere})
    assert missing.returncode == 1 and "bashd was not found" in missing.stderr, missing
    assert run("env/bin/python", "-c", program, BASHD=bashd) == shown

    # A stand-in: the built binary is large, and is not what is tested here.
    Path("stand-in").write_text(f'#!/bin/sh\nexec "{bashd}" "$@"\n')
    packed = wheel(source, "packed", BASHD_BINARY=os.path.abspath("stand-in"))
    assert packed.name.endswith(f"-py3-none-linux_{os.uname().machine}.whl"), packed
    run(*pip, "--force-reinstall", packed)
    assert run("env/bin/python", "-c", program, PATH="/usr/bin:/bin") == shown
    status = subprocess.run(["env/bin/bashd", "run", "exit 3"], stdout=subprocess.DEVNULL).returncode
    assert status == 3, status

    sys.path.insert(0, str(source))
    import build_package

    archive = build_package.build_sdist(".")
    again = wheel(archive, "again")
    names = [zipfile.ZipFile(one).namelist() for one in (pure, again)]
    assert names[0] == names[1], names
    assert "bashd/py.typed" in names[0] and not any("pycache" in name for name in names[0])
    print("ok")


if __name__ == "__main__":
    main()
