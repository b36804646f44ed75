"""Is what some clients were told what one after the other would have been told?

Every change has a revision, and so a place in one order. A plain model (dictionaries, no code of
the package) carries the changes out in that order. What each client was told must then be right:

- revisions: 1 to n, each of one change, and no change before one that was answered earlier
- a change: its answer is what the model says at its place
- a refusal, of which the answer names the revision: right at just that revision
- a read or an error: right at some revision between the last change that was answered before
  it began and the first one that began after it ended

A List is one read for each memory: no two memories need be of one revision.

Of several daemons on one database each reads what it knows. A read is then right at a revision
from the newest that its own client was shown before, whoever showed it. Changes and refusals are
decided under the lock of the collection: for them nothing is different.

Herlihy and Wing, "Linearizability: a correctness condition for concurrent objects" (1990).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from support.linear_clients import Event

READS = ("get", "list")
NOT_CAUGHT_UP = "NOT_CAUGHT_UP"


class NotLinearizableError(AssertionError):
    """A client was told what no order explains."""


@dataclass(frozen=True)
class Version:
    """A memory as one revision left it."""

    text: str
    confidence: float
    status: str
    by: str
    revision: int


State = Mapping[str, Version]


class Model:
    """Memories after each revision: `states[r]`, and what each revision found, by id."""

    def __init__(self) -> None:
        self.states: list[State] = [{}]
        self._before: list[dict[str, Version | None]] = [{}]
        # What is in force on a memory since a revision: its own, and those before it.
        self._in_force: dict[tuple[str, int], tuple[int, ...]] = {}

    def change(self, event: Event) -> None:
        """Carries out the change of the next revision; raises if its answer is not right."""
        revision, state = len(self.states), self.states[-1]
        found = self._changed(event, state, revision)
        if found is None:
            raise NotLinearizableError(f"could not be done at revision {revision}: {event}")
        told = [event.answer[name] for name in ("memory",) if name in event.answer]
        told += event.answer.get("memories", [])
        for item in told:
            if seen(item) != found.get(item["id"]):
                raise NotLinearizableError(f"told {item}, it is {found.get(item['id'])}: {event}")
        if "before" in event.answer and seen(event.answer["before"]) != state[event.asked["id"]]:
            raise NotLinearizableError(f"forgot something else: {event}")
        self._before.append({memory_id: state.get(memory_id) for memory_id in found})
        for memory_id in found:
            before = self.in_force(memory_id, state.get(memory_id))
            if event.call == "undo":
                stack = self.in_force(memory_id, self._before[event.asked["target"]][memory_id])
            else:
                stack = (*before, revision)
            self._in_force[memory_id, revision] = stack
        self.states.append({**state, **found})

    def _changed(self, event: Event, state: State, revision: int) -> dict[str, Version] | None:
        """Versions that a call would make here; `None`: it could not be done."""
        asked = event.asked
        if event.call == "remember":
            if holder(state, asked["text"]) is not None or event.answer["id"] in state:
                return None
            made = Version(asked["text"], asked["confidence"], "active", "", revision)
            return {event.answer["id"]: made}
        if event.call == "undo":
            return self.undone(asked["target"], state, revision)
        if event.call == "merge":
            if merge_error(asked, state):
                return None
            keep, gone = state[asked["keep"]], asked["remove"]
            confidence = max(keep.confidence, state[gone].confidence)
            found = {asked["keep"]: replace(keep, confidence=confidence, revision=revision)}
            for key, version in state.items():
                led_there = version.by == gone and version.status == "superseded"
                if key == gone or led_there:
                    found[key] = replace(
                        version, status="superseded", by=asked["keep"], revision=revision
                    )
            return found
        before = state.get(asked["id"])
        if before is None:
            return None
        if event.call == "forget":
            if before.status == "forgotten":
                return None
            return {asked["id"]: replace(before, status="forgotten", revision=revision)}
        if update_error(asked, state) or update_duplicate(asked, state):
            return None
        named = {name: asked[name] for name in ("text", "confidence") if name in asked}
        return {asked["id"]: replace(before, revision=revision, **named)}

    def undone(self, target: int, state: State, revision: int) -> dict[str, Version] | None:
        """Versions that an Undo would make; `None`: something stands against it."""
        if undo_conflict(self, target, state):
            return None
        found = {}
        for key, before in self._before[target].items():
            if before is None:
                found[key] = replace(state[key], status="forgotten", by="", revision=revision)
            else:
                found[key] = replace(before, revision=revision)
        live = [version.text for version in {**state, **found}.values() if is_live(version)]
        return found if len(live) == len(set(live)) else None

    def in_force(self, memory_id: str, version: Version | None) -> tuple[int, ...]:
        """Revisions that made a version what it is, without those that are undone."""
        return () if version is None else self._in_force[memory_id, version.revision]

    def touched(self, revision: int) -> Iterable[str]:
        """Ids that a revision changed."""
        return self._before[revision]


def seen(memory: Mapping[str, Any]) -> Version:
    """What a client was told of a memory."""
    return Version(
        memory["text"], memory["confidence"], memory["status"], memory["by"], memory["revision"]
    )


def is_live(version: Version) -> bool:
    return version.status == "active"


def holder(state: State, text: str, without: str = "") -> str | None:
    """The live memory that says a text."""
    for key, version in state.items():
        if key != without and is_live(version) and version.text == text:
            return key
    return None


def update_error(asked: Mapping[str, Any], state: State) -> str:
    """The reason why an Update fails here; empty: it does not."""
    before = state.get(asked["id"])
    if before is None:
        return "MEMORY_NOT_FOUND"
    if not is_live(before):
        return "NOT_ACTIVE"
    if asked.get("expected", 0) not in (0, before.revision):
        return "STALE_REVISION"
    return ""


def update_duplicate(asked: Mapping[str, Any], state: State) -> str | None:
    return holder(state, asked["text"], without=asked["id"]) if "text" in asked else None


def merge_error(asked: Mapping[str, Any], state: State) -> str:
    """The reason why a Merge fails here; empty: it does not."""
    named = (asked["keep"], asked["remove"])
    if any(item not in state for item in named):
        return "MEMORY_NOT_FOUND"
    return "NOT_ACTIVE" if any(not is_live(state[item]) for item in named) else ""


def undo_conflict(model: Model, target: int, state: State) -> bool:
    """Whether a memory was changed since, by what is not undone, the target is undone, or the Undo
    would lose a memory.
    """
    left = model.states[target]
    return any(
        model.in_force(memory_id, state[memory_id]) != model.in_force(memory_id, left[memory_id])
        for memory_id in model.touched(target)
    ) or _loses(model, target, state)


def _loses(model: Model, target: int, state: State) -> bool:
    """Whether a memory would go that another one gave its place to, or came back to, since."""
    before = model.states[target - 1]
    touched = set(model.touched(target))
    after = {
        memory_id: before.get(memory_id) or replace(state[memory_id], status="forgotten")
        for memory_id in touched
    }
    others = {key: version for key, version in state.items() if key not in touched}
    for key, version in after.items():
        comes_back = is_live(version) and not _says_the_same(state[key], version)
        if comes_back and holder(others, version.text) is not None:
            after[key] = state[key]  # refused as a duplicate: it stays
    planned = {**state, **after}
    return any(
        is_live(state[head(state, memory_id)])
        and planned[memory_id].status != "superseded"
        and not _says_the_same(state[memory_id], planned[memory_id])
        and any(
            other in before
            and version.by == memory_id == state[other].by
            and version.status == "superseded"
            and model.in_force(other, state[other]) != model.in_force(other, before[other])
            for other, version in planned.items()
        )
        for memory_id in touched
    )


def _says_the_same(one: Version, other: Version) -> bool:
    return is_live(one) and is_live(other) and one.text == other.text


def head(state: State, one: str) -> str:
    """The memory that took the place of another one, or that one itself."""
    while state[one].status == "superseded":
        one = state[one].by
    return one


def check(events: Sequence[Event], *, of_several: bool = False) -> Model:
    """Raises `NotLinearizableError` if some clients were told what no order explains.

    Returns the model, with all states. `of_several`: the clients asked several daemons.
    """
    model = Model()
    changes = sorted(
        (event for event in events if event.answer.get("changed")),
        key=lambda one: int(one.answer["revision"]),
    )
    revisions = [event.answer["revision"] for event in changes]
    if revisions != list(range(1, len(changes) + 1)):
        raise NotLinearizableError(f"not one change for each revision: {revisions}")
    _check_order(changes)
    for change in changes:
        model.change(change)
    window = _windows(changes)
    shown = _shown_before(events)
    for event in events:
        if event.error == NOT_CAUGHT_UP:
            continue  # the daemons said so: nothing was told
        if not event.answer.get("changed"):
            first, last = window(event)
            if of_several and event.call in READS:
                first = shown[id(event)]
            if not _explained(model, event, first, last):
                raise NotLinearizableError(f"no revision of {first} to {last} explains {event}")
    return model


def _check_order(changes: Sequence[Event]) -> None:
    """A change that was answered before another began has the lower revision."""
    earliest_end = None
    for event in reversed(changes):
        if earliest_end is not None and earliest_end < event.begin_ns:
            raise NotLinearizableError(
                f"a later revision was answered before this one began: {event}"
            )
        earliest_end = event.end_ns if earliest_end is None else min(earliest_end, event.end_ns)


def _shown_before(events: Sequence[Event]) -> dict[int, int]:
    """The newest revision that each event's client was shown before it, by `id` of the event."""
    newest: dict[str, int] = {}
    found = {}
    for event in sorted(events, key=lambda one: one.begin_ns):
        found[id(event)] = newest.setdefault(event.client, 0)
        if event.error == NOT_CAUGHT_UP:
            # The client asks for nothing any more: see `SeenRevisions.gives_up`.
            newest[event.client] = 0
        told = [*event.answer.get("memories", []), event.answer.get("memory", {}), event.answer]
        revisions = [item.get("revision", 0) for item in told]
        newest[event.client] = max(newest[event.client], *revisions)
    return found


