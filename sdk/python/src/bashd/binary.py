"""Where the binary is: in this package, named by `BASHD`, or on `PATH`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .errors import BinaryNotFound

BUNDLED = Path(__file__).parent / "bin" / "bashd"
"""The binary that a wheel for one platform brings along."""


def find() -> str:
    """The path of the binary; fails with what was looked at."""
    if BUNDLED.is_file():
        return str(BUNDLED)
    named = os.environ.get("BASHD")
    if named:
        if os.access(named, os.X_OK):
            return named
        raise BinaryNotFound(f"BASHD names {named}, which is not a program")
    found = shutil.which("bashd")
    if found:
        return found
    raise BinaryNotFound(
        "bashd was not found: this package has no binary for this platform, BASHD is not set, and there is no bashd on PATH"
    )
