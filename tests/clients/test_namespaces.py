"""Namespaces, comparisons and expiry, through both clients and the command, on a real daemon."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from totonoe import Client, Status
from totonoe.cli.main import app
from totonoe.errors import InvalidArgument
from totonoe.memories.models import NamespacePattern

Call = Callable[..., Any]
ADA, BEN = ("users", "ada"), ("users", "ben")
ODD = ("a/b", 'c","d', "*", " ", "é\x1f")


def names(page: Any) -> list[tuple[tuple[str, ...], int]]:
    return [(namespace.names, namespace.memory_count) for namespace in page.namespaces]


def test_guard_compares_within_a_namespace(store: Call) -> None:
    text = "The favourite tea is jasmine."
    first = store("remember", text, namespace=ADA)
    other = store("remember", text, namespace=BEN)
    assert first.saved and other.saved and not other.similar and not other.links
    again = store("remember", text, namespace=ADA)
    assert (again.saved, again.memory_id) == (False, first.memory_id)
    assert store("clean_up_duplicates").duplicates == ()
    moved = store("update", other.memory_id, namespace=ADA)
    assert not moved.updated and moved.duplicate.memory_id == first.memory_id
    assert store("get", other.memory_id).namespace == BEN


def test_namespaces_are_listed_filtered_and_cut(store: Call) -> None:
    for at, item in enumerate([(), ADA, (*ADA, "notes"), BEN, ("teams",), ODD]):
        store("remember", f"Fact number {at} of them.", namespace=item, force=True)
    assert names(store("list_namespaces")) == [
        (ODD, 1), (("teams",), 1), (ADA, 1), ((*ADA, "notes"), 1), (BEN, 1),
    ]  # fmt: skip
    assert names(store("list_namespaces", max_depth=1)) == [
        (ODD[:1], 1), (("teams",), 1), (("users",), 3),
    ]  # fmt: skip
    assert names(store("list_namespaces", prefix=["users", "*"], limit=1, offset=1)) == [
        ((*ADA, "notes"), 1)
    ]
    assert names(store("list_namespaces", suffix=["ada"])) == [(ADA, 1)]
    both = [NamespacePattern(("*", "ben")), NamespacePattern(("ben",), at_end=True)]
    page = store("list_namespaces", patterns=both)
    assert (names(page), page.total_count) == ([(BEN, 1)], 1)
    below = store("list", namespace_prefix=ADA)
    assert [memory.namespace for memory in below.memories] == [ADA, (*ADA, "notes")]
    assert store("list", namespace_prefix=ODD).memories[0].namespace == ODD
    assert store("list", namespace_prefix=["user"]).memories == ()


def test_namespace_of_a_private_memory_is_its_agents(store: Call) -> None:
    mine = {"options": {"agent_id": "ada"}}
    store("remember", "The diary is under the bed.", namespace=["diary"], private=True, **mine)
    assert names(store("list_namespaces", **mine)) == [(("diary",), 1)]
    assert names(store("list_namespaces", options={"agent_id": "ben"})) == []


def test_comparisons_look_into_attributes(store: Call) -> None:
    for price, more in ((1, {"tier": "a"}), (2.5, {"tier": "b"}), ("3", {"size": {"cm": 7}})):
        store(
            "remember",
            f"It costs {price} in all.",
            force=True,
            attributes={"price": price, "a.b": price, **more},
        )

    def prices(*comparisons: Any) -> list[Any]:
        found = store("list", comparisons=comparisons).memories
        return [item.attributes["price"] for item in found]

    assert prices(("price", ">=", 1)) == [1, 2.5]
    assert prices(("price", "gt", 1), ("price", "<", 2.6)) == [2.5]
    assert prices(("price", "<=", 1.0)) == prices(("price", "==", 1.0)) == [1]
    assert prices(("tier", "!=", "a")) == [2.5, "3"]
    assert prices(("size.cm", ">", 6)) == prices(("size", "eq", {"cm": 7})) == ["3"]
    assert prices((["a.b"], ">", 2)) == [2.5]
    hits = store("recall", "costs", comparisons=[("price", "lt", 2)]).hits
    assert [hit.memory.attributes["price"] for hit in hits] == [1]


def test_why_not_names_the_comparison_and_the_namespace(store: Call) -> None:
    tea = store("remember", "The tea costs 3.", attributes={"a": {"p": 3}}, namespace=ADA)
    told = store(
        "why_not", tea.memory_id, "tea", comparisons=[("a.p", ">", 5)], namespace_prefix=["x"]
    )
    unmet = [(condition.name, condition.asked, condition.held) for condition in told.unmet]
    assert unmet == [
        ("comparisons", "a.p gt 5", '{"a": {"p": 3}}'),
        ("namespace_prefix", "x", "users, ada"),
    ]


def test_watch_takes_the_conditions(server: Any, collection: str) -> None:
    with Client(server.address, collection=collection) as client:
        client.remember("The tea costs 3.", attributes={"p": 3}, namespace=ADA)
        client.remember("The bread costs 5.", attributes={"p": 5}, namespace=ADA)
        events = client.watch(after_revision=0, comparisons=[("p", ">", 4)], namespace_prefix=ADA)
        event = next(item for item in events if item.change is not None)
        (memory,) = event.change.memories
        assert memory.memory.content == "The bread costs 5."
        events.close()


@pytest.mark.parametrize(
    ("comparison", "told"),
    [
        (("price", ">", "3"), "filter.comparisons.value"),
        (("price", ">", True), "filter.comparisons.value"),
        (((), "==", 3), "filter.comparisons.path"),
        ((["a"] * 9, "==", 3), "filter.comparisons.path"),
    ],
)
def test_bad_comparison_is_refused(store: Call, comparison: Any, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        store("list", comparisons=[comparison])


def test_unknown_operator_and_bad_form_are_errors_of_the_caller(store: Call) -> None:
    with pytest.raises((TypeError, ValueError), match=r"'=~'.* allowed: eq"):
        store("list", comparisons=[("price", "=~", 3)])
    with pytest.raises(TypeError, match=r"comparisons.* allowed: a tuple of 3"):
        store("list", comparisons=[("price", 3)])


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"namespace": ["a", ""]}, "memory.namespace"),
        ({"namespace": ["x"] * 17}, "memory.namespace"),
        ({"namespace": ["x" * 257]}, "memory.namespace"),
        ({"expires_after_s": 0}, "memory.expires_after_s"),
        ({"expires_time": datetime(2020, 1, 1, tzinfo=UTC)}, "memory.expires_time"),
    ],
)
def test_bad_fields_are_refused(store: Call, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        store("remember", "The kettle is new.", **fields)


def test_expiry_is_set_shown_put_off_and_cleared(store: Call) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    tea = store("remember", "The tea is green.", expires_time=later).memory_id
    assert abs(store("get", tea).expires_time - later) < timedelta(milliseconds=1)
    store("update", tea, expires_time=None, expires_after_s=7200)
    first = store("get", tea).expires_time
    assert first > later
    assert store("get", tea, touch=True).expires_time >= first
    assert store("list", touch=True).memories[0].expires_after_s == 7200
    store("update", tea, expires_time=None)
    memory = store("get", tea)
    assert (memory.expires_time, memory.expires_after_s) == (None, None)
    assert memory.status is Status.ACTIVE


def test_command_line_takes_all_of_it(server: Any, collection: str) -> None:
    place = ["--address", server.address, "--collection", collection]

    def run(*arguments: str) -> Any:
        done = CliRunner().invoke(app, [*place, "--json", *arguments])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    assert CliRunner().invoke(app, [*place, "namespaces"]).stdout == "No namespaces.\n"
    saved = run(
        "remember", "The tea costs 3.", "--namespace", "users/ada", "--attributes", '{"p": 3}',
        "--expires-after", "60",
    )  # fmt: skip
    run("remember", "The coffee costs 5.", "--namespace", '["a/b"]', "--attributes", '{"p": 5}')
    found = run("list", "--where", "p>=3", "--where", "p!=5", "--namespace-prefix", "users")
    assert [other["memory_id"] for other in found["memories"]] == [saved["memory_id"]]
    assert found["memories"][0]["expires_after_s"] == 60
    page = run("namespaces", "--prefix", "users/*")
    assert page["namespaces"] == [{"names": ["users", "ada"], "memory_count": 1}]
    run("update", saved["memory_id"], "--clear", "expires_time", "--namespace", "users/ben")
    (memory,) = run("get", saved["memory_id"], "--touch")["memories"]
    assert (memory["expires_time"], memory["namespace"]) == (None, ["users", "ben"])
    shown = CliRunner().invoke(app, [*place, "namespaces"])
    assert '["a/b"]' in shown.stdout and "users/ben" in shown.stdout
    bad = CliRunner().invoke(app, [*place, "list", "--where", "p~3"])
    assert bad.exit_code == 2 and "--where" in bad.stderr
