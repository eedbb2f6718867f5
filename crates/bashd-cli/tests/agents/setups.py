"""Sets real agents up with `bashd init`, runs them with a scripted model, and takes bashd out again.

    setups.py AGENT BASHD CASE... -- WORKSPACE > seen.json

CASE is `server` (init, twice, a call of bashd's tool, uninstall), `replace` (the same with the agent's own shell switched
off), `hook` (what the guard allows, denies and asks about, through the agent's own shell), `asks` (the last of these alone), `both` (the first and the third),
or what is wrong with the hook: `missing`, `killed`, `slow`. HOME is a scratch directory; no command of a case does more than touching a file there.

With `all` in place of AGENT, and no `-- WORKSPACE`, prints the table of docs/hook.md.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import agents

# The agents' own shell tools, and what these call the command.
OWN = {
    "claude-code": ("Bash", "command", {}),
    "codex": ("exec_command", "cmd", {}),
    "gemini": ("run_shell_command", "command", {}),
    "opencode": ("bash", "command", {"description": "runs it"}),
    "qwen": ("run_shell_command", "command", {"is_background": False}),
    "cline": ("run_commands", "commands", {}),
}

# What a scripted run of the agent needs, and `bashd init` rightly does not write.
BYPASS = {"codex": ["-c", 'mcp_servers.bashd.default_tools_approval_mode="approve"']}
TRUST = {"codex": ["--dangerously-bypass-hook-trust"]}

RULES = """
[[rules]]
name = 'deploys'
decision = 'deny'
message = 'this deploys.'
command = 'deploy'
[[rules]]
name = 'releases'
decision = 'ask'
message = 'this releases.'
command = 'release'
"""

HOME = pathlib.Path(os.environ["HOME"])


def files():
    """Every file below HOME but bashd's own, with its bytes and its mode."""
    found = {}
    for path in sorted(HOME.rglob("*")):
        name = path.relative_to(HOME)
        if path.is_file() and name.parts[:3] != (".local", "state", "bashd"):
            found[str(name)] = (path.read_bytes(), path.stat().st_mode)
    return found


def folders():
    found = (str(path.relative_to(HOME)) for path in HOME.rglob("*") if path.is_dir())
    return {name for name in found if not name.startswith(".local")}


