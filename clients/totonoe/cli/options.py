"""Options that several commands take, and how their texts become values."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from totonoe.admin_models import DecayPolicy, DiversityPolicy, GuardPolicy
from totonoe.models import TimeRange

Text: TypeAlias = Annotated[str, typer.Argument(help="The text; `-` reads standard input.")]
Kind: TypeAlias = Annotated[
    str | None, typer.Option(help="state, event or affect. Default: state.")
]
StateKind: TypeAlias = Annotated[
    str | None, typer.Option(help="fact, relation, task, summary or long_mood. Default: fact.")
]
Category: TypeAlias = Annotated[str | None, typer.Option(help="Free label.")]
Tags: TypeAlias = Annotated[list[str] | None, typer.Option("--tag", help="May be repeated.")]
Entities: TypeAlias = Annotated[
    list[str] | None, typer.Option("--entity", help="Whom or what it is about; may be repeated.")
]
Importance: TypeAlias = Annotated[int | None, typer.Option(help="1 to 5. Default: 3.")]
Confidence: TypeAlias = Annotated[float | None, typer.Option(help="0 to 1. Default: 0.8.")]
Emotion: TypeAlias = Annotated[str | None, typer.Option(help="Free label of a feeling.")]
SessionId: TypeAlias = Annotated[str | None, typer.Option("--session", help="Session id.")]
ThreadId: TypeAlias = Annotated[str | None, typer.Option("--thread", help="Thread id.")]
Private: TypeAlias = Annotated[
    bool | None, typer.Option("--private/--public", help="Only its own agent may see it.")
]
Attributes: TypeAlias = Annotated[str | None, typer.Option(help="JSON object of your own fields.")]
Payload: TypeAlias = Annotated[
    str | None, typer.Option(help="JSON object; part of what makes two states equal.")
]
ExternalId: TypeAlias = Annotated[
    str | None, typer.Option(help="Your own id for it, unique in the collection.")
]
Created: TypeAlias = Annotated[
    str | None,
    typer.Option(help="When it came to be, ISO 8601; UTC if it names no zone. Default: now."),
]
KeyText: TypeAlias = Annotated[
    str | None,
    typer.Option("--key", metavar="SUBJECT/ATTRIBUTE", help="A new value supersedes the old one."),
]
OnUpdate: TypeAlias = Annotated[
    str | None,
    typer.Option(help="If it updates a memory: link, refuse or supersede. Default: the policy's."),
]
OnContradiction: TypeAlias = Annotated[
    str | None, typer.Option(help="The same if it contradicts a memory.")
]
OnRefinement: TypeAlias = Annotated[
    str | None, typer.Option(help="The same if one of both only says more.")
]
OperationId: TypeAlias = Annotated[
    str, typer.Option(help="Makes it safe to run the command again. Default: a new one.")
]
Force: TypeAlias = Annotated[bool, typer.Option(help="Save even if the guard would refuse.")]
Reason: TypeAlias = Annotated[str, typer.Option(help="Why, for the history.")]
ExpectedRevision: TypeAlias = Annotated[
    int, typer.Option(help="Fail unless it is at this revision. 0: whatever it is at.")
]
Vectors: TypeAlias = Annotated[bool, typer.Option("--vectors", help="With vectors, in JSON.")]
LinkKind: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--type",
        help="related, updates, updated_by, contradicts, refines, refined_by, causes or caused_by.",
    ),
]

# -- filters

Kinds: TypeAlias = Annotated[
    list[str] | None, typer.Option("--kind", help="Any of these; may be repeated.")
]
StateKinds: TypeAlias = Annotated[
    list[str] | None, typer.Option("--state-kind", help="Any of these; may be repeated.")
]
Categories: TypeAlias = Annotated[
    list[str] | None, typer.Option("--category", help="Any of these; may be repeated.")
]
AllTags: TypeAlias = Annotated[
    list[str] | None, typer.Option("--tag", help="All of these; may be repeated.")
]
AllEntities: TypeAlias = Annotated[
    list[str] | None, typer.Option("--entity", help="All of these; may be repeated.")
]
ByAgents: TypeAlias = Annotated[
    list[str] | None, typer.Option("--by-agent", help="Written by any of these agents.")
]
Sessions: TypeAlias = Annotated[
    list[str] | None, typer.Option("--session", help="Any of these; may be repeated.")
]
Threads: TypeAlias = Annotated[
    list[str] | None, typer.Option("--thread", help="Any of these; may be repeated.")
]
Statuses: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--status", help="active, superseded, closed or forgotten. Default: active."),
]
Since: TypeAlias = Annotated[
    str | None, typer.Option(help="Created at or after this time, ISO 8601.")
]
Until: TypeAlias = Annotated[str | None, typer.Option(help="Created before this time, ISO 8601.")]
MinConfidence: TypeAlias = Annotated[
    float | None, typer.Option(help="Effective (decayed) confidence at least this.")
]
MinImportance: TypeAlias = Annotated[int | None, typer.Option(help="Importance at least this.")]
AttributeEquals: TypeAlias = Annotated[
    str | None,
    typer.Option("--attributes", help="JSON object: these attributes, each equal."),
]


def key_of(text: str | None) -> tuple[str, str] | None:
    """Subject and attribute of a typed key, parted by the first slash."""
    if text is None:
        return None
    subject, slash, attribute = text.partition("/")
    if not slash:
        raise ValueError(f"--key: got {text!r}, allowed: SUBJECT/ATTRIBUTE")
    return subject, attribute


def given(**values: Any) -> Any:
    """The options that were given, as keyword arguments of a client's call.

    Its type is left open because typed keyword arguments know no "absent or given".
    """
    return {name: value for name, value in values.items() if value is not None and value != []}


def text_of(argument: str) -> str:
    """The argument, or standard input for `-`, without the line feed at its end."""
    return sys.stdin.read().removesuffix("\n") if argument == "-" else argument


def json_object(text: str | None, option: str) -> dict[str, Any] | None:
    """A JSON object. Raises `ValueError` that names the option."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{option}: no JSON ({error})") from None
    if isinstance(value, dict):
        return value
    raise ValueError(f"{option}: got a {type(value).__name__}, allowed: a JSON object")


