"""The command `bashd`: becomes the binary."""

import os
import sys

from .binary import find
from .errors import BinaryNotFound


def main() -> None:
    """Runs the binary in this process's place."""
    try:
        path = find()
        # A script of this package on PATH would find itself for ever.
        if os.path.realpath(path) == os.path.realpath(sys.argv[0]):
            raise BinaryNotFound("bashd on PATH is this command itself: set BASHD to the binary")
    except BinaryNotFound as error:
        sys.exit(f"bashd: {error}")
    os.execv(path, ["bashd", *sys.argv[1:]])


if __name__ == "__main__":
    main()
