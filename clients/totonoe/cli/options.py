"""Options that several commands take, and how their texts become values."""

from __future__ import annotations

import functools
import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer

from totonoe.enums import Source as SourceOf
from totonoe.enums import SourceWord

if TYPE_CHECKING:
    from totonoe.memories.models import TimeRange

Ids: TypeAlias = Annotated[list[str], typer.Argument(help="Ids, or `ext:` and an external id.")]
Text: TypeAlias = Annotated[str, typer.Argument(help="The text; `-` reads standard input.")]
Kind: TypeAlias = Annotated[
    str | None, typer.Option(help="state, event or affect. Default: state.")
]
StateKind: TypeAlias = Annotated[
    str | None, typer.Option(help="fact, relation, task, summary or long_mood. Default: fact.")
]
Source: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Origin of the text: user, agent, tool or external. Default: agent."),
]
Category: TypeAlias = Annotated[str | None, typer.Option(help="Free label.")]
Tags: TypeAlias = Annotated[list[str] | None, typer.Option("--tag", help="May be repeated.")]
Entities: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--entity", help="Person or thing that it is about; may be repeated."),
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
    str | None, typer.Option(help="JSON object; two states are equal only if it is equal.")
]
ExternalId: TypeAlias = Annotated[
    str | None, typer.Option(help="Your own id for it, unique in the collection.")
]
Namespace: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME/NAME", help="Place in a tree of names, outermost first."),
]
Expires: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="TIME",
        help="From then on it counts as forgotten, ISO 8601. Default: never.",
    ),
]
ExpiresAfter: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--expires-after", metavar="SECONDS", help="Expires so long after the save or a read."
    ),
]
Touch: TypeAlias = Annotated[
    bool, typer.Option("--touch", help="Count this as an access, which puts off its expiry.")
]
Created: TypeAlias = Annotated[
    str | None,
    typer.Option("--created", help="Created time, ISO 8601; UTC if it has no zone. Default: now."),
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
    str | None, typer.Option(help="The same if it only adds details to a memory.")
]
OnContained: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The same if it says less than a memory; refused only if it leaves out no restriction."
    ),
]
OperationId: TypeAlias = Annotated[
    str, typer.Option(help="Own id of the operation; makes it safe to run the command again.")
]
Force: TypeAlias = Annotated[bool, typer.Option(help="Save even if the guard would refuse.")]
Reason: TypeAlias = Annotated[str, typer.Option(help="Reason, for the history.")]
ExpectedRevision: TypeAlias = Annotated[
    int, typer.Option(help="Fail unless it has this revision. 0: any revision.")
]
MinRelevance: TypeAlias = Annotated[
    float,
    typer.Option("--min-relevance", metavar="0..1", help="Leave out hits of lower relevance."),
]
NoFold: TypeAlias = Annotated[
    bool, typer.Option("--no-fold", help="Show each memory, also if it is probably the same.")
]
Vectors: TypeAlias = Annotated[bool, typer.Option("--vectors", help="Include vectors in JSON.")]
LinkKind: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--type",
        help="related, updates, updated_by, contradicts, refines, refined_by, causes, caused_by "
        "or coactivated.",
    ),
]
Supersede: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--supersede", metavar="ID", help="Live memory to supersede; may be repeated."),
]
DistinctFrom: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID", help="Live memory that says something else: not asked about; repeatable."
    ),
]
CosineDistanceBelow: TypeAlias = Annotated[
    float | None, typer.Option(metavar="0..2", help="Refuse below this cosine distance.")
]
LinkDistanceBelow: TypeAlias = Annotated[
    float | None, typer.Option(metavar="0..2", help="Link below this cosine distance.")
]
LinksMax: TypeAlias = Annotated[
    int | None, typer.Option(metavar="0..16", help="Maximum of links to near memories. Default: 5.")
]
AsOf: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="REVISION|TIME", help="Show the state right after this revision, or at this time."
    ),
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Limit: TypeAlias = Annotated[int, typer.Option(help="Size of the page, 1 to 1,000.")]
PageToken: TypeAlias = Annotated[str, typer.Option(help="Token of the page before.")]

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
Sources: TypeAlias = Annotated[
    list[str] | None, typer.Option("--source", help="Any of these; may be repeated.")
]
MinSource: TypeAlias = Annotated[
    str | None,
    typer.Option(help="This source or a more trusted one: external, tool, agent, user."),
]
Pending: TypeAlias = Annotated[
    bool, typer.Option("--pending", help="Also what waits for a review: status active or pending.")
]
AttributeEquals: TypeAlias = Annotated[
    str | None,
    typer.Option("--attributes", help="JSON object: these attributes, each equal."),
]


