"""Arguments of a wrong type, and calls of a closed client, say what is wrong, in both clients."""

from __future__ import annotations

import asyncio
import enum
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from totonoe import AsyncClient, Client, Draft, GuardPolicy, RetryPolicy, TidyUpdate, enums
from totonoe import client as client_module
from totonoe.call.arguments import ITEMS_CHECKED_MAX, fits
from totonoe.errors import ClientClosed, TotonoeError

Call = Callable[..., Any]
NOBODY = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "message"),
    [
        ("recall", ["x"], {"k": "3"}, "k: got '3' (str), allowed: int"),
        ("recall", ["x"], {"k": True}, "k: got True (bool), allowed: int"),
        ("recall", ["x"], {"k": 2.5}, "k: got 2.5 (float), allowed: int"),
        ("recall", [5], {}, "text: got 5 (int), allowed: str"),
        ("recall", ["x"], {"tags": "a"}, "tags: got 'a' (str), allowed: a list of str"),
        ("recall", ["x"], {"tags": ["a", 5]}, "tags[1]: got 5 (int), allowed: str"),
        ("recall", ["x"], {"mode": 1}, "mode: got 1 (int), allowed: RecallMode or hybrid, vector"),
        ("recall", ["x"], {"timeout_s": "3"}, "timeout_s: got '3' (str), allowed: float or None"),
        ("recall", ["x"], {"no_touch": 1}, "no_touch: got 1 (int), allowed: bool"),
        ("recall", ["x"], {"as_of": "now"}, "as_of: got 'now' (str), allowed: int or datetime"),
        ("remember", [None], {}, "content: got None, allowed: str"),
        ("remember", ["x"], {"importance": "9"}, "importance: got '9' (str), allowed: int or None"),
        ("remember", ["x"], {"nonsense": 1}, "remember() has no argument 'nonsense'"),
        ("remember", ["x"], {"attributes": []}, "attributes: got a value of the type list"),
        ("remember", ["x"], {"attributes": {5: 1}}, "attributes[key 0]: got 5 (int)"),
        ("remember", ["x"], {"key": ("a", 5)}, "key[1]: got 5 (int), allowed: str"),
        ("remember", ["x"], {"key": ("a",)}, "allowed: TypedKey or a tuple of 2"),
        ("check", ["x"], {"supersede_ids": 5}, "supersede_ids: got 5 (int), allowed: a list of"),
        ("remember_many", [[5]], {}, "items[0]: got 5 (int), allowed: str or Draft"),
        ("remember_many", [[Draft("x", tags=[5])]], {}, "items[0].tags[0]: got 5 (int)"),  # type: ignore[list-item]
        ("list_all", [], {"page_size": "5"}, "page_size: got '5' (str), allowed: int"),
        ("watch", ["5"], {}, "after_revision: got '5' (str), allowed: int or None"),
        ("update", ["mem_1"], {"reason": 5}, "reason: got 5 (int), allowed: str"),
        ("forget", [], {"expected_revisions": {"a": "1"}}, "expected_revisions['a']: got '1'"),
        ("create_collection", ["x"], {"guard": {}}, "guard: got a value of the type dict"),
        (
            "create_collection",
            ["x"],
            {"guard": GuardPolicy(similar_above="high")},  # type: ignore[arg-type]
            "guard.similar_above: got 'high' (str), allowed: float or None",
        ),
        (
            "apply_tidy_plan",
            [[TidyUpdate("close", 5)]],  # type: ignore[arg-type]
            {},
            "plan[0].state_id: got 5 (int), allowed: str",
        ),
    ],
)
def test_argument_of_another_type_is_named_before_anything_is_sent(
    call: Call, name: str, args: list[Any], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        call(NOBODY, name, *args, **kwargs)
    assert str(caught.value).startswith(message) or message in str(caught.value)


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_argument_of_the_client_itself_is_named(client: Any) -> None:
    with pytest.raises(TypeError, match=r"agent_id: got 5 \(int\), allowed: str"):
        client(NOBODY, agent_id=5)
    with pytest.raises(TypeError, match=r"retry: got 3 \(int\), allowed: RetryPolicy or None"):
        client(NOBODY, retry=3)
    with pytest.raises(TypeError, match=r"retry\.attempts_max: got 2\.5 \(float\), allowed: int"):
        client(NOBODY, retry=RetryPolicy(attempts_max=2.5))  # type: ignore[arg-type]


def test_text_of_a_memory_is_not_in_the_error() -> None:
    secret = "a text that is much longer than what an error would show"
    with pytest.raises(TypeError) as caught:
        fits([secret.encode(), {"content": secret}, secret], int, "content")
    assert str(caught.value) == "content: got a value of the type list, allowed: int"
    with pytest.raises(TypeError) as caught:
        fits(secret, int, "content")
    assert str(caught.value) == "content: got a value of the type str, allowed: int"


class Whole:
    """A number of another package, as numpy's are."""

    def __index__(self) -> int:
        return 3

    def __float__(self) -> float:
        return 3.0


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (Whole(), int),
        (Whole(), float),
        (1, float),
        (enums.Kind.EVENT, enums.KindWord),
        ("event", enums.KindWord),
        # Which words there are is said by whoever encodes it.
        ("no word", enums.KindWord),
        (datetime.now(UTC), int | datetime | None),
        (iter([1]), "Iterable"),
    ],
)
def test_value_of_the_type_fits(value: Any, annotation: Any) -> None:
    fits(value, list[str] if annotation == "Iterable" else annotation)