def _windows(changes: Sequence[Event]) -> Callable[[Event], tuple[int, int]]:
    """The first and last revision at which a call may have been carried out."""
    ends = sorted((change.end_ns, change.answer["revision"]) for change in changes)
    begins = sorted((change.begin_ns, change.answer["revision"]) for change in changes)
    answered, highest = [], 0
    for _, revision in ends:
        highest = max(highest, revision)
        answered.append(highest)
    later, lowest = [], len(changes) + 1
    for _, revision in reversed(begins):
        lowest = min(lowest, revision)
        later.append(lowest)
    later.reverse()

    def window(event: Event) -> tuple[int, int]:
        done = bisect.bisect_left(ends, (event.begin_ns, 0))
        begun = bisect.bisect_right(begins, (event.end_ns, len(changes) + 1))
        first = answered[done - 1] if done else 0
        return first, (later[begun] if begun < len(later) else len(changes) + 1) - 1

    return window


def _explained(model: Model, event: Event, first: int, last: int) -> bool:
    asked, answer = event.asked, event.answer
    if event.call == "list":
        return _list_explained(model, answer["memories"], first, last)
    if not event.error and event.call != "get":
        # Refused because of what is there: it names the revision that it was decided at.
        revision = answer["revision"]
        if not first <= revision <= last:
            return False
        state = model.states[revision]
        if event.call == "remember":
            return holder(state, asked["text"]) == answer["id"]
        if event.call == "undo":
            nothing = model.undone(asked["target"], state, revision + 1) is None
            return nothing and not undo_conflict(model, asked["target"], state)
        return (
            not update_error(asked, state)
            and update_duplicate(asked, state) == answer["duplicate"]
            and seen(answer["memory"]) == state[asked["id"]]
        )
    return any(_fits(model, event, model.states[revision]) for revision in range(first, last + 1))