Where: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY>=VALUE",
        help="Compare an attribute (==, !=, >, >=, <, <=; KEY.KEY for nested ones; the value is "
        "JSON, or else a string); may be repeated.",
    ),
]
InNamespace: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME/NAME", help="Its namespace is this one or below it."),
]


def _filter_options(
    kinds: Kinds = None,
    state_kinds: StateKinds = None,
    categories: Categories = None,
    tags: AllTags = None,
    entities: AllEntities = None,
    agent_ids: ByAgents = None,
    session_ids: Sessions = None,
    thread_ids: Threads = None,
    statuses: Statuses = None,
    since: Since = None,
    until: Until = None,
    min_confidence: MinConfidence = None,
    min_importance: MinImportance = None,
    attributes: AttributeEquals = None,
    comparisons: Where = None,
    namespace_prefix: InNamespace = None,
    sources: Sources = None,
    min_source: MinSource = None,
    pending: Pending = False,
) -> None:
    """The signature that `filtered` adds to a command's own."""


def _field_options(
    kind: Kind = None,
    state_kind: StateKind = None,
    source: Source = None,
    category: Category = None,
    tags: Tags = None,
    importance: Importance = None,
    confidence: Confidence = None,
    emotion: Emotion = None,
    session_id: SessionId = None,
    thread_id: ThreadId = None,
    entities: Entities = None,
    private: Private = None,
    attributes: Attributes = None,
    payload: Payload = None,
    external_id: ExternalId = None,
    namespace: Namespace = None,
    expires_time: Expires = None,
    expires_after_s: ExpiresAfter = None,
    created_time: Created = None,
    key: KeyText = None,
    on_update: OnUpdate = None,
    on_contradiction: OnContradiction = None,
    on_refinement: OnRefinement = None,
    on_contained: OnContained = None,
    supersede_ids: Supersede = None,
    distinct_from: DistinctFrom = None,
    cosine_distance_below: CosineDistanceBelow = None,
    link_distance_below: LinkDistanceBelow = None,
    links_max: LinksMax = None,
) -> None:
    """The options of `with_fields`, by the names of the fields in `totonoe.memories.drafts`."""


