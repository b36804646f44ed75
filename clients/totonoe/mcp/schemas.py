"""Tools with strict arguments, small schemas, and errors in words for an agent."""

from __future__ import annotations

import ast
import logging
import traceback
from collections.abc import Callable
from typing import Any, Self, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from totonoe.errors import InvalidArgument, NotFound, TotonoeError
from totonoe.mcp.access import Refused
from totonoe.mcp.answers import Answer
from totonoe.words.parts import counted

GENERIC = "Something is wrong inside of totonoe mcp; its log says what."
_SHOWN_CHARS = 60
_ARGUMENTS = {"text": "query", "target": "operation_id", "id": "episode_id"}
"""Names of arguments, by fields of the contract that have other ones."""

logger = logging.getLogger(__name__)


def reply(data: str, answer: Answer) -> CallToolResult:
    """Return an answer: its data, `---` and the advice as text, and the same as structure."""
    text = f"{data}\n\n---\n{answer.advice}" if answer.advice else data
    structure = answer.model_dump(mode="json", exclude_none=True)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structure
    )


def failure(data: str, advice: str = "") -> CallToolResult:
    """Return an error for the agent."""
    text = f"{data}\n\n---\n{advice}" if advice else data
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


class MemoryTool(Tool):
    """A tool that refuses unknown arguments and says each error in its own words."""

    @classmethod
    def made(
        cls, function: Callable[..., Any], description: str, annotations: ToolAnnotations
    ) -> Self:
        """Return the tool of a function that returns `Annotated[CallToolResult, model]`."""
        made = cls.from_function(
            function, description=description, annotations=annotations, structured_output=True
        )
        tool = cast("Self", made)
        metadata = tool.fn_metadata
        metadata.arg_model = type(
            metadata.arg_model.__name__,
            (metadata.arg_model,),
            {"model_config": ConfigDict(extra="forbid"), "__module__": __name__},
        )
        tool.parameters = slim(metadata.arg_model.model_json_schema())
        model: type[BaseModel] = metadata.output_model
        metadata.output_schema = outline(model.model_json_schema())
        return tool

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Run the tool. No exception leaves it but those of the protocol."""
        # Some hosts send null for whatever the model left out.
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            return await super().run(given, context, convert_result)
        except ToolError as error:
            return self._failed(error, error.__cause__)

    def _failed(self, error: ToolError, cause: BaseException | None) -> CallToolResult:
        if isinstance(cause, ValidationError) and not isinstance(error, UnexpectedToolError):
            return failure("\n".join(_misfits(cause)))
        if isinstance(cause, NotFound | InvalidArgument) and (missing := _missing_id(cause)):
            return failure(f"Memory not found: {missing}", cause.advice)
        if isinstance(cause, TotonoeError):
            return failure(_with_argument(cause), cause.advice)
        if isinstance(cause, Refused):
            return failure(str(cause))
        if isinstance(cause, ValueError) and not isinstance(cause, ValidationError):
            return failure(str(cause))
        log_crash(f"tool {self.name}", cause or error)
        return failure(GENERIC)


def log_crash(where: str, error: BaseException) -> None:
    """Log an unexpected exception: its type and its place. Its message could hold a text."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed: %s\n%s", where, type(error).__name__, frames)


def _misfits(error: ValidationError) -> list[str]:
    """Return a line for each wrong argument: its name, what it got, and what is allowed."""
    lines = []
    for problem in error.errors(include_url=False):
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(f"{name}: no such argument")
        elif problem["type"] == "missing":
            lines.append(f"{name}: missing, allowed: a value")
        else:
            lines.append(f"{name}: got {_shown(problem['input'])}, allowed: {_rule(problem)}")
    return lines


_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
}


def _rule(error: ErrorDetails) -> str:
    """Return what is allowed in plain words, else pydantic's sentence without its beginning."""
    kind = error["type"]
    if kind == "too_short":
        return f"at least {counted(error['ctx']['min_length'], 'item')}"
    if kind == "too_long":
        return f"at most {counted(error['ctx']['max_length'], 'item')}"
    of_type = kind.endswith(("_type", "_parsing", "_parsing_size", "_from_float"))
    allowed = _TYPES.get(kind.partition("_")[0], "") if of_type else ""
    return allowed or error["msg"].removeprefix("Input should be ")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def _with_argument(error: TotonoeError) -> str:
    """Return the message, with the name of the tool's argument in place of the contract's field."""
    field = error.details.get("field", "")
    argument = _ARGUMENTS.get(field, field.rpartition(".")[2])
    rest = str(error).removeprefix(field)
    return f"{argument}{rest}" if field and rest != str(error) else str(error)


def _missing_id(error: TotonoeError) -> str:
    """Return the id that leads to no memory, unknown or malformed; empty: another error."""
    details = error.details
    if error.reason == "MEMORY_NOT_FOUND":
        return details.get("name", "")
    if error.reason == "BAD_NAME" and details.get("allowed", "").startswith("mem_"):
        return str(ast.literal_eval(details["got"])) or "(empty)"
    return ""


def slim(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON schema without what no reader needs, which each host pays for in tokens.

    Titles go, and defaults that say "nothing"; of `T or null` only T stays, as null is never sent.
    """
    slimmed: dict[str, Any] = _slim(schema)
    slimmed.pop("description", None)
    return slimmed


def outline(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer with its own fields only; docs/mcp.md has those of its parts.

    Models read the text of an answer. Programs need to know which fields there are.
    """
    slimmed = slim(schema)
    properties = {name: _shallow(part) for name, part in slimmed["properties"].items()}
    return {"type": "object", "properties": properties}


def _shallow(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field, without that of the objects in it."""
    if "$ref" in part:
        return {"type": "object"}
    kept = {key: value for key, value in part.items() if key not in ("description", "default")}
    return kept | ({"items": _shallow(kept["items"])} if "items" in kept else {})


def _slim(part: Any, names: bool = False) -> Any:
    """Slim a part of a schema; with `names` its keys are names of properties or definitions."""
    if isinstance(part, list):
        return [_slim(item) for item in part]
    if not isinstance(part, dict):
        return part
    if names:
        return {name: _slim(value) for name, value in part.items()}
    kept: dict[str, Any] = {}
    for key, value in part.items():
        if key == "title" or (key == "default" and not value):
            continue
        kept[key] = _slim(value, names=key in ("properties", "$defs"))
    options = [option for option in kept.get("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        del kept["anyOf"]
        kept |= options[0]
    return kept