def _fits(model: Model, event: Event, state: State) -> bool:
    """Whether an error, or what a Get told, is right in a state."""
    asked, error = event.asked, event.error
    if event.call == "get":
        told = None if error else seen(event.answer["memory"])
        return state.get(asked["id"]) == told and error in ("", "MEMORY_NOT_FOUND")
    if event.call == "merge":
        if asked["keep"] == asked["remove"]:
            return error in ("BAD_MERGE", merge_error(asked, state))
        return error == merge_error(asked, state)
    if event.call == "forget":
        gone = asked["id"] not in state or state[asked["id"]].status == "forgotten"
        return error == "MEMORY_NOT_FOUND" and gone
    if event.call == "undo":
        return error == "UNDO_CONFLICT" and undo_conflict(model, asked["target"], state)
    return event.call != "remember" and error == update_error(asked, state)


def _list_explained(
    model: Model, memories: Sequence[Mapping[str, Any]], first: int, last: int
) -> bool:
    """Each memory as it was at some revision of the window; none left out that was live in all."""
    states = model.states[first : last + 1]
    told = {memory["id"]: seen(memory) for memory in memories}
    if len(told) != len(memories):
        return False
    for key, version in told.items():
        if not is_live(version) or all(state.get(key) != version for state in states):
            return False
    always = {state for state, version in states[0].items() if is_live(version)}
    for state in states[1:]:
        always = {alway for alway in always if is_live(state[alway])}
    return always <= set(told)
