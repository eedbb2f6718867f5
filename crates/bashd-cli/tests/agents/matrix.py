"""Runs every agent against every case, for real, and writes the tables of docs/agents.md.

    matrix.py BASHD [AGENT...]      needs the agents (./test --with agents installs them into target/agents)

Each run has a scratch HOME. A cell says what was seen; "-" means that the agent has no such thing, which is its limit and
not ours.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
PAGE = ROOT / "docs/agents.md"
NAMES = {
    "claude-code": "Claude Code", "codex": "Codex", "opencode": "opencode", "gemini": "Gemini CLI", "qwen": "Qwen Code"
}
COLUMNS = [
    "list", "call", "error", "timeout", "progress", "cancel", "background to end", "approval", "1 MiB of output", "20 at once",
    "killed client",
]
RULE = """
[[rules]]
name = "deploys"
decision = "ask"
message = "this deploys"
command = "deploy"
[rules.examples]
deny = ["deploy now"]
allow = ["echo deploy"]
"""


def bash(command, **more):
    return {"tool": "bash", "arguments": {"command": command} | more}


class Place:
    """A scratch home with a workspace, and what was said on the way to bashd."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="bashd-agents-")
        self.root = pathlib.Path(self.directory.name)
        self.home, self.workspace = self.root / "home", self.root / "work"
        for path in (self.home / ".config/bashd", self.workspace, self.root / "tmp"):
            path.mkdir(parents=True)
        self.log = self.root / "said"
        self.log.touch()

    def env(self):
        packages = os.environ.get("AGENTS_PACKAGES", str(ROOT / "target/agents/node_modules"))
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "TMPDIR": str(self.root / "tmp"),
            "AGENTS_PACKAGES": packages, "PYTHONDONTWRITEBYTECODE": "1",
        }

    def start(self, agent, bashd, steps):
        server = [sys.executable, str(HERE / "tee.py"), str(self.log), bashd]
        driver = subprocess.Popen(
            [sys.executable, str(HERE / "agents.py"), agent, *server, "--", str(self.workspace)],
            env=self.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        driver.stdin.write(json.dumps(steps).encode())
        driver.stdin.close()
        return driver

    def run(self, agent, bashd, steps):
        driver = self.start(agent, bashd, steps)
        out = driver.stdout.read()
        driver.wait()
        return json.loads(out)

    def said(self):
        messages = []
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                messages.append((line[0], json.loads(line[2:])))
            except ValueError:
                pass
        return messages


def pids_with(text):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def parent(pid):
    status = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(status.rsplit(")", 1)[1].split()[1])


def until(is_so, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.1)
    return False


def text(seen, number):
    results = seen["results"]
    return results[number]["text"] if len(results) > number else ""


def ordinary(agent, bashd, cells):
    """Everything that one run can show."""
    place = Place()
    at_once = [bash(f"echo number {number}.") for number in range(20)]
    steps = [
        bash("echo hello; exit 3"),
        bash("git push --force"),
        bash("echo a; sleep 60", timeout=2, on_timeout="kill"),
        bash("echo first; sleep 2; echo more", background=True),
        {"tool": "job", "arguments": {"action": "wait", "job": "bg_1"}},
        bash("seq 1 200000 | head -c 1048576"),
        at_once,
    ]
    seen = place.run(agent, bashd, steps)
    ours = [name for name in seen["tools"] if "bashd" in name]
    cells["list"] = f"{len(ours)} tools: `{sorted(ours)[1] if len(ours) > 1 else ours}`"
    cells["call"] = "yes" if "hello\n[exit code 3]" in text(seen, 0) else f"NO: {text(seen, 0)[:80]}"
    cells["error"] = "yes" if text(seen, 1).count("denied by rule no_force_push") == 1 else f"NO: {text(seen, 1)[:80]}"
    timed_out = "[timed out after 2 s and was ended]" in text(seen, 2)
    cells["timeout"] = "yes" if timed_out else f"NO: {text(seen, 2)[:80]}"
    ended = "exited with code 0" in text(seen, 4) and "first\nmore" in text(seen, 4)
    cells["background to end"] = "yes" if "job wait bg_1" in text(seen, 3) and ended else f"NO: {text(seen, 4)[:80]}"
    large = text(seen, 5)
    is_told = "left out" in large or "artifact://" in large
    cells["1 MiB of output"] = f"{len(large) // 1024} KiB read, the rest named" if is_told else f"- cuts it again, to {len(large) // 1024} KiB"
    numbers = {number for number in range(20) if any(f"number {number}." in r["text"] for r in seen["results"][6:])}
    cells["20 at once"] = "all 20" if len(numbers) == 20 else f"NO: {len(numbers)}"
    said = place.said()
    calls = [m for way, m in said if way == ">" and m.get("method") == "tools/call"]
    asks = any("progressToken" in m["params"].get("_meta", {}) for m in calls)
    told = any(m.get("method") == "notifications/progress" for way, m in said if way == "<")
    cells["progress"] = ("told" if told else "asked for") if asks else "- asks for none"


def approval(agent, bashd, cells):
    """A rule wants a person, and there is none."""
    place = Place()
    (place.home / ".config/bashd/config.toml").write_text(RULE)
    seen = place.run(agent, bashd, [bash("deploy() { touch deployed; }; deploy prod")])
    said = place.said()
    offers = any("elicitation" in (m.get("params") or {}).get("capabilities", {}) for way, m in said if way == ">")
    asked = [m["id"] for way, m in said if way == "<" and m.get("method") == "elicitation/create"]
    answers = [m.get("result", {}).get("action") for way, m in said if way == ">" and m.get("id") in asked and "result" in m]
    ran = (place.workspace / "deployed").exists()
    is_denied = not ran and "this deploys" in text(seen, 0)
    how = f"answers `{answers[0]}`" if answers else ("is asked" if asked else "- offers none")
    cells["approval"] = f"denied ({how})" if is_denied else "NO: it ran"


def ends(agent, bashd, sign, mark):
    """Whether a command ends with its agent."""
    place = Place()
    driver = place.start(agent, bashd, [bash(f"sleep {mark}", timeout=600, wait_max=600)])
    if not until(lambda: pids_with(f"sleep\0{mark}"), 90):
        driver.kill()
        return "NO: it never ran"
    # The client is whoever started our server; a Ctrl-C reaches those above it, too. The model goes with the driver.
    servers = [pid for pid in pids_with(f"tee.py\0{place.log}\0") if pid != driver.pid]
    chain = [parent(servers[0])]
    while sign == signal.SIGINT and (above := parent(chain[-1])) != driver.pid:
        chain.append(above)
    for pid in chain:
        os.kill(pid, sign)
    begun = time.monotonic()
    is_gone = until(lambda: not pids_with(f"sleep\0{mark}"), 20)
    took = time.monotonic() - begun
    is_cancelled = any(m.get("method") == "notifications/cancelled" for way, m in place.said() if way == ">")
    try:
        os.killpg(driver.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    driver.wait()
    how = "cancels" if is_cancelled else "closes"
    return f"ended ({how}, {took:.0f} s)" if is_gone else "NO: it goes on"


def versions():
    lock = json.loads((HERE / "package-lock.json").read_text())["packages"]
    of = lambda name: lock[f"node_modules/{name}"]["version"].split("-linux")[0]
    return {
        "claude-code": of("@anthropic-ai/claude-code-linux-x64"), "codex": of("@openai/codex-linux-x64"),
        "opencode": of("opencode-linux-x64"), "gemini": of("@google/gemini-cli"), "qwen": of("@qwen-code/qwen-code"),
    }


def main(bashd, *agents):
    rows = []
    for agent in agents or NAMES:
        cells = {}
        ordinary(agent, bashd, cells)
        approval(agent, bashd, cells)
        cells["cancel"] = ends(agent, bashd, signal.SIGINT, 300 + os.getpid() % 100)
        cells["killed client"] = ends(agent, bashd, signal.SIGKILL, 400 + os.getpid() % 100)
        rows.append(f"| {NAMES[agent]} {versions()[agent]} | " + " | ".join(cells[column].replace("\n", " ") for column in COLUMNS) + " |")
        print(rows[-1], file=sys.stderr)
    head = "| agent | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1)
    table = "<!-- matrix -->\n" + "\n".join([head, *rows]) + "\n<!-- end of matrix -->"
    page = PAGE.read_text()
    PAGE.write_text(re.sub(r"<!-- matrix -->.*<!-- end of matrix -->", lambda _: table, page, flags=re.S))


if __name__ == "__main__":
    main(*sys.argv[1:])