class Setup:
    """bashd in a folder of the PATH, where it can be replaced."""

    def __init__(self, agent, bashd):
        self.agent = agent
        folder = HOME / "bin"
        folder.mkdir(exist_ok=True)
        self.bashd = folder / "bashd"
        self.bashd.unlink(missing_ok=True)
        self.bashd.symlink_to(bashd)
        self.env = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
        config = HOME / ".config/bashd/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(RULES)

    def init(self, *options):
        done = subprocess.run(
            [self.bashd, "init", self.agent, "--yes", "--json", *options], env=self.env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def in_and_out(self, *options):
        """Whether init twice is init once, and uninstalling leaves everything as it was."""
        before, were = files(), folders()
        told = self.init(*options)
        states = [file["state"] for file in told["agents"][0]["files"]]
        assert states and set(states) == {"written"}, told
        assert options == ("--hook-only",) or told["server"]["failure"] is None, told
        once = files()
        assert once != before
        told = self.init(*options)
        assert {file["state"] for file in told["agents"][0]["files"]} == {"unchanged"}, told
        assert files() == once
        self.init("--uninstall")
        assert files() == before, [name for name in files() | before if files().get(name) != before.get(name)]
        assert folders() == were, folders() ^ were
        return sorted(name for name in once if once[name] != before.get(name))


def without_install():
    """opencode installs its plugin library where a plugin is, unless it is there; ours does not use it."""
    folder = HOME / ".config/opencode"
    (folder / "node_modules").mkdir(parents=True, exist_ok=True)
    locked = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    (folder / "package-lock.json").write_text(json.dumps(locked))


def own_call(agent, command):
    tool, key, more = OWN[agent]
    command = [command] if key == "commands" else command
    return {"tool": f"own:{tool}", "arguments": {key: command} | more}


def break_hook(setup, case):
    """Puts something else in place of the program that the hook starts, and makes all patience short."""
    setup.bashd.unlink()
    script = {"killed": "kill -9 $$", "slow": "exec sleep 60"}.get(case)
    if script:
        setup.bashd.write_text(f"#!/bin/sh\n{script}\n")
        setup.bashd.chmod(0o755)
    for path in HOME.rglob("*"):
        is_config = path.suffix in (".json", ".js") or path.name == "PreToolUse"
        if path.is_file() and is_config and ".local" not in path.parts:
            text = path.read_text()
            if str(setup.bashd) in text:
                text = text.replace("timeout -k 1 30 ", "timeout -k 1 2 ").replace("30 * 1000", "2 * 1000")
                path.write_text(text.replace('"timeout": 60,', '"timeout": 2,'))


def case_of(agent, bashd, case, workspace):
    setup = Setup(agent, bashd)
    has_server = case in ("server", "replace", "both")
    extra = (BYPASS.get(agent, []) if has_server else []) + TRUST.get(agent, [])
    options = {"server": [], "replace": ["--replace-shell"], "both": ["--hook"]}.get(case, ["--hook-only"])
    seen = {}
    if agent == "opencode":
        without_install()
    ran = pathlib.Path(workspace)
    for path in ran.glob("ran-*"):
        path.unlink()

    def prepare(command):
        seen["files"] = setup.in_and_out(*options)
        told = setup.init(*options)
        if case in ("missing", "killed", "slow"):
            break_hook(setup, case)
        seen["written"] = [file["path"] for file in told["agents"][0]["files"]]
        if agent != "codex":
            return command
        at = command.index("exec")
        return command[: at + 1] + extra + command[at + 1 :]

    by_bashd = [{"tool": "bash", "arguments": {"command": "echo by bashd; touch ran-0"}}]
    judged = [own_call(agent, f"touch ran-{i}; {word}") for i, word in enumerate(["true", "deploy now", "release now"], 1)]
    steps = {"server": by_bashd, "replace": by_bashd, "hook": judged, "both": by_bashd + judged}.get(case, judged[:1])
    # A call that its hook cancels is the last of Cline's task.
    if case == "asks":
        steps = judged[2:]
    elif agent == "cline" and case in ("hook", "both"):
        steps = steps[:-1]
    told = agents.run(agent, None, workspace, steps, prepare)
    seen |= {key: told[key] for key in ("results", "tools", "last", "status")}
    first = 3 if case == "asks" else 0 if has_server else 1
    seen["ran"] = [(ran / f"ran-{i}").exists() for i in range(first, first + len(steps))]
    if case in ("missing", "killed", "slow"):
        setup.bashd.unlink(missing_ok=True)
        setup.bashd.symlink_to(bashd)
    # The agent has rewritten files and made others; nothing of ours is left in what we wrote.
    if case in ("server", "replace", "hook", "asks", "both"):
        setup.init("--uninstall")
        for path in map(pathlib.Path, seen["written"]):
            left = path.read_text() if path.exists() else ""
            assert str(setup.bashd) not in left, (path, left)
    return seen


def table(bashd):
    """The rows of docs/hook.md: what becomes of the command."""
    print("| agent | no objection | denied | asks | missing | killed | slow |\n|---|---|---|---|---|---|---|")
    for agent in OWN:
        cells = []
        for case in ("hook", *(["asks"] if agent == "cline" else []), "missing", "killed", "slow"):
            with tempfile.TemporaryDirectory() as home:
                workspace = pathlib.Path(home, "workspace")
                workspace.mkdir()
                asked = subprocess.run(
                    [sys.executable, __file__, agent, bashd, case, "--", workspace],
                    env=os.environ | {"HOME": home}, capture_output=True, text=True,
                )
                if asked.returncode != 0:
                    cells.append(f"NO: {asked.stderr.strip().splitlines()[-1]}")
                    continue
                seen = json.loads(asked.stdout)[case]
                print(agent, case, seen["ran"], [result["text"] for result in seen["results"]], file=sys.stderr)
                cells += ["runs" if ran else "blocked" for ran in seen["ran"]]
        print(f"| {agent} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if sys.argv[1] == "all":
        table(sys.argv[2])
    else:
        agent, bashd, *cases = sys.argv[1:]
        cases, workspace = cases[: cases.index("--")], cases[-1]
        print(json.dumps({case: case_of(agent, bashd, case, workspace) for case in cases}))
