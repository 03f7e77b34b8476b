"""The table of tools: each a function, its arguments, and what a client is told about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from pydantic import ValidationError

from semsearch.errors import UsageError
from semsearch.serve.bodies import Body
from semsearch.serve.mcp import arguments, reading, writing
from semsearch.serve.mcp.callers import Ask
from semsearch.serve.problems import described
from semsearch.types import JsonObject


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: `call` answers with a JSON object and may raise SemsearchError. Its docstring is the description."""

    call: Callable[[Ask, Any], JsonObject]
    arguments: type[Body]
    title: str
    writes: bool = False
    destroys: bool = False

    @property
    def name(self) -> str:
        return self.call.__name__

    def parsed(self, arguments: JsonObject) -> Body:
        """The arguments. Raises UsageError, which names each that is wrong."""
        try:
            return self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise UsageError(f"{_problems(error)}.", f"The schema of {self.name} says what it takes.") from None

    def described(self) -> types.Tool:
        """What a client is told."""
        hints = types.ToolAnnotations(
            title=self.title,
            read_only_hint=not self.writes,
            destructive_hint=self.destroys,
            idempotent_hint=True,
            open_world_hint=False,
        )
        text = inspect.getdoc(self.call) or ""
        schema = _plain(self.arguments.model_json_schema())
        schema.pop("description")
        return types.Tool(name=self.name, title=self.title, description=text, input_schema=schema, annotations=hints)


TOOLS = (
    Tool(reading.search, arguments.Search, "Search documents"),
    Tool(reading.get, arguments.Get, "Read a document"),
    Tool(reading.similar, arguments.Similar, "Find similar passages"),
    Tool(reading.list_indexes, arguments.ListIndexes, "List indexes"),
    Tool(reading.index_status, arguments.Status, "Describe an index"),
    Tool(writing.add_documents, arguments.Add, "Add documents", writes=True, destroys=True),
    Tool(writing.update_document, arguments.Update, "Change a document", writes=True, destroys=True),
    Tool(writing.delete_documents, arguments.Delete, "Delete documents", writes=True, destroys=True),
)


def offered(ask: Ask) -> dict[str, Tool]:
    """The tools that a caller has, by name."""
    return {tool.name: tool for tool in TOOLS if ask.may_write or not tool.writes}


def _problems(error: ValidationError) -> str:
    errors = error.errors(include_input=False, include_url=False)
    lines = dict.fromkeys(f"{place or 'arguments'}: {problem}" for place, problem in map(described, errors[:5]))
    return "; ".join(line[:300] for line in lines)


def _plain(schema: Any) -> Any:
    """A schema without the titles that pydantic makes of names: they cost tokens and say nothing."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: _plain(each) for key, each in value.items()} if name == "properties" else _plain(value)
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str))
    }
