"""LangGraph: items of agents behind `BaseStore`. Needs `pip install 'totonoe[langgraph]'`.

    from totonoe import Client
    from totonoe.adapters.langgraph import TotonoeStore

    store = TotonoeStore(Client(agent_id="assistant"), ttl={"default_ttl": 60 * 24})
    graph = builder.compile(store=store)

    item                    memory
    namespace, key          namespace; external id, a hash of both; attribute `key`
    value                   attribute `value`, exactly
    texts of the value      content, which is searched and guarded
    ttl, in minutes         expires_after_s

The daemon makes the vectors. Each operation of the interface is a generator of calls on a client
(`adapters.steps`), so that the blocking and the asynchronous store share one implementation.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal, TypeAlias, TypedDict

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the store needs the package langgraph-checkpoint: pip install 'totonoe[langgraph]'",
        name=error.name,
    ) from error

from totonoe.adapters.steps import Call, Steps, run, run_async
from totonoe.aio import AsyncClient
from totonoe.client import Client
from totonoe.enums import Status, Verdict
from totonoe.errors import ExternalIdExists, InvalidArgument, NotActive, NotFound
from totonoe.memories.models import (
    DiversityPolicy,
    Duplicate,
    Memory,
    NamespacePattern,
    Remembered,
    Similar,
    Updated,
)

CATEGORY = "langgraph"
"""Category of the memories that are items of a store."""
REPORTS_MAX = 1000
TRIES_MAX = 5
"""Tries of a put that others change at the same time."""
CONTENT_BYTES_MAX = 32 * 1024
HITS_MAX = 1000
_AT_ONCE = 1000
_LINK: Any = dict.fromkeys(
    ("on_update", "on_contradiction", "on_refinement", "on_contained"), "link"
)
_COMPARED = {"$eq": "eq", "$ne": "ne", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}
_log = logging.getLogger(__name__)

Guard: TypeAlias = Literal["report", "refuse", "off"]
Names: TypeAlias = tuple[str, ...]


class IndexFields(TypedDict, total=False):
    """Which texts of a value are searched and guarded, as paths; default `["$"]`: all of it."""

    fields: list[str] | None


@dataclass(frozen=True, slots=True)
class Report:
    """A finding of the guard about an item that was put.

    Attributes
    ----------
    namespace, key : tuple of str, str
        The item that was put.
    verdict : str
        `duplicate`: another item of the namespace says the same. `likely_same`: probably.
        `update`, `contradiction`: it differs in a value, or denies it.
    memory_id, other_key : str
        The other memory, and its key; empty if it is no item of a store.
    similarity : float
        0 to 1: of the texts, or for `likely_same` the probability.
    stored : bool
        False: the put was refused.
    """

    namespace: Names
    key: str
    verdict: str
    memory_id: str
    other_key: str
    similarity: float
    stored: bool


class PutRefused(ValueError):  # noqa: N818 - says what happened, as the errors of the client do
    """Another item of the namespace says the same, and the store refuses (`guard="refuse"`).

    Nothing was changed for this item. Earlier puts of the same batch stand.
    """

    def __init__(self, report: Report) -> None:
        where = f"key {report.other_key!r}, " if report.other_key else ""
        super().__init__(
            f"{report.key!r} in {report.namespace!r} was not put: {where}memory "
            f"{report.memory_id} says the same"
        )
        self.report = report

    @property
    def memory_id(self) -> str:
        """The memory that says the same."""
        return self.report.memory_id


class _Store(BaseStore):
    """Base of both stores: each operation as the steps that carry it out."""

    __slots__ = ("_fields", "_guard", "_where", "reports", "ttl_config")

    supports_ttl = True

    def __init__(
        self,
        index: IndexFields | None,
        ttl: TTLConfig | None,
        guard: Guard,
        collection: str | None,
    ) -> None:
        if guard not in ("report", "refuse", "off"):
            raise ValueError(f"guard: got {guard!r}, allowed: report, refuse, off")
        unknown = sorted(set(index or ()) - {"fields"})
        if unknown:
            raise ValueError(
                f"index: got {unknown[0]!r}, allowed: fields; the daemon makes the vectors"
            )
        self._fields = tuple((index or {}).get("fields") or ("$",))
        self._guard = guard
        self._where: dict[str, Any] = {} if collection is None else {"collection": collection}
        self.ttl_config = ttl
        self.reports: deque[Report] = deque(maxlen=REPORTS_MAX)

    # -- Steps

    def _results(self, ops: Iterable[Op]) -> Steps[list[Result]]:
        """Answer operations: reads as of before the writes; of equal keys the last put counts."""
        asked = list(ops)
        for op in asked:
            if not isinstance(op, GetOp | SearchOp | PutOp | ListNamespacesOp):
                raise ValueError(f"Unknown operation type: {type(op)}")  # noqa: TRY004 - so `InMemoryStore`
            validate_op_namespace(op)
        results: list[Result] = [None] * len(asked)
        gets = [(at, op) for at, op in enumerate(asked) if isinstance(op, GetOp)]
        for refresh in (True, False):
            wanted = [(at, op) for at, op in gets if op.refresh_ttl is refresh]
            items = yield from self._items([op for _, op in wanted], refresh)
            for (at, _), item in zip(wanted, items, strict=True):
                results[at] = item
        for at, op in enumerate(asked):
            if isinstance(op, SearchOp):
                results[at] = yield from self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[at] = yield from self._namespaces(op)
        for put in {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}.values():
            yield from self._put(put)
        return results

    def _items(self, ops: Sequence[GetOp], refresh: bool) -> Steps[list[Item | None]]:
        ids = [f"ext:{external_id(op.namespace, op.key)}" for op in ops]
        memories: dict[str, Memory] = {}
        for some in _parts(dict.fromkeys(ids)):
            try:
                answer = yield self._call("get_many", some, touch=refresh)
            except NotFound as error:
                _expect_missing(error)
                continue
            memories |= {f"ext:{memory.external_id}": memory for memory in answer.memories}
        shown = {
            name: memory
            for name, memory in memories.items()
            if memory.status is not Status.FORGOTTEN
        }
        return [_item(shown[memory_id]) if memory_id in shown else None for memory_id in ids]

    def _search(self, op: SearchOp) -> Steps[list[SearchItem]]:
        _check_page(op.limit, op.offset)
        if not op.limit:
            return []
        conditions: dict[str, Any] = {
            "categories": [CATEGORY],
            "namespace_prefix": op.namespace_prefix,
            "comparisons": list(comparisons(op.filter or {})),
        }
        end = op.offset + op.limit
        scored: list[tuple[Memory, float | None]] = []
        if op.query and op.query.strip():
            if end > HITS_MAX:
                raise ValueError(
                    f"limit and offset: got {end} together, allowed: up to {HITS_MAX} with a query"
                )
            answer = yield self._call(
                "recall",
                op.query,
                k=end,
                fold=False,
                diversity=DiversityPolicy(enabled=False),
                no_touch=True,
                **conditions,
            )
            scored = [(hit.memory, hit.relevance) for hit in answer.hits]
        if len(scored) < end:
            seen = {memory.id for memory, _ in scored}
            rest = yield from self._listed(conditions, end + len(seen))
            scored += [(memory, None) for memory in rest if memory.id not in seen]
        page = scored[op.offset : end]
        expiring = [memory.id for memory, _ in page if memory.expires_after_s is not None]
        if op.refresh_ttl:
            for some in _parts(expiring):
                # They may be gone by now.
                with suppress(NotFound):
                    yield self._call("get_many", some, touch=True)
        return [_search_item(memory, score) for memory, score in page]

    def _listed(self, conditions: dict[str, Any], count: int) -> Steps[list[Memory]]:
        """Return the first memories by creation time, a page at a time."""
        memories: list[Memory] = []
        token = ""
        while len(memories) < count:
            page = yield self._call(
                "list",
                page_size=min(_AT_ONCE, count - len(memories)),
                page_token=token,
                **conditions,
            )
            memories += page.memories
            token = page.next_page_token
            if not token:
                break
        return memories

    def _namespaces(self, op: ListNamespacesOp) -> Steps[list[Names]]:
        _check_page(op.limit, op.offset)
        if op.max_depth is not None and op.max_depth < 1:
            raise ValueError(f"max_depth: got {op.max_depth}, allowed: 1 or more")
        patterns = [
            _pattern(condition) for condition in op.match_conditions or () if condition.path
        ]
        found: list[Names] = []
        while len(found) < op.limit:
            page = yield self._call(
                "list_namespaces",
                patterns=patterns,
                max_depth=min(op.max_depth or 0, NAMES_MAX),
                limit=min(_AT_ONCE, op.limit - len(found)),
                offset=op.offset + len(found),
                categories=[CATEGORY],
            )
            found += [namespace.names for namespace in page.namespaces]
            if op.offset + len(found) >= page.total_count or not page.namespaces:
                break
        return found

    def _put(self, op: PutOp) -> Steps[None]:
        name = external_id(op.namespace, op.key)
        if op.value is None:
            try:
                yield self._call("forget", f"ext:{name}", reason="deleted by a LangGraph store")
            except NotFound as error:
                _expect_missing(error)
            return
        fields: dict[str, Any] = {
            "attributes": {"key": op.key, "value": dict(op.value)},
            "expires_time": None,
            "expires_after_s": None if op.ttl is None else op.ttl * 60.0,
        }
        text = self._text_of(op)
        force = self._guard == "off" or op.index is False
        for _ in range(TRIES_MAX):
            try:
                done = yield from self._write(op, name, text, fields, force)
            except InvalidArgument as error:
                if not error.details.get("field", "").startswith("memory."):
                    raise
                raise _unfit(op, error) from error
            if done is None:
                # Somebody else put or deleted it meanwhile.
                continue
            yield from self._reported(op, done)
            saved = done.saved if isinstance(done, Remembered) else done.updated
            if saved:
                return
            force = True
        raise RuntimeError(
            f"{op.key!r} in {op.namespace!r} was changed {TRIES_MAX} times meanwhile"
        )

    def _write(
        self, op: PutOp, name: str, text: str, fields: dict[str, Any], force: bool
    ) -> Steps[Remembered | Updated | None]:
        """Change the item, or make it; `None` if somebody else did either at the same time."""
        try:
            # A time to live counts from here on; without one it is cleared.
            updated: Updated = yield self._call(
                "update", f"ext:{name}", content=text, force=force, **fields
            )
            return updated
        except NotFound as error:
            _expect_missing(error)
        except NotActive as error:
            if error.details.get("status") != Status.FORGOTTEN:
                # A clean-up closed it; the item goes on as a memory of its own.
                yield self._call("forget", f"ext:{name}", reason="put again by a LangGraph store")
        try:
            saved: Remembered = yield self._call(
                "remember",
                text,
                force=force,
                external_id=name,
                namespace=op.namespace,
                category=CATEGORY,
                **fields,
                **_LINK,
            )
            return saved
        except ExternalIdExists:
            return None

    def _reported(self, op: PutOp, done: Remembered | Updated) -> Steps[None]:
        """Note what the guard found; raise `PutRefused` if the store refuses for it."""
        found = list(_findings(done))
        ids = [memory_id for _, memory_id, _ in found]
        keys: dict[str, str] = {}
        if ids:
            try:
                others = yield self._call("get_many", ids)
            except NotFound:
                pass
            else:
                keys = {memory.id: _key_of(memory) for memory in others.memories}
        for verdict, memory_id, similarity in found:
            refused = verdict == "duplicate" and self._guard == "refuse"
            report = Report(
                op.namespace,
                op.key,
                verdict,
                memory_id,
                keys.get(memory_id, ""),
                similarity,
                stored=not refused,
            )
            self.reports.append(report)
            _log.info("put into a LangGraph store: %s of memory %s", verdict, memory_id)
            if refused:
                raise PutRefused(report)

    def _text_of(self, op: PutOp) -> str:
        """Return the text of an item: of its indexed fields, else of its whole value."""
        if op.index is False:
            # It is found by listing and by its key, not by what it says.
            return json.dumps(op.key, ensure_ascii=False)
        assert op.value is not None
        fields = self._fields if op.index is None else op.index
        lines: list[str] = []
        for path in fields:
            lines += said(op.value) if path == "$" else get_text_at_path(op.value, path)
        text = "\n".join(line for line in lines if line.strip())
        text = (
            text.replace("\0", " ")
            .encode("utf-8", "replace")[:CONTENT_BYTES_MAX]
            .decode("utf-8", "ignore")
        )
        # A visible character must be there.
        return text if any(map(str.isprintable, text.replace(" ", ""))) else json.dumps(op.key)

    def _call(self, method: str, /, *args: Any, **keywords: Any) -> Call:
        return Call(method, *args, **{**self._where, **keywords})


class TotonoeStore(_Store):
    """A LangGraph store on a collection, with the blocking client. The caller closes the client.

    Parameters
    ----------
    client : Client
        Its agent writes the items.
    index : mapping, optional
        `{"fields": [...]}`: paths of the texts that are searched and guarded, default `["$"]`: all.
    ttl : mapping, optional
        `default_ttl` in minutes and `refresh_on_read`, as `TTLConfig`. Expired items are hidden at
        once and swept by the daemon, whatever `omit_expired` and `sweep_interval_minutes` say.
    guard : str
        `report`: every put is stored, and what the guard found is in `reports`, the newest last, at
        most 1,000. `refuse`: a put that repeats another item of its namespace raises `PutRefused`.
        `off`: nothing is compared.
    collection : str, optional
        In place of the client's.
    """

    __slots__ = ("client",)

    def __init__(
        self,
        client: Client,
        *,
        index: IndexFields | None = None,
        ttl: TTLConfig | None = None,
        guard: Guard = "report",
        collection: str | None = None,
    ) -> None:
        super().__init__(index, ttl, guard, collection)
        self.client = client

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: first the reads, then the puts, which are no transaction."""
        return run(self.client, self._results(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))


