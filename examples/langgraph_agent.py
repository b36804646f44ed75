"""A LangGraph agent that keeps what its user says, and knows it in the next conversation.

    totonoe serve &
    python examples/langgraph_agent.py

No model is needed: the node that answers only shows what it was reminded of. Put your own there.
"""

from __future__ import annotations

from typing import TypedDict
from uuid import uuid4

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from totonoe import Client
from totonoe.adapters.langgraph import TotonoeStore


class User(TypedDict):
    name: str


class Talk(TypedDict, total=False):
    said: str
    reminded: list[str]
    answer: str


def namespace(runtime: Runtime[User]) -> tuple[str, ...]:
    """The memories of one user. Those of another are never compared with them, or found."""
    return ("users", runtime.context["name"], "memories")


def recall(talk: Talk, runtime: Runtime[User]) -> Talk:
    assert runtime.store is not None
    found = runtime.store.search(namespace(runtime), query=talk["said"], limit=3)
    # Items that do not fit the query follow with a low score, as from other stores.
    return {"reminded": [item.value["text"] for item in found if (item.score or 0) > 0.3]}


def respond(talk: Talk) -> Talk:
    known = talk["reminded"]
    return {"answer": f"I remember: {' '.join(known)}" if known else "That is new to me."}


def remember(talk: Talk, runtime: Runtime[User]) -> Talk:
    if not talk["said"].endswith("?"):
        assert runtime.store is not None
        runtime.store.put(namespace(runtime), str(uuid4()), {"text": talk["said"]})
    return {}


def built(store: TotonoeStore):  # type: ignore[no-untyped-def]
    """The graph: recall, answer, remember."""
    graph = StateGraph(Talk, context_schema=User)
    for name, node in (("recall", recall), ("respond", respond), ("remember", remember)):
        graph.add_node(name, node)
    for edge in (
        (START, "recall"),
        ("recall", "respond"),
        ("respond", "remember"),
        ("remember", END),
    ):
        graph.add_edge(*edge)
    return graph.compile(store=store)


def main() -> None:
    with Client(agent_id="langgraph") as client:
        store = TotonoeStore(client, index={"fields": ["text"]}, ttl={"default_ttl": 60 * 24 * 90})
        agent = built(store)
        for name, said in (
            ("ada", "My favourite tea is jasmine."),
            ("ada", "Which tea is my favourite?"),
            ("ben", "Which tea is my favourite?"),
            ("ada", "My favourite tea is jasmine."),
        ):
            talk = agent.invoke({"said": said}, context={"name": name})
            print(f"{name}: {said}\n  agent: {talk['answer']}")
        for report in store.reports:
            print(f"said before: {report.verdict} of {report.memory_id}")


if __name__ == "__main__":
    main()
