"""The tool runner of the Anthropic SDK with `anthropic-bash`: prints what the model was sent, as JSON.

    anthropic_loop.py BASHD
"""

import json
import sys

from anthropic import Anthropic
from anthropic.lib.tools import BetaBuiltinFunctionTool, ToolError
from contract_rpc import Bashd, ScriptedModel

bashd = Bashd(sys.argv[1], "anthropic-bash")


class BashTool(BetaBuiltinFunctionTool):
    def to_dict(self):
        [definition] = bashd.tools()
        return definition

    def call(self, input):
        reply = bashd.call(input)
        if reply["is_error"]:
            raise ToolError(reply["text"])
        return reply["text"]


def message(*inputs):
    """An answer of the model: these calls, or its last word."""
    calls = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": "bash", "input": arguments}
        for number, arguments in enumerate(inputs)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": calls or [{"type": "text", "text": "done"}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


model = ScriptedModel(
    [
        message({"command": "cd / && X=kept"}, {"command": "pwd; echo $X"}),
        message({"command": "echo out; echo err >&2; (exit 3)"}),
        message({"restart": True}),
        message({"command": "echo x=$X"}),
        message(),
    ]
)
client = Anthropic(base_url=model.url, api_key="none")
runner = client.beta.messages.tool_runner(
    model="scripted", max_tokens=100, tools=[BashTool()], messages=[{"role": "user", "content": "go"}]
)
last = runner.until_done()
bashd.end()

# What each turn brought is the last message of the request after it.
results = [
    [result["content"], result.get("is_error", False)]
    for request in model.requests[1:]
    for result in request["messages"][-1]["content"]
]
print(json.dumps({"tools": model.requests[0]["tools"], "results": results, "last": last.content[0].text}))
