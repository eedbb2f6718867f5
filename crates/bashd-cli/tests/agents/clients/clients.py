"""Clients that nobody here wrote, each with a model that says what a script says.

    clients.py CLIENT URL BASHD ARGUMENT...

URL is the model's (`model.py`, OpenAI's chat completions). Frameworks for agents run their own loop. A library or a
command line has none: here it gets the smallest one, which calls what the model says by the client's own API and gives
the model the text that came back. Whether a person allows something is decided by the handler that a program registers:
ours allows once.
"""

import asyncio
import json
import os
import signal
import sys
import urllib.request

# What a person would choose in the form.
ANSWER = {"choice": "once"}


def ask(url, tools, messages):
    body = {"model": "fake", "messages": messages, "tools": [{"type": "function", "function": tool} for tool in tools]}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return json.load(answer)["choices"][0]["message"]


async def loop(url, names, call):
    """The smallest loop of an agent. `call` gives the text of a result."""
    tools = [{"name": name, "parameters": {"type": "object"}} for name in names]
    messages = [{"role": "user", "content": "go"}]
    while True:
        message = await asyncio.to_thread(ask, url, tools, messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return
        called = [one["function"] for one in message["tool_calls"]]
        texts = await asyncio.gather(
            *(call(one["name"], json.loads(one["arguments"])) for one in called)
        )
        for one, text in zip(message["tool_calls"], texts):
            messages.append({"role": "tool", "tool_call_id": one["id"], "content": text})


def text_of(content):
    return "\n".join(block.text for block in content if getattr(block, "text", None) is not None)


async def heard(*_):
    """Progress, which is wanted and not looked at."""


async def python_sdk_1(url, server):
    from mcp import ClientSession, StdioServerParameters, types
    from mcp.client.stdio import stdio_client

    async def person(context, params):
        return types.ElicitResult(action="accept", content=ANSWER)

    parameters = StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))
    async with stdio_client(parameters) as streams, ClientSession(*streams, elicitation_callback=person) as session:
        await session.initialize()

        async def call(name, arguments):
            return text_of((await session.call_tool(name, arguments, progress_callback=heard)).content)

        await loop(url, [tool.name for tool in (await session.list_tools()).tools], call)


async def python_sdk_2(url, server):
    import mcp_types as types
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def person(context, params):
        return types.ElicitResult(action="accept", content=ANSWER)

    parameters = StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))
    async with Client(stdio_client(parameters), elicitation_callback=person) as client:

        async def call(name, arguments):
            return text_of((await client.call_tool(name, arguments, progress_callback=heard)).content)

        await loop(url, [tool.name for tool in (await client.list_tools()).tools], call)


async def fastmcp(url, server):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async def person(message, response_type, params, context):
        return ANSWER

    transport = StdioTransport(command=server[0], args=server[1:], env=dict(os.environ))
    async with Client(transport, elicitation_handler=person, progress_handler=heard) as client:

        async def call(name, arguments):
            return text_of((await client.call_tool(name, arguments, raise_on_error=False)).content)

        await loop(url, [tool.name for tool in await client.list_tools()], call)


def chat_model(url):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="fake", base_url=f"{url}/v1", api_key="none")


async def langchain(url, server):
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    entry = {"transport": "stdio", "command": server[0], "args": server[1:], "env": dict(os.environ)}
    async with MultiServerMCPClient({"bashd": entry}).session("bashd") as session:
        agent = create_agent(chat_model(url), await load_mcp_tools(session))
        await agent.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": 200})


async def mcp_use(url, server):
    from mcp_use import MCPAgent, MCPClient

    entry = {"command": server[0], "args": server[1:], "env": dict(os.environ)}
    client = MCPClient.from_dict({"mcpServers": {"bashd": entry}})
    try:
        await MCPAgent(llm=chat_model(url), client=client, max_steps=100).run("go")
    finally:
        await client.close_all_sessions()


async def openai_agents(url, server):
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStdio
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("fake", AsyncOpenAI(base_url=f"{url}/v1", api_key="none"))
    parameters = {"command": server[0], "args": server[1:], "env": dict(os.environ)}
    # Its own limit of a call is 5 s, too little for any command.
    async with MCPServerStdio(parameters, client_session_timeout_seconds=600) as bashd:
        await Runner.run(Agent(name="a", model=model, mcp_servers=[bashd]), "go", max_turns=100)


