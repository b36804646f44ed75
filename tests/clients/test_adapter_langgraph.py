"""The LangGraph stores: every operation, both ways, beside `InMemoryStore`, on a real daemon."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from support.waits import wait_s
from totonoe import AsyncClient, Client
from totonoe.adapters.langgraph import (
    REPORTS_MAX,
    AsyncTotonoeStore,
    PutRefused,
    Report,
    TotonoeStore,
    external_id,
    said,
)
from totonoe.errors import InvalidArgument, NotFound

NS = ("users", "ada", "notes")
OTHER = ("users", "ben", "notes")
TEA = {"text": "Ada drinks jasmine tea in the morning."}


@pytest.fixture
def client(server: Any, collection: str) -> Iterator[Client]:
    with Client(server.address, agent_id="assistant", collection=collection) as made:
        yield made


class Both:
    """The blocking store, or the asynchronous one behind blocking calls on a loop of its own."""

    def __init__(self, way: str, client: Client, server: Any) -> None:
        self.way, self.client, self._server = way, client, server
        if way == "asyncio":
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever)
            self._thread.start()
            self._async_client = self._on_loop(self._made())

    async def _made(self) -> AsyncClient:
        where = self.client._caller.where(None)
        return AsyncClient(self._server.address, agent_id="assistant", collection=where)

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(wait_s())

    def store(self, **options: Any) -> Any:
        if self.way == "blocking":
            return TotonoeStore(self.client, **options)
        made = AsyncTotonoeStore(self._async_client, **options)
        # From here on its blocking methods work, on this other thread.
        self._on_loop(made.abatch([]))
        return made

    def close(self) -> None:
        if self.way == "asyncio":
            self._on_loop(self._async_client.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(wait_s())
            self._loop.close()


@pytest.fixture(params=["blocking", "asyncio"])
def make(request: pytest.FixtureRequest, client: Client, server: Any) -> Iterator[Any]:
    """`make(guard=...)`: a store on the collection of `client`, with blocking methods."""
    both = Both(request.param, client, server)
    yield both.store
    both.close()


# -- Beside InMemoryStore


NAMESPACES = [
    ("a",),
    ("a", "b"),
    ("a", "b", "c"),
    ("ab",),
    ("b", "a"),
    ("b", "a*", 'q","r'),
    ("é ",),
]
VALUES: list[Any] = [5, 1, 2.5, -3, "x", "1", "", False, [1, "x"], [], {"n": 1}, {"n": {"m": "x"}}]
FILTERS: list[Any] = [
    {"p": 1}, {"p": "x"}, {"p": {"$ne": "x"}}, {"p": {"$eq": [1, "x"]}}, {"p": []},
    {"p": {"n": 1}}, {"p": {"n": {"m": "x"}}}, {"p": {"n": {"$eq": 1}}}, {"p": 1, "q": 1},
    {"p": {"n": {"m": {"$eq": "x"}}}}, {"p": {"$eq": {"n": 1}}},
]  # fmt: skip
ORDERED: list[Any] = [
    {"num": {"$gt": 1}}, {"num": {"$gte": 1.0}}, {"num": {"$lt": 2.5}},
    {"num": {"$lte": 1, "$gt": -3}}, {"num": {"$lt": "2"}, "p": {"$ne": 1}},
]  # fmt: skip


def random_op(draw: random.Random) -> Any:
    namespace, key = draw.choice(NAMESPACES), draw.choice("klm\x1f")
    match draw.randrange(8):
        case 0 | 1 | 2:
            value = {"p": draw.choice(VALUES), "num": draw.choice((-3, 1, 2.5, 7))}
            if draw.random() < 0.5:
                value["q"] = draw.choice(VALUES)
            return PutOp(namespace, key, value)
        case 3:
            return PutOp(namespace, key, None)
        case 4:
            return GetOp(namespace, key)
        case 5 | 6:
            prefix = draw.choice([(), (), ("a",), ("a",), *NAMESPACES])
            chosen = draw.choice([None, *FILTERS, *ORDERED])
            return SearchOp(prefix, filter=chosen, limit=100)
        case _:
            paths = [("a",), ("*", "b"), ("b",), ("a", "*"), ("*",)]
            conditions = tuple(
                MatchCondition(draw.choice(("prefix", "suffix")), draw.choice(paths))
                for _ in range(draw.randrange(3))
            )
            depth = draw.choice((None, 1, 2, 20))
            return ListNamespacesOp(conditions, depth, limit=100)


def shown(result: Any) -> Any:
    """A result without times, and without the order that stores differ in."""
    if isinstance(result, list):
        return sorted((shown(item) for item in result), key=repr)
    if hasattr(result, "value"):
        return result.namespace, result.key, json.dumps(result.value, sort_keys=True)
    return result


def listed(model: InMemoryStore, op: ListNamespacesOp) -> list[Any]:
    """What the model lists; it also keeps namespaces that are empty."""
    full = InMemoryStore()
    for item in model.search((), limit=1000):
        full.batch([PutOp(item.namespace, item.key, item.value)])
    return full.batch([op])[0]


@pytest.mark.parametrize("guard", ["report", "off"])
@pytest.mark.parametrize("seed", range(2))
def test_random_operations_answer_as_the_memory_store_does(
    make: Callable[..., Any], guard: str, seed: int
) -> None:
    draw, model = random.Random(seed), InMemoryStore()
    store = make(guard=guard)
    compared = 0
    for _ in range(25):
        ops = [random_op(draw) for _ in range(draw.randrange(1, 5))]
        expected = [listed(model, op) if isinstance(op, ListNamespacesOp) else None for op in ops]
        answers = zip(ops, store.batch(ops), model.batch(ops), expected, strict=True)
        for op, own, other, names in answers:
            wanted = names if isinstance(op, ListNamespacesOp) else other
            assert shown(own) == shown(wanted), op
            compared += bool(wanted)
    assert compared > 8, "answers that say something"


# -- Each operation


def test_item_is_put_read_changed_and_deleted(make: Callable[..., Any], client: Client) -> None:
    store = make()
    store.put(NS, "tea", TEA)
    item = store.get(NS, "tea")
    assert (item.namespace, item.key, item.value) == (NS, "tea", TEA)
    store.put(NS, "tea", {"text": "Ada drinks green tea.", "n": 2, "more": {"at": [1, None]}})
    again = store.get(NS, "tea")
    assert again.value == {"text": "Ada drinks green tea.", "n": 2, "more": {"at": [1, None]}}
    assert (again.created_at, again.updated_at > item.updated_at) == (item.created_at, True)
    assert store.get(OTHER, "tea") is None
    store.delete(NS, "tea")
    store.delete(NS, "tea")
    assert (store.get(NS, "tea"), store.search(()), store.list_namespaces()) == (None, [], [])
    store.put(NS, "tea", TEA)
    assert store.get(NS, "tea").value == TEA
    kinds = [operation.kind for operation in client.operations().operations]
    assert kinds == ["Remember", "Forget", "Update", "Remember"], "all of it is in the history"


def test_batch_reads_what_was_before_it_and_the_last_put_of_a_key_counts(
    make: Callable[..., Any],
) -> None:
    store = make()
    results = store.batch(
        [
            PutOp(NS, "k", {"n": 1}),
            GetOp(NS, "k"),
            PutOp(NS, "k", {"n": 2}),
            SearchOp(NS),
            ListNamespacesOp(),
        ]
    )
    assert results == [None, None, None, [], []]
    assert store.get(NS, "k").value == {"n": 2}


def test_search_by_text_filters_and_pages(make: Callable[..., Any]) -> None:
    store = make(index={"fields": ["text"]})
    texts = ["red apples from the garden", "a red car", "green apples", "a blue bicycle"]
    for at, text in enumerate(texts):
        store.put(NS, f"k{at}", {"text": text, "price": at})
    found = store.search(NS, query="red car")
    assert found[0].key == "k1"
    assert found[0].score > 0.5
    assert len(found) == 4, "the others follow, as from other stores"
    assert [item.key for item in store.search(NS, query="apples", filter={"price": {"$gt": 1}})][
        :1
    ] == ["k2"]
    pages = [store.search(NS, limit=2, offset=at)[0].key for at in (0, 2)]
    assert pages == ["k0", "k2"]
    assert store.search(NS, limit=0) == store.search(("user",)) == []


def test_index_decides_what_is_searched(make: Callable[..., Any], client: Client) -> None:
    store = make(index={"fields": ["text", "more[*].at"]})

    def text_of(key: str) -> str:
        return client.get(f"ext:{external_id(NS, key)}").content

    value = {"text": "The tide is high.", "more": [{"at": "noon"}, {"at": "six"}], "z": "hidden"}
    store.put(NS, "default", value)
    assert text_of("default") == "The tide is high.\nnoon\nsix"
    store.put(NS, "own", value, index=["z"])
    assert text_of("own") == "hidden"
    store.put(NS, "none", value, index=False)
    assert text_of("none") == '"none"'
    store.put(NS, "missing", {"other": 1})
    assert text_of("missing") == '"missing"'
    assert store.get(NS, "none").value == value
    assert said({"b": 1, "a": ["x", {"c": True}]}) == ["a: x", "a.c: true", "b: 1"]
    assert said({"text": "Alone."}) == ["Alone."]


def test_namespaces_of_any_characters_are_kept_apart(make: Callable[..., Any]) -> None:
    store = make()
    odd = [("a", "b/c"), ("a/b", "c"), ('a","b', "c"), ("a", "*"), (" ",), ("é\x1f", "日本")]
    for at, namespace in enumerate(odd):
        store.put(namespace, "k", {"n": at})
    assert [store.get(namespace, "k").value["n"] for namespace in odd] == list(range(len(odd)))
    assert sorted(store.list_namespaces()) == sorted(odd)
    assert store.list_namespaces(prefix=("a", "*")) == [("a", "*"), ("a", "b/c")]
    assert (
        store.list_namespaces(max_depth=1, limit=2, offset=1) == sorted({o[:1] for o in odd})[1:3]
    )


# -- Time to live


def test_time_to_live_is_put_off_by_reads(make: Callable[..., Any], client: Client) -> None:
    store = make(ttl={"default_ttl": 60.0, "refresh_on_read": False})

    def instant(key: str) -> Any:
        return client.get(f"ext:{external_id(NS, key)}").expires_time

    store.put(NS, "default", TEA)
    store.put(NS, "own", {"text": "The bread is rye."}, ttl=1.5)
    store.put(NS, "never", {"text": "The cat is grey."}, ttl=None)
    first = instant("default")
    assert instant("never") is None
    assert client.get(f"ext:{external_id(NS, 'own')}").expires_after_s == 90.0
    store.get(NS, "default")
    store.search(NS, query="tea")
    assert instant("default") == first, "the store does not refresh"
    store.get(NS, "default", refresh_ttl=True)
    second = instant("default")
    store.search(NS, refresh_ttl=True)
    third = instant("default")
    store.put(NS, "default", TEA)
    fourth = instant("default")
    assert first < second < third < fourth
    store.put(NS, "default", TEA, ttl=None)
    assert instant("default") is None


def test_expired_item_is_gone_at_once_and_its_key_is_free(make: Callable[..., Any]) -> None:
    store = make()
    store.put(NS, "tea", TEA, ttl=0.001)
    threading.Event().wait(0.07)
    assert store.get(NS, "tea") is None
    assert (store.search(NS), store.list_namespaces()) == ([], [])
    store.put(NS, "tea", TEA)
    assert store.get(NS, "tea").value == TEA


# -- The guard


def test_report_stores_and_says_what_the_guard_found(
    make: Callable[..., Any], client: Client
) -> None:
    store = make(guard="report")
    store.put(NS, "tea", TEA)
    store.put(NS, "again", TEA)
    store.put(OTHER, "tea", TEA)
    store.put(NS, "tea", TEA)
    first = client.get(f"ext:{external_id(NS, 'tea')}").id
    assert store.get(NS, "again").value == TEA
    assert list(store.reports)[:1] == [Report(NS, "again", "duplicate", first, "tea", 1.0, True)]
    assert [(report.namespace, report.key) for report in store.reports] == [
        (NS, "again"),
        (NS, "tea"),
    ]
    assert store.reports.maxlen == REPORTS_MAX


def test_report_names_a_new_value(make: Callable[..., Any]) -> None:
    store = make(guard="report")
    store.put(NS, "a", {"text": "The staging database listens on port 5433."})
    store.put(NS, "b", {"text": "The staging database listens on port 5434."})
    (report,) = store.reports
    assert (report.key, report.verdict, report.other_key, report.stored) == (
        "b",
        "update",
        "a",
        True,
    )
    assert len(store.search(NS)) == 2, "nothing was superseded"


def test_refuse_names_the_memory_and_changes_nothing(
    make: Callable[..., Any], client: Client
) -> None:
    store = make(guard="refuse")
    store.put(NS, "tea", TEA)
    with pytest.raises(PutRefused, match=r"key 'tea', memory mem_\w+ says the same") as caught:
        store.put(NS, "again", TEA)
    assert caught.value.memory_id == client.get(f"ext:{external_id(NS, 'tea')}").id
    assert store.get(NS, "again") is None
    store.put(NS, "other", {"text": "The cat is grey."})
    with pytest.raises(PutRefused):
        store.put(NS, "other", TEA)
    assert store.get(NS, "other").value == {"text": "The cat is grey."}
    store.put(NS, "tea", TEA)
    assert [report.stored for report in store.reports] == [False, False]


def test_off_compares_nothing(make: Callable[..., Any]) -> None:
    store = make(guard="off")
    for key in ("tea", "again"):
        store.put(NS, key, TEA)
    assert len(store.search(NS)) == 2
    assert not store.reports


def test_item_that_a_clean_up_closed_is_still_read_and_can_be_put(
    make: Callable[..., Any], client: Client
) -> None:
    store = make(guard="off")
    for key in ("tea", "again"):
        store.put(NS, key, TEA)
    client.clean_up_duplicates(apply=True)
    assert len(store.search(NS)) == 1
    assert [store.get(NS, key).value for key in ("tea", "again")] == [TEA, TEA]
    for key in ("tea", "again"):
        store.put(NS, key, {"text": f"Now it is {key}."})
    assert len(store.search(NS)) == 2


def test_other_memories_are_no_items(make: Callable[..., Any], client: Client) -> None:
    store = make()
    client.remember("The lamp is new.", namespace=NS)
    client.remember("A secret.", namespace=NS, private=True)
    assert (store.search(()), store.list_namespaces()) == ([], [])


# -- What is refused


@pytest.mark.parametrize(
    ("namespace", "value", "options", "told"),
    [
        (NS, {"x": "y" * 16_384}, {}, "key and value together of 'k' .* at most 16384"),
        (NS, {"x": {"a": {"b": {"c": {"d": {"e": {"f": {}}}}}}}}, {}, "at most 8 levels"),
        (NS, {"x": 2**60}, {}, "integers up to"),
        (NS, {"x": float("nan")}, {}, "finite numbers"),
        (("x",) * 17, {}, {}, "namespace of 'k' .* at most 16"),
        (NS, {}, {"ttl": 0}, "ttl, in seconds, of 'k' .* above 0"),
        (NS, {}, {"ttl": -1.0}, "above 0"),
    ],
)
def test_item_that_does_not_fit_is_refused(
    make: Callable[..., Any], namespace: Any, value: Any, options: Any, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        make().put(namespace, "k", value, **options)


def test_value_that_is_no_json_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"attributes\.value\.x"):
        make().put(NS, "k", {"x": {1, 2}})


@pytest.mark.parametrize("namespace", [(), ("a", ""), ("a.b",), ("langgraph", "x"), ("a", 3)])
def test_bad_namespace_is_refused(make: Callable[..., Any], namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        make().put(namespace, "k", {"n": 1})


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"filter": {"p": {"$in": [1]}}}, "Unsupported operator: \\$in"),
        ({"filter": {"p": None}}, "got None at p"),
        ({"filter": {"p": {"q": {}}}}, "an empty object at p.q"),
        ({"filter": {"p": [{"a": 1}]}}, "a list of objects at p"),
        ({"filter": {"p": {"n": {"$ne": 1}}}}, "got \\$ne at p.n"),
        ({"filter": {"p": {"$gt": "x"}}}, "could not convert"),
        ({"limit": -1}, "limit: got -1"),
        ({"offset": -1}, "offset: got -1"),
        ({"query": "x", "limit": 1001}, "up to 1000 with a query"),
    ],
)
def test_search_that_cannot_be_answered_is_refused(
    make: Callable[..., Any], asked: Any, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        make().search(NS, **asked)


def test_bad_operations_and_options_are_refused(make: Callable[..., Any], client: Client) -> None:
    store = make()
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch(["get"])
    with pytest.raises(ValueError, match="max_depth: got 0"):
        store.batch([ListNamespacesOp(max_depth=0)])
    with pytest.raises(ValueError, match="Unsupported match type"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])
    with pytest.raises(ValueError, match="guard: got 'on', allowed: report, refuse, off"):
        make(guard="on")
    with pytest.raises(ValueError, match="index: got 'dims', allowed: fields"):
        make(index={"dims": 3})
    with pytest.raises(NotFound):
        TotonoeStore(client, collection="nowhere").get(NS, "k")
    with pytest.raises(InvalidArgument):
        TotonoeStore(client, collection="NO").put(NS, "k", {"n": 1})


def test_truth_values_are_no_numbers_as_in_json(make: Callable[..., Any]) -> None:
    store = make()
    store.put(NS, "yes", {"p": True})
    store.put(NS, "one", {"p": 1})
    assert [item.key for item in store.search(NS, filter={"p": 1})] == ["one"]
    assert [item.key for item in store.search(NS, filter={"p": True})] == ["yes"]
    assert [item.key for item in store.search(NS, filter={"p": {"$gt": 0}})] == ["one"]


# -- Asynchronous


def test_asynchronous_methods_of_both_stores(client: Client, server: Any) -> None:
    async def run(store: Any) -> None:
        await store.aput(NS, "tea", TEA)
        assert (await store.aget(NS, "tea")).value == TEA
        assert [item.key for item in await store.asearch(NS, query="jasmine")] == ["tea"]
        assert await store.alist_namespaces(prefix=("users",)) == [NS]
        await store.adelete(NS, "tea")
        assert await store.aget(NS, "tea") is None

    async def both() -> None:
        await run(TotonoeStore(client))
        where = client._caller.where(None)
        async with AsyncClient(server.address, collection=where) as other:
            store = AsyncTotonoeStore(other)
            with pytest.raises(RuntimeError, match="before the first"):
                store.get(NS, "tea")
            await run(store)
            with pytest.raises(RuntimeError, match="await aget"):
                store.get(NS, "tea")

    asyncio.run(both())


def test_two_writers_of_one_key_leave_one_item(client: Client) -> None:
    store = TotonoeStore(client, guard="off")
    threads = [threading.Thread(target=store.put, args=(NS, "k", {"n": at})) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(wait_s())
    assert len(store.search(NS)) == 1
    assert store.get(NS, "k").value["n"] in range(8)


def test_light_client_names_the_extra_that_is_missing() -> None:
    code = (
        "import sys; sys.modules['langgraph.store.base'] = None\n"
        "try: import totonoe.adapters.langgraph\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'totonoe[langgraph]'" in done.stdout
