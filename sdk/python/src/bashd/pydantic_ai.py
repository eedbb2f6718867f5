"""bashd's tools for pydantic-ai."""

from __future__ import annotations

from typing import Any

import pydantic_ai

from .client import Client, Tool


async def bashd_tools(client: Client, profile: str | None = None) -> list[pydantic_ai.Tool[Any]]:
    """Every tool of a profile, with its own name, description and schema: the one that runs commands is first.

    A run that is cancelled ends its commands. The client's `approve` is asked where a rule says so.
    """
    return [from_schema(tool) for tool in await client.tools(profile)]


def from_schema(tool: Tool) -> pydantic_ai.Tool[Any]:
    """One of bashd's tools as pydantic-ai has them."""

    async def call(**arguments: Any) -> str:
        return (await tool.call(arguments)).text

    return pydantic_ai.Tool.from_schema(call, name=tool.name, description=tool.description, json_schema=tool.input_schema)