def moment(text: str | None, option: str) -> datetime | None:
    """A time in ISO 8601, in UTC if it names no zone. Raises `ValueError`."""
    if text is None:
        return None
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{option}: got {text!r}, allowed: a time in ISO 8601") from None
    return value if value.utcoffset() is not None else value.replace(tzinfo=UTC)


def since_until(since: str | None, until: str | None) -> TimeRange | None:
    """The range of two options, `None` if neither is given."""
    if since is None and until is None:
        return None
    return TimeRange(moment(since, "--since"), moment(until, "--until"))


_PARTS: Mapping[str, type] = {
    "guard": GuardPolicy,
    "diversity": DiversityPolicy,
    "decay": DecayPolicy,
}


def policies(settings: list[str] | None, preset: str | None) -> Any:
    """Policies of `--set PART.FIELD=VALUE`, as keyword arguments of a client's call.

    Raises
    ------
    ValueError
        If a path is unknown or a value is not of its type.
    """
    values: dict[str, dict[str, Any]] = {}
    if preset is not None:
        values["guard"] = {"preset": preset}
    for setting in settings or ():
        path, equals, text = setting.partition("=")
        part, _, name = path.partition(".")
        hints = get_type_hints(_PARTS[part]) if part in _PARTS else {}
        if not equals or name not in hints:
            allowed = "guard.FIELD=VALUE, diversity.FIELD=VALUE or decay.FIELD=VALUE"
            raise ValueError(f"--set: got {setting!r}, allowed: {allowed}")
        values.setdefault(part, {})[name] = _value(path, text, hints[name])
    return {part: _PARTS[part](**fields) for part, fields in values.items()}


def _value(path: str, text: str, hint: Any) -> bool | float | str:
    if hint == bool | None:
        if text not in ("true", "false"):
            raise ValueError(f"--set {path}: got {text!r}, allowed: true or false")
        return text == "true"
    if hint == float | None:
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"--set {path}: got {text!r}, allowed: a number") from None
    return text
