"""The executors of the OpenAI Agents SDK with `openai-shell`: prints what the model was sent, as JSON.

    openai_shell_loop.py BASHD
"""

import asyncio
import json
import sys

from agents import Agent, LocalShellTool, OpenAIResponsesModel, Runner, ShellTool, set_tracing_disabled
from agents.tool import ShellCallOutcome, ShellCommandOutput, ShellResult
from contract_rpc import Bashd, ScriptedModel
from openai import AsyncOpenAI

set_tracing_disabled(True)
bashd = Bashd(sys.argv[1], "openai-shell")


def run_shell(request):
    """The executor of `shell`: the action as it is, and the reply as the SDK wants it."""
    action = request.data.action
    arguments = {
        "commands": action.commands,
        "timeout_ms": action.timeout_ms,
        "max_output_length": action.max_output_length,
    }
    result = bashd.call(arguments)["result"]
    output = [
        ShellCommandOutput(entry["stdout"], entry["stderr"], ShellCallOutcome(**entry["outcome"]))
        for entry in result["output"]
    ]
    return ShellResult(output, max_output_length=result["max_output_length"])


def run_local_shell(request):
    """The executor of `local_shell`: its string is the reply's text."""
    action = request.data.action
    return bashd.call(action.model_dump(), tool="local_shell")["text"]


def response(*items):
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "scripted",
        "status": "completed",
        "output": list(items),
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 1,
            "output_tokens": 1,
            "total_tokens": 2,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def said(text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}


def shell_call(number, **action):
    return {
        "type": "shell_call",
        "id": f"sh_{number}",
        "call_id": f"call_{number}",
        "status": "completed",
        "action": {"commands": [], "timeout_ms": None, "max_output_length": None, **action},
    }


def local_shell_call(number, command):
    return {
        "type": "local_shell_call",
        "id": f"lsh_{number}",
        "call_id": f"call_{number}",
        "status": "completed",
        "action": {"type": "exec", "command": command, "env": {}},
    }


async def run(tool, *calls):
    """Lets a model make these calls, one in each turn; returns the tools it was given and what it was sent back."""
    model = ScriptedModel([response(call) for call in calls] + [response(said("done"))])
    client = AsyncOpenAI(base_url=model.url + "/v1", api_key="none")
    agent = Agent(name="agent", model=OpenAIResponsesModel("scripted", client), tools=[tool])
    last = await Runner.run(agent, "go")
    outputs = [item for item in model.requests[-1]["input"] if item.get("type", "").endswith("call_output")]
    return {"tools": model.requests[0]["tools"], "outputs": outputs, "last": last.final_output}


async def main():
    shell = await run(
        ShellTool(executor=run_shell),
        shell_call(1, commands=["echo out; echo err >&2; exit 3", "pwd"]),
        shell_call(2, commands=["echo a; sleep 300", "echo never"], timeout_ms=1500),
        shell_call(3, commands=["git push --force"]),
    )
    local = await run(LocalShellTool(executor=run_local_shell), local_shell_call(1, ["printf", "%s", "a b"]))
    print(json.dumps({"offered": bashd.tools(), "shell": shell, "local_shell": local}))
    bashd.end()


asyncio.run(main())
