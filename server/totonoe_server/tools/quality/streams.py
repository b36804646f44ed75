"""Streams: memories in the order in which several agents wrote them, through the engine.

Two items say the same if they share the first item that says it (their *class*). What a
refusal is worth:

lost      the memory that it names is of the class of an item that this one differs from
right     not lost, and the item is a restatement (it has a `dup_of`)
unscored  neither, and the named memory is of the class of an item that is `near`
false     any other

A saved item may end with a question about another, or show another as the nearest. That is right if
both are of one class, and unscored if the other is of the class of an item that is `near`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from totonoe_core.domain.memories import Remember, Remembered
from totonoe_core.domain.policy import GuardPolicy
from totonoe_core.domain.queries import Recalled, RecallQuery
from totonoe_core.domain.records import Fields
from totonoe_server.tools.quality.figures import share
from totonoe_server.tools.quality.files import Item
from totonoe_server.tools.quality.rig import Advance, Rig


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """An item, and whether it was refused for what reason, and how that is worth.

    `asked` is the item that a saved one was asked about, `shown` the one that was shown where
    nothing was asked; empty for none.
    """

    item: Item
    method: str
    named: str
    worth: str
    asked: str = ""
    shown: str = ""

    @property
    def refused(self) -> bool:
        """True if the item was not saved."""
        return bool(self.named)


def measure(
    items: Sequence[Item], policy: GuardPolicy, rig: Rig, advance: Advance
) -> dict[str, Any]:
    """Figures of a stream. `advance` is told each item that is answered."""
    commands = [Remember(item.agent, item.text, Fields()) for item in items]
    restated = [item for item in items if item.dup_of]
    with rig.collection(policy) as name:
        answers = list(rig.remember(name, commands, advance))
        places = {
            f"repeated_places_{how}": _repeated(
                items,
                answers,
                rig.recall(name, _queries(restated, how == "folded"), lambda _: None),
            )
            for how in ("folded", "unfolded")
        }
    return figures(judge(items, answers)) | places


def _queries(restated: Sequence[Item], fold: bool) -> list[RecallQuery]:
    """A Recall with the text of each restatement."""
    return [RecallQuery(item.agent, item.text, touch=False, fold=fold) for item in restated]


def _repeated(
    items: Sequence[Item], answers: Sequence[Remembered], found: Iterable[Recalled]
) -> float | None:
    """Share of hits that are of the class of a hit before them."""
    class_of = {
        answer.memory_id: item.dup_of or item.id
        for item, answer in zip(items, answers, strict=True)
        if answer.saved
    }
    count = repeated = 0
    for recalled in found:
        classes = [class_of[hit.memory.id] for hit in recalled.hits]
        count += len(classes)
        repeated += len(classes) - len(set(classes))
    return share(repeated, count)


def judge(items: Sequence[Item], answers: Iterable[Remembered]) -> list[JudgedItem]:
    """Each item with the item that was named when it was refused, and its worth."""
    class_of = {item.id: item.dup_of or item.id for item in items}
    item_of: dict[str, str] = {}
    judged = []
    for item, answer in zip(items, answers, strict=True):
        if answer.saved:
            item_of[answer.memory_id] = item.id
            asked, shown = (
                "" if memory is None else item_of[memory.memory_id]
                for memory in (answer.guard.question, answer.guard.nearest)
            )
            judged.append(JudgedItem(item, "", "", "", asked, shown))
            continue
        named = item_of[answer.memory_id]
        worth = _worth(item, class_of[named], class_of)
        judged.append(JudgedItem(item, answer.guard.method.value, named, worth))
    return judged


def _worth(item: Item, named: str, class_of: dict[str, str]) -> str:
    """Worth of a refusal that names a memory of class `named`."""
    if named in {class_of.get(other, other) for other in item.differs_from}:
        return "lost"
    if item.dup_of:
        return "right"
    if named in {class_of.get(other, other) for other in item.near}:
        return "unscored"
    return "false"


def figures(judged: Sequence[JudgedItem]) -> dict[str, Any]:
    """Figures over the judged items of one stream."""
    class_of = {pair.item.id: pair.item.dup_of or pair.item.id for pair in judged}
    refused = [pair for pair in judged if pair.refused]
    worth = Counter(pair.worth for pair in refused)
    restated = [pair for pair in judged if pair.item.dup_of]
    kinds = sorted({pair.item.kind for pair in judged}, key=lambda kind: (kind != "new", kind))
    return {
        "n": len(judged),
        "n_restatements": len(restated),
        "n_refused": len(refused),
        "n_unscored": worth["unscored"],
        "precision": share(worth["right"], len(refused) - worth["unscored"]),
        "recall": share(sum(pair.refused for pair in restated), len(restated)),
        "named_right": _named_right(restated, class_of),
        **_said_beside(judged, [pair.asked for pair in judged], "questions", class_of),
        **_said_beside(judged, [pair.shown for pair in judged], "shown", class_of),
        "lookalikes_lost": worth["lost"],
        "lookalikes": sum(bool(pair.item.differs_from) for pair in judged),
        "refused_by_method": dict(sorted(Counter(pair.method for pair in refused).items())),
        "by_kind": {
            kind: _of_kind([pair for pair in judged if pair.item.kind == kind], class_of)
            for kind in kinds
        },
    }


def _said_beside(
    judged: Sequence[JudgedItem], others: Sequence[str], what: str, class_of: dict[str, str]
) -> dict[str, Any]:
    """How often an answer named another item, and how often it was a right one.

    `others` has the item that each answer named, empty for none.
    """
    named = [(first.item, other) for first, other in zip(judged, others, strict=True) if other]
    right = sum(class_of[other] == class_of[item.id] for item, other in named)
    near = sum(
        class_of[other] in {class_of.get(neighbour, neighbour) for neighbour in item.near}
        for item, other in named
        if class_of[other] != class_of[item.id]
    )
    return {
        f"n_{what}": len(named),
        f"{what}_per_save": share(len(named), sum(not pair.refused for pair in judged)),
        f"{what}_right": share(right, len(named) - near),
    }


def _of_kind(judged: Sequence[JudgedItem], class_of: dict[str, str]) -> dict[str, Any]:
    refused = sum(pair.refused for pair in judged)
    return {
        "n": len(judged),
        "n_refused": refused,
        "refused_share": share(refused, len(judged)),
        "named_right": _named_right([pair for pair in judged if pair.item.dup_of], class_of),
    }


def _named_right(restated: Sequence[JudgedItem], class_of: dict[str, str]) -> float | None:
    """Of refused restatements, the share that was told a memory that says the same."""
    refused = [pair for pair in restated if pair.refused]
    right = sum(class_of[pair.named] == class_of[pair.item.id] for pair in refused)
    return share(right, len(refused))