class AsyncTotonoeStore(_Store):
    """The same with the asynchronous client; arguments as for `TotonoeStore`.

    `batch` and the blocking methods work from other threads than that of the client's loop, once an
    asynchronous one has run.
    """

    __slots__ = ("_loop", "client")

    def __init__(
        self,
        client: AsyncClient,
        *,
        index: IndexFields | None = None,
        ttl: TTLConfig | None = None,
        guard: Guard = "report",
        collection: str | None = None,
    ) -> None:
        super().__init__(index, ttl, guard, collection)
        self.client = client
        self._loop: asyncio.AbstractEventLoop | None = None

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: first the reads, then the puts, which are no transaction."""
        self._loop = asyncio.get_running_loop()
        return await run_async(self.client, self._results(ops))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations on the client's loop, from another thread."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._loop is None or running is self._loop:
            raise RuntimeError(
                "a blocking call of AsyncTotonoeStore on its own loop, or before the first "
                "asynchronous one: await aget, aput, asearch ..., or use TotonoeStore"
            )
        return asyncio.run_coroutine_threadsafe(self.abatch(ops), self._loop).result()


# -- What an item is as a memory


NAMES_MAX = 16
"""Names of a namespace."""


def external_id(namespace: Names, key: str) -> str:
    """Return the external id of an item: a hash, since namespaces and keys may be of any length."""
    said_so = json.dumps([*namespace, key], ensure_ascii=True)
    return f"langgraph:{blake2b(said_so.encode(), digest_size=20).hexdigest()}"


def said(value: Mapping[str, Any]) -> list[str]:
    """Return the texts of a whole value, a line for each leaf: `path: text`.

    If there is one leaf alone, and it is a text, it stands without its path, as a sentence that the
    guard can read.
    """
    leaves = list(_leaves(value, ""))
    if len(leaves) == 1 and isinstance(leaves[0][1], str):
        return [leaves[0][1]]
    return [
        f"{path}: {leaf if isinstance(leaf, str) else json.dumps(leaf, default=str)}"
        for path, leaf in leaves
    ]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key], f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, path)
    else:
        yield path, value


def _item(memory: Memory) -> Item:
    return Item(
        value=dict(memory.attributes["value"]),
        key=_key_of(memory),
        namespace=memory.namespace,
        created_at=memory.created_time,
        updated_at=memory.updated_time,
    )


def _search_item(memory: Memory, score: float | None) -> SearchItem:
    return SearchItem(
        memory.namespace,
        _key_of(memory),
        dict(memory.attributes["value"]),
        memory.created_time,
        memory.updated_time,
        score,
    )


def _expect_missing(error: NotFound) -> None:
    """Raise the error again if it is not a memory that is missing: a collection, for instance."""
    if error.reason != "MEMORY_NOT_FOUND":
        raise error


def _key_of(memory: Memory) -> str:
    """Return the key of an item; empty for a memory that is none."""
    return str(memory.attributes.get("key", "")) if memory.category == CATEGORY else ""


def _findings(done: Remembered | Updated) -> Iterator[tuple[str, str, float]]:
    """Yield (verdict, memory id, similarity) of what the guard found, each memory once."""
    duplicate: Duplicate | None = done.duplicate
    if duplicate is not None:
        yield "duplicate", duplicate.memory_id, duplicate.similarity
        return
    question: Similar | None = done.question
    if question is not None and question.judgement is not None:
        yield "likely_same", question.memory_id, question.judgement.same_probability
    for memory in done.similar if isinstance(done, Remembered) else ():
        if memory.judgement is None or (
            question is not None and memory.memory_id == question.memory_id
        ):
            continue
        if memory.judgement.verdict in (Verdict.UPDATE, Verdict.CONTRADICTION):
            similarity = max(memory.cosine_similarity, memory.jaccard_similarity)
            yield str(memory.judgement.verdict), memory.memory_id, similarity


def _unfit(op: PutOp, error: InvalidArgument) -> ValueError:
    """Return the error of an item that does not fit into a memory, in words of the item."""
    field = error.details.get("field", "")
    what = _ITEM_WORDS.get(field, field)
    got, allowed = error.details.get("got", ""), error.details.get("allowed", "")
    return ValueError(f"{what} of {op.key!r} in {op.namespace!r}: got {got}, allowed: {allowed}")


_ITEM_WORDS = {
    "memory.attributes": "key and value together",
    "memory.expires_after_s": "ttl, in seconds,",
    "memory.namespace": "namespace",
    "memory.content": "text",
}


# -- What is asked for


def comparisons(asked: Mapping[str, Any], path: Names = ("value",)) -> Iterator[Any]:
    """Yield the comparisons of a filter of LangGraph on the attributes of memories.

    Raises `ValueError` for what would be answered differently than `InMemoryStore` does.
    """
    for key, value in asked.items():
        here = (*path, key)
        if isinstance(value, Mapping):
            operators = [operator for operator in value if str(operator).startswith("$")]
            if not value:
                raise ValueError(f"filter: got an empty object at {_shown(here)}, allowed: fields")
            if operators:
                for operator, compared in value.items():
                    if operator == "$ne" and len(here) > 2:
                        raise ValueError(
                            f"filter: got $ne at {_shown(here)}, allowed: $ne on the top level"
                        )
                    yield here, _word(operator), _compared(operator, compared, here)
            else:
                yield from comparisons(value, here)
        else:
            yield here, "eq", _compared("$eq", value, here)


def _word(operator: str) -> str:
    try:
        return _COMPARED[operator]
    except KeyError:
        raise ValueError(f"Unsupported operator: {operator}") from None


def _compared(operator: str, value: Any, path: Names) -> Any:
    if operator not in ("$eq", "$ne"):
        return float(value)
    if value is None:
        raise ValueError(
            f"filter: got None at {_shown(path)}, allowed: a value; a field that is None and one "
            "that is not there cannot be told apart"
        )
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        raise ValueError(
            f"filter: got a list of objects at {_shown(path)}, allowed: lists of plain values"
        )
    return value


def _shown(path: Names) -> str:
    return ".".join(path[1:])


def _pattern(condition: MatchCondition) -> NamespacePattern:
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    return NamespacePattern(tuple(condition.path), condition.match_type == "suffix")


def _check_page(limit: int, offset: int) -> None:
    for name, value in (("limit", limit), ("offset", offset)):
        if value < 0:
            raise ValueError(f"{name}: got {value}, allowed: 0 or more")


def _parts(ids: Iterable[str]) -> Iterator[list[str]]:
    """Yield ids in lists of at most as many as one call may name."""
    left = iter(ids)
    while some := list(islice(left, _AT_ONCE)):
        yield some