_Options = Mapping[str, inspect.Parameter]
_FILTER: _Options = inspect.signature(_filter_options, eval_str=True).parameters
_FIELDS: _Options = inspect.signature(_field_options, eval_str=True).parameters


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a filter to a command, which gets them as `conditions`.

    They are the keyword arguments of a client's call, and only those that were given.
    """

    def conditions(options: dict[str, Any]) -> Any:
        options["created"] = since_until(options.pop("since"), options.pop("until"))
        options["attributes"] = json_object(options["attributes"], "--attributes")
        if options.pop("pending"):
            if options["statuses"]:
                raise ValueError("--pending: allowed: without --status")
            options["statuses"] = ["active", "pending"]
        compared = [comparison(text) for text in options["comparisons"] or ()]
        options["comparisons"] = compared or None
        options["namespace_prefix"] = names(options["namespace_prefix"], "--namespace-prefix")
        return given(**options)

    return _with_options(command, "conditions", _FILTER, conditions)


def with_fields(command: Callable[..., None], named: Collection[str]) -> Callable[..., None]:
    """Add the options of some fields of a memory to a command, which gets them as `fields`.

    They are the keyword arguments of a client's call, and only those that were given.

    Parameters
    ----------
    named : collection of str
        Names of fields; those without an option are passed over.
    """
    options = {name: item for name, item in _FIELDS.items() if name in named}

    def fields(values: dict[str, Any]) -> Any:
        read = {name: _READ[name](values[name]) for name in _READ if name in values}
        return given(**values | read)

    return _with_options(command, "fields", options, fields)


def _with_options(
    command: Callable[..., None], name: str, options: _Options, made: Callable[..., Any]
) -> Callable[..., None]:
    """Add options to a command, which gets what is `made` of their values under one name."""

    @functools.wraps(command)
    def run(session: Any, **arguments: Any) -> None:
        values = {option: arguments.pop(option) for option in options}
        command(session, **{name: made(values)}, **arguments)

    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [item for item in own if item.name != name]
    added = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in options.values()]
    run.__signature__ = inspect.Signature(kept + added)  # type: ignore[attr-defined]
    return run


_UNASKED = "nobody can be asked without a terminal: say --yes"


def at_terminal() -> bool:
    """Return true if standard input is a terminal."""
    return sys.stdin.isatty()


def can_ask(yes: bool) -> None:
    """Raise `ValueError` if there is no terminal and `--yes` was not given."""
    if not yes and not at_terminal():
        raise ValueError(_UNASKED)


def ask(question: str) -> None:
    """Ask on standard error, so that standard output has only the answer; a no ends the command.

    Raises
    ------
    ValueError
        If standard input is no terminal and ends without an answer.
    """
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        if at_terminal():
            raise
        typer.echo(err=True)  # ends the line of the question
        raise ValueError(_UNASKED) from None
    if not agreed:
        raise typer.Abort


def as_of(text: str | None) -> int | datetime | None:
    """Parse `--as-of`: a revision (digits alone) or a time."""
    if text is not None and text.isdecimal():
        return int(text)
    return moment(text, "--as-of")


def expectations(pairs: list[str] | None) -> dict[str, int]:
    """Parse `--expect ID=REVISION` to revisions by id."""
    expected = {}
    for pair in pairs or ():
        memory_id, _, revision = pair.rpartition("=")
        if not memory_id or not revision.isdecimal():
            raise ValueError(f"--expect: got {pair!r}, allowed: ID=REVISION")
        expected[memory_id] = int(revision)
    return expected


def key_of(text: str | None) -> tuple[str, str] | None:
    """Split a typed key at its first slash into subject and attribute."""
    if text is None:
        return None
    subject, slash, attribute = text.partition("/")
    if not slash:
        raise ValueError(f"--key: got {text!r}, allowed: SUBJECT/ATTRIBUTE")
    return subject, attribute


def comparison(text: str) -> tuple[list[str], Any, Any]:
    """Parse `--where KEY.KEY>=VALUE` at its first sign; a value that is no JSON is a string."""
    found = _COMPARISON.fullmatch(text)
    if found is None:
        raise ValueError(f"--where: got {text!r}, allowed: KEY>=VALUE with ==, !=, >, >=, < or <=")
    path, sign, value = found.groups()
    try:
        compared = json.loads(value)
    except ValueError:
        compared = value
    return path.split("."), sign, compared


_COMPARISON = re.compile(r"(.+?)(==|!=|>=|<=|>|<)(.*)", re.DOTALL)


def names(text: str | None, option: str) -> list[str] | None:
    """Split a namespace at its slashes; a JSON list of strings stands for itself."""
    if text is None:
        return None
    if not text.startswith("["):
        return text.split("/")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{option}: no JSON ({error})") from None
    if not all(isinstance(item, str) for item in value):
        raise ValueError(f"{option}: got {text!r}, allowed: NAME/NAME, or a JSON list of strings")
    return list(value)


def given(**values: Any) -> Any:
    """Select the given options, as keyword arguments of a client's call.

    Its type is left open because typed keyword arguments know no "absent or given".
    """
    return {name: value for name, value in values.items() if value is not None and value != []}


def word(value: str | list[str] | None) -> Any:
    """Pass words of an enum on; the client checks them and lists the allowed ones."""
    return value


def source_word(value: str | None) -> SourceWord:
    """Return a source of texts, the agent if none is named. Raises `ValueError`."""
    allowed = [source for source in SourceOf if source is not SourceOf.UNKNOWN]
    if value is not None and value not in allowed:
        raise ValueError(f"--source: got {value!r}, allowed: {', '.join(allowed)}")
    return SourceOf(value or SourceOf.AGENT)


def text_of(argument: str) -> str:
    """Return the argument, or standard input for `-` without its last line feed."""
    return sys.stdin.read().removesuffix("\n") if argument == "-" else argument


def json_object(text: str | None, option: str) -> dict[str, Any] | None:
    """Parse a JSON object. Raises `ValueError` that names the option."""
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
    """Parse a time in ISO 8601, in UTC if it has no zone. Raises `ValueError`."""
    if text is None:
        return None
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{option}: got {text!r}, allowed: a time in ISO 8601") from None
    return value if value.utcoffset() is not None else value.replace(tzinfo=UTC)


def since_until(since: str | None, until: str | None) -> TimeRange | None:
    """Make a range of two options, `None` if neither is given."""
    if since is None and until is None:
        return None
    from totonoe.memories.models import TimeRange

    return TimeRange(moment(since, "--since"), moment(until, "--until"))


_READ: Mapping[str, Callable[[Any], Any]] = {
    "attributes": partial(json_object, option="--attributes"),
    "payload": partial(json_object, option="--payload"),
    "namespace": partial(names, option="--namespace"),
    "expires_time": partial(moment, option="--expires"),
    "created_time": partial(moment, option="--created"),
    "key": key_of,
}
"""Readers of the fields whose options are texts."""


def _policies_by_part() -> Mapping[str, type]:
    """Return the policies, by the first word of `--set`."""
    from totonoe.collections import models
    from totonoe.memories.models import DiversityPolicy

    return {
        "guard": models.GuardPolicy,
        "diversity": DiversityPolicy,
        "decay": models.DecayPolicy,
        "retention": models.RetentionPolicy,
        "blast": models.BlastPolicy,
        "tidy": models.TidyPolicy,
    }


def policies(settings: list[str] | None, preset: str | None) -> Any:
    """Parse `--set PART.FIELD=VALUE` to policies, as keyword arguments of a client's call.

    Raises
    ------
    ValueError
        If a path is unknown or a value is not of its type.
    """
    parts = _policies_by_part()
    values: dict[str, dict[str, Any]] = {}
    if preset is not None:
        values["guard"] = {"preset": preset}
    for setting in settings or ():
        path, equals, text = setting.partition("=")
        part, _, name = path.partition(".")
        hints = get_type_hints(parts[part]) if part in parts else {}
        if not equals or name not in hints:
            allowed = ", ".join(f"{option}.FIELD=VALUE" for option in parts)
            raise ValueError(f"--set: got {setting!r}, allowed: {allowed}")
        values.setdefault(part, {})[name] = _value(path, text, hints[name])
    return {part: parts[part](**fields) for part, fields in values.items()}


def _value(path: str, text: str, hint: Any) -> bool | int | float | str:
    if hint == bool | None:
        if text not in ("true", "false"):
            raise ValueError(f"--set {path}: got {text!r}, allowed: true or false")
        return text == "true"
    if hint == int | None:
        if not text.isdecimal():
            raise ValueError(f"--set {path}: got {text!r}, allowed: a whole number")
        return int(text)
    if hint == float | None:
        try:
            return float(text) if hint == float | None else int(text)
        except ValueError:
            whole = "" if hint == float | None else "whole "
            raise ValueError(f"--set {path}: got {text!r}, allowed: a {whole}number") from None
    return text
