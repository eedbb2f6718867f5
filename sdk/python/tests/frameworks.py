"""bashd's tools in real frameworks, with a model that says what a script says.

    frameworks.py FRAMEWORK     runs the README's program for it, then: an approval, a denial, a confinement, a cancel

MODEL is the path of `model.py`. The configuration asks before `touch`.
"""

import asyncio
import contextlib
import http.server
import io
import os
import runpy
import sys
import threading
from pathlib import Path

from readme import blocks

from bashd import Client, SyncClient

# Not by an import: beside it are files with the names of packages.
Model = runpy.run_path(os.environ["MODEL"])["Model"]
README = Path(__file__).parent.parent / "README.md"


async def openai_agents(client):
    from agents import Agent, Runner

    from bashd.openai_agents import bashd_tools

    agent = Agent(name="a", model="gpt-5", tools=[*await bashd_tools(client)])
    return (await Runner.run(agent, "go", max_turns=20)).final_output


async def langchain(client):
    from langchain.agents import create_agent

    from bashd.langchain import bashd_tools

    agent = create_agent("openai:gpt-5", tools=await bashd_tools(client))
    return (await agent.ainvoke({"messages": [{"role": "user", "content": "go"}]}))["messages"][-1].text


async def pydantic_ai(client):
    from pydantic_ai import Agent

    from bashd.pydantic_ai import bashd_tools

    return (await Agent("openai:gpt-5", tools=await bashd_tools(client)).run("go")).output


RUNS = {"agents": openai_agents, "langchain": langchain, "pydantic_ai": pydantic_ai}


@contextlib.contextmanager
def model(*steps):
    """A model that takes these steps; the frameworks find it where they look for OpenAI's."""
    with Model([*steps, {"say": "All done."}]) as served:
        os.environ["OPENAI_BASE_URL"] = f"{served.url}/v1"
        os.environ["OPENAI_API_KEY"] = "none"
        os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
        yield served


def bash(command, **arguments):
    return {"tool": "bash", "arguments": {"command": command, **arguments}}


def texts(served):
    return [result["text"] for result in served.script.results]


def the_program_of_the_readme_works(framework):
    (program,) = [text for text, _ in blocks(README.read_text(), "python") if f"from {framework}" in text]
    printed = io.StringIO()
    with model(bash("echo hello; exit 3")) as served, contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue() == "All done.\n", printed.getvalue()
    assert texts(served) == ["hello\n[exit code 3]"], texts(served)
    assert served.script.tools == ["bash", "job", "artifact"], served.script.tools


async def the_tools_are_the_servers(run):
    """Descriptions and schemas come through as they are, and calls at once are answered each."""
    with model([bash("echo a"), bash("echo b")], {"tool": "job", "arguments": {"action": "list"}}) as served:
        async with Client() as client:
            defined = (await client.tools())[0]
            assert await run(client) == "All done."
    assert texts(served) == ["a\n", "b\n", "There are no jobs."], texts(served)
    _, body = served.seen[-1]
    (sent,) = [tool for tool in (one.get("function", one) for one in body["tools"]) if tool["name"] == "bash"]
    assert sent["description"] == defined.description
    assert set(sent["parameters"]["properties"]) == set(defined.input_schema["properties"]), sent["parameters"]


async def the_user_is_asked(run):
    asked = []

    def approve(approval):
        asked.append(approval.command)
        return approval.command == "touch yes"

    with model(bash("touch yes"), bash("touch no"), bash("x", timeout="long")) as served:
        async with Client(approve=approve) as client:
            await run(client)
    assert asked == ["touch yes", "touch no"], asked
    assert Path("yes").exists() and not Path("no").exists()
    allowed, denied, wrong = texts(served)
    assert "May it touch?" in denied and "`timeout` must be a number" in wrong, texts(served)


class Hello(http.server.BaseHTTPRequestHandler):
    """A host that says hello to everybody."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


async def a_confined_agent_is_refused_asks_is_granted_for_the_session_and_goes_on(run):
    """A model that is refused a host asks for what it was refused; its user says yes, for this session."""
    asked = []

    def approve(approval):
        asked.append(approval)
        return "session" if "web.test" in approval.message else False

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        name = f"web.test:{host.server_port}"
        fetch, needs = f"curl -sS http://{name}/", {"network": [name], "reason": "the page is what I was asked for"}
        beside = Path.home() / "beside"
        other = {"write": [str(beside)], "reason": "to leave a file"}
        steps = [
            bash(fetch),
            bash(fetch, needs=needs),
            bash(f"{fetch} | tr a-z A-Z", needs=needs),
            bash(f"echo x >{beside}/file", needs=other),
            bash("echo goes on >file && cat file"),
        ]
        beside.mkdir()
        settings = ["confinement.preset=workspace+net", "confinement.resolve=web.test=127.0.0.1"]
        arguments = [word for setting in settings for word in ("--set", setting)]
        with model(*steps) as served:
            async with Client(approve=approve, arguments=arguments) as client:
                assert await run(client) == "All done."
        host.shutdown()
    refused, granted, again, denied, last = texts(served)
    assert f"[refused by confinement: connect {name}]" in refused, refused
    assert (granted, again, last) == ("hello", "HELLO", "goes on\n"), texts(served)
    assert "denied by rule confinement" in denied and not list(beside.iterdir()), denied
    # What was granted for the session was asked once, in words; what was not is another question.
    assert [approval.rule for approval in asked] == ["confinement", "confinement"], asked
    for part in (f"connect {name}", "what I was asked for"):
        assert part in asked[0].message, asked


async def a_cancel_ends_the_command(run):
    with model(bash("trap 'echo >ended; exit' TERM; echo >begun; sleep 600 & wait")):
        async with Client() as client:
            going = asyncio.ensure_future(run(client))
            await happens(Path("begun").exists)
            going.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await going
            await happens(Path("ended").exists)


def langchain_works_without_asyncio():
    from langchain.agents import create_agent

    from bashd.langchain import bashd_sync_tools

    with model(bash("echo hello")) as served, SyncClient() as client:
        create_agent("openai:gpt-5", tools=bashd_sync_tools(client)).invoke({"messages": [{"role": "user", "content": "go"}]})
    assert texts(served) == ["hello\n"], texts(served)


async def happens(is_so):
    for _ in range(800):
        if is_so():
            return
        await asyncio.sleep(0.025)
    raise AssertionError("it did not happen in time")


def main():
    framework = sys.argv[1]
    run = RUNS[framework]
    the_program_of_the_readme_works(framework)
    asyncio.run(the_tools_are_the_servers(run))
    asyncio.run(the_user_is_asked(run))
    asyncio.run(a_confined_agent_is_refused_asks_is_granted_for_the_session_and_goes_on(run))
    asyncio.run(a_cancel_ends_the_command(run))
    if framework == "langchain":
        langchain_works_without_asyncio()
    print("ok")


if __name__ == "__main__":
    main()
