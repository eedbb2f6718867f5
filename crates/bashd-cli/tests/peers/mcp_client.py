"""The official Python SDK as a client of `bashd mcp`.

    mcp_client.py MODE WORKSPACE stdio BASHD [ARGUMENT...]
    mcp_client.py MODE WORKSPACE http URL TOKEN

Does what a client does, and prints what it saw as one JSON object.
"""

import asyncio
import json
import os
import pathlib
import sys
import time

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

LIMIT = 60


def connect(kind, rest):
    if kind == "stdio":
        environment = {name: value for name, value in os.environ.items()}
        return stdio_client(StdioServerParameters(command=rest[0], args=rest[1:], env=environment))
    url, token = rest
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=LIMIT)
    return streamable_http_client(url, http_client=http)


async def until(is_true, what):
    begun = time.monotonic()
    while not is_true():
        assert time.monotonic() - begun < LIMIT, what
        await asyncio.sleep(0.02)


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def cancel(client, workspace):
    pids = pathlib.Path(workspace, f"pids-{os.getpid()}")
    script = f"setsid sleep 300 & echo $! > {pids}.new; echo $$ >> {pids}.new; mv {pids}.new {pids}; sleep 300"
    call = asyncio.create_task(client.call_tool("bash", {"command": script}))
    await until(pids.exists, "the command runs")
    call.cancel()
    try:
        await call
    except asyncio.CancelledError:
        pass
    tree = [int(pid) for pid in pids.read_text().split()]
    await until(lambda: not any(is_alive(pid) for pid in tree), f"{tree} are gone")
    return len(tree)


async def main(mode, workspace, kind, *rest):
    seen = {}

    def fields(result):
        # As a server for programs gives them, or where models are not shown them.
        return result.structured_content or result.meta["bashd/reply"]

    async with Client(connect(kind, rest), mode=mode) as client:
        tools = await client.list_tools()
        seen["tools"] = [tool.name for tool in tools.tools]
        result = await client.call_tool("bash", {"command": "echo hi; exit 3"})
        seen["text"] = result.content[0].text
        seen["result"] = fields(result)
        told = []

        async def on_progress(progress, total, message):
            told.append(message)

        go = pathlib.Path(workspace, f"go-{os.getpid()}")
        script = f"echo working; until [ -e {go} ]; do sleep 0.05; done"
        call = asyncio.create_task(
            client.call_tool("bash", {"command": script}, progress_callback=on_progress)
        )
        await until(lambda: told, "progress is told")
        go.touch()
        await call
        seen["progress"] = told[0]
        long = await client.call_tool("bash", {"command": "seq 1 20000"})
        artifact = fields(long)["artifact"]
        part = await client.call_tool("artifact", {"id": artifact, "from_line": 9999, "to_line": 10001})
        seen["range"] = fields(part)["output"]
        found = await client.call_tool("artifact", {"id": artifact, "grep": "^1999[89]$"})
        seen["found"] = fields(found)["output"]
        resource = await client.read_resource(artifact)
        seen["resource"] = len(resource.contents[0].text)
        script = "echo starting; sleep 0.2; echo listening on 80; sleep 300"
        started = await client.call_tool("bash", {"command": script, "background": True})
        job = fields(started)["job"]
        wanted = {"action": "wait", "job": job, "regex": "listening on [0-9]+", "timeout": 50}
        waited = await client.call_tool("job", wanted)
        seen["waited"] = waited.content[0].text
        state = await client.read_resource(f"job://{job}")
        seen["job"] = json.loads(state.contents[0].text)["state"]
        await client.call_tool("job", {"action": "kill", "job": job})
        seen["cancelled"] = await cancel(client, workspace)
        again = await client.call_tool("bash", {"command": "echo alive"})
        seen["after"] = fields(again)["output"]
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
