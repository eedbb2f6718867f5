"""bashd's tools for LangChain and LangGraph."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import StructuredTool, ToolException

from .client import Client, Tool, ToolAnswer
from .sync import SyncClient, SyncTool


async def bashd_tools(client: Client, profile: str | None = None) -> list[StructuredTool]:
    """Every tool of a profile, with its own name, description and schema: the one that runs commands is first.

    They are for `ainvoke`; a run that is cancelled ends its commands. The client's `approve` is asked where a rule says so.
    """
    return [structured_tool(tool) for tool in await client.tools(profile)]


def bashd_sync_tools(client: SyncClient, profile: str | None = None) -> list[StructuredTool]:
    """The same for `invoke`."""
    return [structured_tool(tool) for tool in client.tools(profile)]


def structured_tool(tool: Tool | SyncTool) -> StructuredTool:
    """One of bashd's tools as LangChain has them. What bashd calls an error is one in the tool's message."""

    def said(answer: ToolAnswer) -> tuple[str, ToolAnswer]:
        if answer.is_error:
            raise ToolException(answer.text)
        return answer.text, answer

    def call(**arguments: Any) -> tuple[str, ToolAnswer]:
        assert isinstance(tool, SyncTool)
        return said(tool.call(arguments))

    async def acall(**arguments: Any) -> tuple[str, ToolAnswer]:
        assert isinstance(tool, Tool)
        return said(await tool.call(arguments))

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.input_schema,
        func=call if isinstance(tool, SyncTool) else None,
        coroutine=acall if isinstance(tool, Tool) else None,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
