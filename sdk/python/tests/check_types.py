"""Checks the types of the package, strictly, and of the README's programs.

    check_types.py SOURCES NODE PYRIGHT      SOURCES is sdk/python; this Python has the frameworks
"""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from readme import blocks


def main():
    source = Path(sys.argv[1]).resolve()
    node, pyright = sys.argv[2:]
    config = tomllib.loads((source / "pyproject.toml").read_text())["tool"]["pyright"]
    programs = Path("programs")
    programs.mkdir()
    for number, (program, _) in enumerate(blocks((source / "README.md").read_text(), "python")):
        (programs / f"readme_{number}.py").write_text(program)
    # Options are known by name and type: this one is wrong, and must be found.
    (programs / "wrong.py").write_text('from bashd import SyncClient\n\nSyncClient().run("true", timeout="long")\n')
    # It takes no path outside of its directory.
    shutil.copytree(source / "src", "src", ignore=shutil.ignore_patterns("__pycache__"))
    config |= {"include": ["src", "programs"], "extraPaths": ["src"]}
    Path("pyrightconfig.json").write_text(json.dumps(config))
    done = subprocess.run(
        [node, pyright, "--pythonpath", sys.executable, "--outputjson"], capture_output=True, text=True, timeout=120
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] > 20, report["summary"]
    found = [(Path(one["file"]).name, one["message"]) for one in report["generalDiagnostics"] if one["severity"] == "error"]
    wrong = [one for one in found if one[0] == "wrong.py"]
    assert wrong and found == wrong, found
    print("ok")


if __name__ == "__main__":
    main()
