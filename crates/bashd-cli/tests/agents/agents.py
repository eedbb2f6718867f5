"""Runs an agent that nobody here wrote, with bashd as its MCP server and a scripted model.

    agents.py AGENT BASHD... -- WORKSPACE < steps.json > seen.json

With AGENTS_PROFILE, the server offers the tools of that profile, and the agent's own shell is switched off where that leaves these alone.

HOME is a scratch directory, which gets the agent's configuration; AGENTS_TARGET is where they are installed. Nothing leaves this machine: the agent talks to the
model of `model.py`, on loopback, with a key that is none. What is printed: what the model was sent back for each call
(`results`), the tools that it was offered (`tools`), the agent's status and its last words.
"""

import json
import os
import pathlib
import platform
import select
import signal
import socket
import subprocess
import sys
import tomllib

from model import Model

HERE = pathlib.Path(__file__).parent
TARGET = pathlib.Path(os.environ["AGENTS_TARGET"])
MACHINE = "arm64" if platform.machine() == "aarch64" else "x64"
LIMIT = 600


def node():
    return str(TARGET / f"peers/node/node_modules/node-linux-{MACHINE}/bin/node")


def installed(agent, program):
    """A program of an agent's package."""
    return str(next((TARGET / "agents" / agent / "package").glob(program)))


def write(path, text):
    path = pathlib.Path(os.environ["HOME"], path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text, indent=1))


def servers(server, **more):
    """The usual entry of bashd's server; none, if something else writes it."""
    if not server:
        return {}
    command, *args = server
    return {"mcpServers": {"bashd": {"command": command, "args": args} | more}}


def claude_code(url, server, workspace):
    write(".claude.json", {"hasCompletedOnboarding": True} | servers(server, type="stdio", alwaysLoad=True))
    env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    # Its own guard against root; the model is ours and the home is a scratch directory.
    env |= {"IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1"}
    return [installed("claude-code", "claude"), "-p", "go", "--dangerously-skip-permissions"], env


def codex(url, server, workspace):
    lines = [
        'model = "fake"',
        'model_provider = "fake"',
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        "[model_providers.fake]",
        'name = "fake"',
        f"base_url = {json.dumps(url + '/v1')}",
        'wire_api = "responses"',
        'env_key = "FAKE_KEY"',
    ]
    if server:
        command, *args = server
        lines += [
            "[mcp_servers.bashd]",
            f"command = {json.dumps(command)}",
            f"args = {json.dumps(args)}",
            'default_tools_approval_mode = "approve"',
            "[mcp_servers.bashd.env]",
            *(f"{name} = {json.dumps(value)}" for name, value in os.environ.items() if name.startswith(("XDG_", "BASHD_"))),
        ]
    tomllib.loads("\n".join(lines))
    write(".codex/config.toml", "\n".join(lines))
    return [installed("codex", "vendor/*/bin/codex"), "exec", "--skip-git-repo-check", "go"], {"FAKE_KEY": "none"}


def opencode(url, server, workspace):
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "models": {"fake": {"name": "fake"}}}
    provider["options"] = {"baseURL": f"{url}/v1", "apiKey": "none"}
    config = {
        "$schema": "https://opencode.ai/config.json",
        "model": "fake/fake",
        "small_model": "fake/fake",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
        "permission": {"*": "allow"},
    }
    if server:
        config["mcp"] = {"bashd": {"type": "local", "command": server, "enabled": True}}
    write(".config/opencode/opencode.json", config)
    env = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return [installed("opencode", "bin/opencode"), "run", "go"], env


def gemini(url, server, workspace):
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    write(".gemini/settings.json", settings | servers(server, trust=True))
    env = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    program = installed("gemini", "bundle/gemini.js")
    return [node(), program, "-p", "go", "--yolo", "--skip-trust", "-m", "gemini-2.5-flash"], env


def qwen(url, server, workspace):
    settings = {
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    write(".qwen/settings.json", settings | servers(server, trust=True))
    env = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "fake"}
    return [node(), installed("qwen", "cli.js"), "-p", "go", "--yolo", "--auth-type", "openai"], env