def test_iterator_is_not_used_up_and_a_long_list_is_left_to_its_encoder() -> None:
    items = iter(["a", "b"])
    fits(items, list[str])
    assert list(items) == ["a", "b"]
    fits([5] * (ITEMS_CHECKED_MAX + 1), list[str])
    with pytest.raises(TypeError, match=r"\[0\]: got 5"):
        fits([5] * ITEMS_CHECKED_MAX, list[str])


def test_item_of_an_iterator_is_checked_when_it_is_sent(call: Call) -> None:
    draft = Draft("x", importance="9")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="importance: got '9'"):
        call(NOBODY, "remember_many", iter(["fine", draft]))


def test_every_public_method_checks_its_arguments() -> None:
    for client in (Client, AsyncClient):
        for name, method in inspect.getmembers(client, inspect.isfunction):
            if name.startswith("_") or name == "close":
                continue
            assert hasattr(method, "__wrapped__"), name
            made = object.__new__(client)
            keywords = {
                item.name: object()
                for item in inspect.signature(method).parameters.values()
                if item.kind is item.KEYWORD_ONLY
            }
            if not keywords:
                continue
            with pytest.raises(TypeError, match=r"got a value of the type object, allowed"):
                answer = method(made, **keywords)
                if inspect.iscoroutine(answer):
                    asyncio.run(answer)


def test_coroutines_stay_coroutines() -> None:
    assert inspect.iscoroutinefunction(AsyncClient.recall)
    assert not inspect.iscoroutinefunction(Client.recall)


def test_words_of_each_alias_are_those_of_its_enum() -> None:
    aliases = [name for name in vars(enums) if name.endswith("Word")]
    assert len(aliases) >= 12
    for name in aliases:
        kind, words = get_args(getattr(enums, name))
        assert isinstance(kind, enum.EnumType)
        assert set(get_args(words)) == {member.value for member in kind} - {"unknown"}


# -- after close


CLOSED: list[tuple[str, list[Any]]] = [
    ("recall", ["x"]),
    ("remember", ["x"]),
    ("health", []),
    ("remember_many", [["x"]]),
    ("list_all", []),
    ("watch", []),
    ("consolidate", []),
    ("tidy", []),
    ("reembed", []),
    ("export", []),
    ("import_file", [iter([b"x"])]),
]


@pytest.mark.parametrize("used", [False, True], ids=["never used", "used"])
@pytest.mark.parametrize(("name", "args"), CLOSED, ids=[name for name, _ in CLOSED])
def test_call_of_a_closed_client_says_so(name: str, args: list[Any], used: bool) -> None:
    client = Client(NOBODY, timeout_s=0.2)
    if used:
        with pytest.raises(TotonoeError):
            client.health()
    client.close()
    with pytest.raises(ClientClosed, match="the client is closed"):
        answer = getattr(client, name)(*args)
        if isinstance(answer, Iterator):
            next(answer)


@pytest.mark.parametrize(("name", "args"), CLOSED, ids=[name for name, _ in CLOSED])
def test_call_of_a_closed_asyncio_client_says_so(name: str, args: list[Any]) -> None:
    async def run() -> None:
        client = AsyncClient(NOBODY, timeout_s=0.2)
        await client.close()
        await client.close()
        with pytest.raises(ClientClosed, match="the client is closed"):
            answer = getattr(client, name)(*args)
            if isinstance(answer, AsyncIterator):
                await anext(answer)
            else:
                await answer

    asyncio.run(run())


def test_client_closed_between_two_tries_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(NOBODY, retry=RetryPolicy(100, 0.0, 0.0))
    # Another thread closes it while this one waits for its next try.
    monkeypatch.setattr(client_module, "time", SimpleNamespace(sleep=lambda _: client.close()))
    with pytest.raises(ClientClosed, match="the client is closed"):
        client.recall("x")
