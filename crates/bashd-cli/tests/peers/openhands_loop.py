"""OpenHands with bashd: its agent, its loop, its MCP client and its hooks, and a model that follows a script. Prints what that model was sent.

    openhands_loop.py BASHD WORKSPACE tools    `terminal` of the profile `openhands`, over MCP
    openhands_loop.py BASHD WORKSPACE hook     OpenHands' own `terminal`, behind `bashd hook openhands`
"""

import json
import os
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
os.environ |= {"OPENHANDS_SUPPRESS_BANNER": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LOG_LEVEL": "CRITICAL"}

from contract_rpc import ScriptedModel
from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.conversation.visualizer import ConversationVisualizerBase
from openhands.sdk.hooks import HookConfig
from openhands.tools.terminal.definition import TerminalAction, TerminalTool

bashd, workspace, case = sys.argv[1:]


class Quiet(ConversationVisualizerBase):
    def on_event(self, event):
        pass


def answer(number, arguments=None):
    """What the model says: a call, as OpenHands' own type of it has its arguments, or its last word."""
    message = {"role": "assistant", "content": "done"}
    if arguments is not None:
        action = TerminalAction(**arguments).model_dump(exclude_unset=True)
        action.pop("kind", None)
        call = {"name": "terminal", "arguments": json.dumps(action)}
        calls = [{"id": f"call_{number}", "type": "function", "function": call}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    finish = "stop" if arguments is None else "tool_calls"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


steps = {
    "tools": [
        {"command": "cd / && X=kept"},
        {"command": "pwd; echo $X; (exit 3)"},
        {"command": "read -p 'name? ' name; echo \"got=$name\"", "timeout": 1},
        {"command": "Ada", "is_input": True, "timeout": 20},
        {"command": "sleep 1000", "timeout": 1},
        {"command": "C-c", "is_input": True, "timeout": 20},
        {"command": "echo x=$X", "reset": True},
    ],
    "hook": [
        {"command": "touch ran-1; true"},
        {"command": "touch ran-2; deploy now"},
        {"command": "touch ran-3; release now"},
    ],
}[case]
model = ScriptedModel([answer(number, step) for number, step in enumerate(steps)] + [answer(len(steps))])
llm = LLM(model="openai/scripted", base_url=f"{model.url}/v1", api_key="none", num_retries=0, usage_id="agent")
with_server = {"bashd": {"command": bashd, "args": ["mcp", "--profile", "openhands"]}}
if case == "tools":
    agent, hooks = Agent(llm=llm, tools=[], mcp_config=with_server), None
else:
    agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name, params={"terminal_type": "subprocess"})])
    hooks = HookConfig.load(Path(workspace, ".openhands/hooks.json"))
conversation = Conversation(agent=agent, workspace=workspace, visualizer=Quiet, hook_config=hooks)
conversation.send_message("go")
conversation.run()
conversation.close()


def text(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


sent = [message for message in model.requests[-1]["messages"] if message["role"] == "tool"]
tools = [tool["function"] for tool in model.requests[0]["tools"] if tool["function"]["name"] == "terminal"]
print(json.dumps({"tools": tools, "results": [text(message["content"]) for message in sent]}))