def cline(url, server, workspace):
    # What `cline auth openai -k none -b URL -m fake` writes.
    write(".cline/data/settings/providers.json", {
        "version": 1,
        "lastUsedProvider": "openai-compatible",
        "providers": {"openai-compatible": {
            "settings": {"provider": "openai-compatible", "apiKey": "none", "model": "fake", "baseUrl": f"{url}/v1"},
            "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual",
        }},
    })
    if server:
        write(".cline/data/settings/cline_mcp_settings.json", servers(server))
    # Its hub listens on one port for the whole machine unless it is told another; tests run beside each other.
    env = {"CLINE_HUB_PORT": str(free_port())}
    return [installed("cline", "bin/cline"), "-c", str(workspace), "-t", "300", "please go on"], env


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def end_daemons(agent):
    """Ends what an agent leaves in the background by its own design: Cline's hub, of this home alone."""
    if agent != "cline":
        return
    home = f"HOME={os.environ['HOME']}".encode()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            handle = os.pidfd_open(int(process.name))
        except OSError:
            continue
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            ours = b"--cline-hub-daemon" in words and home in (process / "environ").read_bytes().split(b"\0")
            if ours:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], 10)
        except OSError:
            pass  # it has ended, or is another user's
        finally:
            os.close(handle)


def python_client(name, environment):
    """A client of `clients.py`, with the packages of one environment."""

    def start(url, server, workspace):
        python = TARGET / f"agents/{environment}/bin/python"
        env = {"NODE": node(), "PEERS": str(TARGET / "peers/node/node_modules")}
        env["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"
        env["CLIENTS"] = str(TARGET / "agents/clients/node_modules")
        return [str(python), str(HERE / "clients/clients.py"), name, url, *server], env

    return start


def typescript_sdk(line):
    def start(url, server, workspace):
        env = {"NODE_MODULES": str(TARGET / "peers/node/node_modules")}
        return [node(), str(HERE / "clients/clients.mjs"), line, url, *server], env

    return start


AGENTS = {
    "claude-code": claude_code, "codex": codex, "opencode": opencode, "gemini": gemini, "qwen": qwen, "cline": cline,
    "openai-agents": python_client("openai-agents", "python-1"),
    "pydantic-ai": python_client("pydantic-ai", "python-1"),
    "langchain": python_client("langchain", "python-1"),
    "mcp-use": python_client("mcp-use", "python-1"),
    "fastmcp": python_client("fastmcp", "python-2"),
    "python-sdk-1": python_client("python-sdk-1", "python-1"),
    "python-sdk-2": python_client("python-sdk-2", "python-2"),
    "typescript-sdk-1": typescript_sdk("1"),
    "typescript-sdk-2": typescript_sdk("2"),
    "inspector": python_client("inspector", "python-1"),
    "mcporter": python_client("mcporter", "python-1"),
    "mcp-cli": python_client("mcp-cli", "python-1"),
    "mcp-cli-python": python_client("mcp-cli-python", "python-3"),
}


def without_own_shell(agent):
    """What switches an agent's own shell off, as `bashd init --replace-shell` does. Gemini CLI keeps its own: a rule
    about `run_shell_command` is one about a server's tool of that name, too."""

    def prepare(command):
        if agent == "claude-code":
            write(".claude/settings.json", {"permissions": {"deny": ["Bash", "Monitor"]}})
        elif agent == "codex":
            command = [*command[:2], "-c", "features.shell_tool=false", *command[2:]]
        return command

    return prepare


def run(agent, server, workspace, steps, prepare=None):
    """Lets the agent run until it ends by itself; `prepare` may change its configuration and command line first."""
    with Model(steps) as model:
        command, env = AGENTS[agent](model.url, server, workspace)
        if prepare:
            command = prepare(command)
        # Whatever the agent would like to tell others stays here.
        env |= {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}
        try:
            ended = subprocess.run(
                command, env=os.environ | env | {"PWD": str(workspace)}, cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT
            )
        finally:
            end_daemons(agent)
        last = (ended.stdout + ended.stderr).decode(errors="replace")[-2000:]
        paths = [path for path, _ in model.seen]
        if dump := os.environ.get("AGENTS_DUMP"):
            pathlib.Path(dump).write_text(json.dumps(model.seen))
        return {
            "agent": agent, "results": model.script.results, "tools": model.script.tools,
            "status": ended.returncode, "last": last, "requests": paths,
        }


if __name__ == "__main__":
    agent, *server = sys.argv[1:]
    server, workspace = server[: server.index("--")], server[-1]
    server.append("mcp")
    if profile := os.environ.get("AGENTS_PROFILE"):
        server += ["--profile", profile]
    print(json.dumps(run(agent, server, workspace, json.load(sys.stdin), without_own_shell(agent) if profile else None)))
