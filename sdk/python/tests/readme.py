"""Runs the programs of a README, each as it stands there, and compares what they print with the text that follows.

    readme.py FILE LANGUAGE COMMAND...      COMMAND runs a program whose path it gets as its last argument

Programs that use a framework are left to `frameworks.py` and `frameworks.mjs`, which have a model for them.
"""

import re
import subprocess
import sys
from pathlib import Path

FRAMEWORKS = re.compile(r'from (agents|langchain|pydantic_ai)|from "(@openai/agents|ai)"')
SUFFIX = {"python": "py", "typescript": "mts"}


def blocks(page, language):
    """The programs, each with the text that follows it, if one does."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
    assert all(name in (language, "text") for name, _ in found), [name for name, _ in found]
    for place, (name, text) in enumerate(found):
        if name == language:
            after = found[place + 1] if place + 1 < len(found) else ("", "")
            yield text, after[1] if after[0] == "text" else None


def main():
    page, language, *command = sys.argv[1:]
    plain = [(program, shown) for program, shown in blocks(Path(page).read_text(), language) if not FRAMEWORKS.search(program)]
    config = Path.home() / ".config/bashd"
    config.mkdir(parents=True, exist_ok=True)
    running = []
    for number, (program, shown) in enumerate(plain, 1):
        assert shown is not None, f"what does it print?\n{program}"
        path = Path(f"readme-{number}.{SUFFIX[language]}")
        path.write_text(program)
        pipe = subprocess.PIPE
        running.append((program, shown, subprocess.Popen([*command, str(path)], stdout=pipe, stderr=pipe, text=True)))
    assert len(running) >= 4, "the README has fewer programs than it had"
    for program, shown, process in running:
        printed, complaints = process.communicate(timeout=60)
        assert (printed, process.returncode) == (shown, 0), f"{program}\nprinted {printed!r}, {process.returncode}\n{complaints}"
    print(f"{len(running)} programs")


if __name__ == "__main__":
    main()