async def pydantic_ai(url, server):
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset, StdioTransport
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("fake", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))
    transport = StdioTransport(command=server[0], args=server[1:], env=dict(os.environ))
    # An error is a result here; by default the call is repeated, and then the whole run ends.
    bashd = MCPToolset(transport, tool_error_behavior="failed")
    async with Agent(model, toolsets=[bashd]) as agent:
        await agent.run("go")


async def printed(*command):
    """What a command line prints; it is started anew for each call, and ends with us."""
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    try:
        out, err = await process.communicate()
    except asyncio.CancelledError:
        process.send_signal(signal.SIGINT)
        raise
    return out.decode(errors="replace") or err.decode(errors="replace")


async def inspector(url, server):
    command = [os.environ["NODE"], f"{os.environ['PEERS']}/.bin/mcp-inspector", "--cli", *server]
    tools = json.loads(await printed(*command, "--method", "tools/list"))["tools"]

    async def call(name, arguments):
        given = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={as_word(value)}")]
        return text_in(await printed(*command, "--method", "tools/call", "--tool-name", name, *given))

    await loop(url, [tool["name"] for tool in tools], call)


async def mcporter(url, server):
    program = [os.environ["NODE"], f"{os.environ['CLIENTS']}/mcporter/dist/cli.js"]
    ad_hoc = ["--stdio", server[0], *(word for argument in server[1:] for word in ("--stdio-arg", argument))]
    out = json.loads(await printed(*program, "list", *ad_hoc, "--json"))
    tools = [tool["name"] for one in out.get("servers", [out]) for tool in one["tools"]]

    async def call(name, arguments):
        return await printed(
            *program, "call", *ad_hoc, "--tool", name, "--args", json.dumps(arguments), "--output", "text", "--timeout", "600000"
        )

    await loop(url, tools, call)


async def mcp_cli(url, server):
    config = os.path.join(os.environ["HOME"], "mcp-cli.json")
    with open(config, "w") as file:
        json.dump({"mcpServers": {"bashd": {"command": server[0], "args": server[1:], "env": dict(os.environ)}}}, file)
    program = [os.environ["NODE"], f"{os.environ['CLIENTS']}/@wong2/mcp-cli/src/cli.js", "-c", config]

    async def call(name, arguments):
        return text_in(await printed(*program, "call-tool", f"bashd:{name}", "--args", json.dumps(arguments)))

    # It lists tools for people alone.
    await loop(url, ["bash", "job", "artifact"], call)


async def mcp_cli_python(url, server):
    config = os.path.join(os.environ["HOME"], "server_config.json")
    with open(config, "w") as file:
        json.dump({"mcpServers": {"bashd": {"command": server[0], "args": server[1:], "env": dict(os.environ)}}}, file)
    own = ["--config-file", config, "--server", "bashd", "--quiet"]
    program = [sys.executable, "-m", "mcp_cli"]
    # Each start takes seconds of a processor.
    room = asyncio.Semaphore(4)

    async def call(name, arguments):
        async with room:
            out = await printed(*program, "cmd", "--tool", name, "--tool-args", json.dumps(arguments), "--raw", *own)
        return out.split("Use --help to see all options\n", 1)[-1]

    # Its own loop gives its provider two models, and so asks none; its lists of tools are for people.
    await loop(url, ["bash", "job", "artifact"], call)


def text_in(printed):
    """The text of a result that was printed as a whole."""
    try:
        return "\n".join(block["text"] for block in json.loads(printed)["content"])
    except ValueError:
        return printed


def as_word(value):
    return value if isinstance(value, str) else json.dumps(value)


CLIENTS = {
    "python-sdk-1": python_sdk_1, "python-sdk-2": python_sdk_2, "fastmcp": fastmcp, "langchain": langchain,
    "mcp-use": mcp_use, "openai-agents": openai_agents, "pydantic-ai": pydantic_ai, "inspector": inspector,
    "mcporter": mcporter, "mcp-cli": mcp_cli, "mcp-cli-python": mcp_cli_python,
}

if __name__ == "__main__":
    client, url, *server = sys.argv[1:]
    try:
        asyncio.run(CLIENTS[client](url, server))
    except KeyboardInterrupt:
        sys.exit(130)
