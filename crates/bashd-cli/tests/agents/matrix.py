"""Runs every agent and every other client against every case, for real, and writes the tables of docs/agents.md.

    matrix.py BASHD [AGENT...]      needs them all in target/agents: crates/bashd-cli/tests/agents/install --clients

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
    "claude-code": "Claude Code", "codex": "Codex", "opencode": "opencode", "gemini": "Gemini CLI", "qwen": "Qwen Code",
    "openai-agents": "openai-agents", "pydantic-ai": "pydantic-ai", "langchain": "LangChain", "mcp-use": "mcp-use",
    "fastmcp": "fastmcp", "python-sdk-1": "Python SDK", "python-sdk-2": "Python SDK", "typescript-sdk-1": "TypeScript SDK",
    "typescript-sdk-2": "TypeScript SDK", "inspector": "Inspector", "mcporter": "mcporter",
    "mcp-cli": "@wong2/mcp-cli", "mcp-cli-python": "mcp-cli",
}
# Those for which a program registers who decides.
DECIDING = ["fastmcp", "python-sdk-1", "python-sdk-2", "typescript-sdk-1", "typescript-sdk-2"]
# Where the version of each is pinned: a package of a requirements file, or of a package-lock.
PINNED = {
    "openai-agents": ("clients/python-1.txt", "openai-agents"), "pydantic-ai": ("clients/python-1.txt", "pydantic-ai-slim"),
    "langchain": ("clients/python-1.txt", "langchain-mcp-adapters"), "mcp-use": ("clients/python-1.txt", "mcp-use"),
    "fastmcp": ("clients/python-2.txt", "fastmcp"), "python-sdk-1": ("clients/python-1.txt", "mcp"),
    "python-sdk-2": ("clients/python-2.txt", "mcp"),
    "typescript-sdk-1": ("../peers/package-lock.json", "@modelcontextprotocol/sdk"),
    "typescript-sdk-2": ("../peers/package-lock.json", "@modelcontextprotocol/client"),
    "inspector": ("../peers/package-lock.json", "@modelcontextprotocol/inspector"),
    "mcporter": ("clients/package-lock.json", "mcporter"), "mcp-cli": ("clients/package-lock.json", "@wong2/mcp-cli"),
    "mcp-cli-python": ("clients/python-3.txt", "mcp-cli"),
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

[[rules]]
name = "no_release"
decision = "deny"
message = "releases are made by people"
command = "release"
[rules.examples]
deny = ["release now"]
allow = ["echo release"]
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
        (self.home / ".config/bashd/config.toml").write_text(RULE)
        self.log = self.root / "said"
        self.log.touch()

    def env(self):
        target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "TMPDIR": str(self.root / "tmp"),
            "AGENTS_TARGET": target, "PYTHONDONTWRITEBYTECODE": "1",
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


def is_tee(pid):
    """Whether it is what stands before bashd, and not whoever has that in its arguments."""
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1].endswith(b"tee.py")


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
        bash("release now"),
        bash("echo a; sleep 60", timeout=2, on_timeout="kill"),
        bash("echo first; sleep 2; echo more", background=True),
        {"tool": "job", "arguments": {"action": "wait", "job": "bg_1"}},
        bash("seq 1 200000 | head -c 1048576"),
        at_once,
    ]
    seen = place.run(agent, bashd, steps)
    ours = [name for name in seen["tools"] if "bashd" in name] or seen["tools"]
    cells["list"] = f"{len(ours)} tools: `{sorted(ours)[1] if len(ours) > 1 else ours}`"
    if agent.startswith("mcp-cli"):
        # The loop knows their names.
        cells["list"] = "- for people alone"
    cells["call"] = "yes" if "hello\n[exit code 3]" in text(seen, 0) else f"NO: {text(seen, 0)[:80]}"
    times = text(seen, 1).count("denied by rule no_release: releases are made by people")
    cells["error"] = {0: f"NO: {text(seen, 1)[:80]}", 1: "yes"}.get(times, f"- shows it {times} times")
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
    """A rule wants a person, and there is none, or a program that answers for one."""
    place = Place()
    seen = place.run(agent, bashd, [bash("deploy() { touch deployed; }; deploy prod")])
    said = place.said()
    offers = any("elicitation" in (m.get("params") or {}).get("capabilities", {}) for way, m in said if way == ">")
    asked = [m["id"] for way, m in said if way == "<" and m.get("method") == "elicitation/create"]
    answers = [m.get("result", {}).get("action") for way, m in said if way == ">" and m.get("id") in asked and "result" in m]
    # Without a handshake, the answer comes with the same call again.
    again = [m["params"]["inputResponses"] for way, m in said if way == ">" and "inputResponses" in (m.get("params") or {})]
    answers += [response["action"] for responses in again for response in responses.values()]
    ran = (place.workspace / "deployed").exists()
    is_denied = not ran and "this deploys" in text(seen, 0)
    how = f"answers `{answers[0]}`" if answers else ("is asked" if asked else "- offers none")
    if agent in DECIDING:
        # The program that uses it decides, and ours allows.
        cells["approval"] = "asks its program, which allows" if ran and answers == ["accept"] else "NO: not asked"
    else:
        cells["approval"] = f"denied ({how})" if is_denied else "NO: it ran"


def ends(agent, bashd, sign):
    """Whether a command ends with its agent."""
    place = Place()
    # A time that nobody else sleeps.
    mark = f"600.{time.time_ns()}"
    driver = place.start(agent, bashd, [bash(f"sleep {mark}", timeout=600, wait_max=600)])
    if not until(lambda: pids_with(f"sleep\0{mark}"), 90):
        driver.kill()
        return "NO: it never ran"
    # The client is whoever started our server; a Ctrl-C reaches those above it, too. The model goes with the driver.
    servers = [pid for pid in pids_with(f"tee.py\0{place.log}\0") if is_tee(pid)]
    chain = [parent(servers[0])]
    while sign == signal.SIGINT and (above := parent(chain[-1])) != driver.pid:
        chain.append(above)
    for pid in chain:
        os.kill(pid, sign)
    begun = time.monotonic()
    is_gone = until(lambda: not pids_with(f"sleep\0{mark}"), 20)
    took = time.monotonic() - begun
    # One that takes its time to end is no fault of ours.
    is_there = sign == signal.SIGINT and pathlib.Path(f"/proc/{chain[0]}").exists()
    is_cancelled = any(m.get("method") == "notifications/cancelled" for way, m in place.said() if way == ">")
    try:
        os.killpg(driver.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    driver.wait()
    how = "cancels" if is_cancelled else "closes"
    if is_gone:
        return f"ended ({how}, {took:.0f} s)"
    return "- is not ended by it within 20 s" if is_there and not is_cancelled else "NO: it goes on"


def version(agent):
    if agent not in PINNED:
        rows = (row.split("\t") for row in (HERE / "agents.tsv").read_text().splitlines())
        return next(row[3] for row in rows if row[0] == agent).split("-linux")[0]
    file, package = PINNED[agent]
    text = (HERE / file).read_text()
    if file.endswith(".json"):
        return json.loads(text)["packages"][f"node_modules/{package}"]["version"]
    return re.search(rf"^{re.escape(package)}==([^ ]+)", text, re.M)[1]


def write_rows(rows):
    """Puts rows into the page; only those of who ran are new."""
    head = "| agent | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1)
    page = PAGE.read_text()
    kept = re.search(r"<!-- matrix -->\n(.*)\n<!-- end of matrix -->", page, re.S)[1].splitlines()[2:]
    made = {row.split("|")[1].strip(): row for row in kept + rows}
    names = [f"{NAMES[agent]} {version(agent)}" for agent in NAMES]
    table = "<!-- matrix -->\n" + "\n".join([head, *(made[name] for name in names if name in made)]) + "\n<!-- end of matrix -->"
    PAGE.write_text(re.sub(r"<!-- matrix -->.*<!-- end of matrix -->", lambda _: table, page, flags=re.S))


def main(bashd, *agents):
    # In the background of a shell it would be ignored, by everybody that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for agent in agents or NAMES:
        cells = {}
        ordinary(agent, bashd, cells)
        approval(agent, bashd, cells)
        cells["cancel"] = ends(agent, bashd, signal.SIGINT)
        cells["killed client"] = ends(agent, bashd, signal.SIGKILL)
        row = f"| {NAMES[agent]} {version(agent)} | " + " | ".join(cells[column].replace("\n", " ") for column in COLUMNS) + " |"
        print(row, file=sys.stderr)
        # At once: nothing of it is lost if the next one fails.
        write_rows([row])


if __name__ == "__main__":
    main(*sys.argv[1:])
