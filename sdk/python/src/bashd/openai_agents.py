"""bashd's tools for the OpenAI Agents SDK."""

from __future__ import annotations

import json
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from .client import Client, Tool


async def bashd_tools(client: Client, profile: str | None = None) -> list[FunctionTool]:
    """Every tool of a profile, with its own name, description and schema: the one that runs commands is first.

    A run that is cancelled ends its commands. The client's `approve` is asked where a rule says so.
    """
    return [function_tool(tool) for tool in await client.tools(profile)]


def function_tool(tool: Tool) -> FunctionTool:
    """One of bashd's tools as the SDK has them."""

    async def invoke(context: ToolContext[Any], given: str) -> str:
        try:
            arguments = json.loads(given or "{}")
        except ValueError as error:
            return f"Error: the arguments are not JSON: {error}"
        return (await tool.call(arguments)).text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema,
        on_invoke_tool=invoke,
        # Its form of a schema requires every field, and bashd's fields are optional.
        strict_json_schema=False,
    )
