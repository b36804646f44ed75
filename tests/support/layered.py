"""The oracle of `engine/commands/layers.py`: what is in force on a row, by all that was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

Stacks = Mapping[int, tuple[int, ...]]


def stacks_of(changes: Sequence[int], undoes: Mapping[int, int]) -> Stacks:
    """Operations in force on a row right after each that changed it, oldest first.

    `changes` are those that changed it, `undoes` what an Undo undid. 0: before the first.
    """
    stacks: dict[int, tuple[int, ...]] = {0: ()}
    before: dict[int, tuple[int, ...]] = {}
    last = 0
    for revision in changes:
        before[revision] = stacks[last]
        undone = undoes.get(revision, 0)
        stacks[revision] = before[undone] if undone in before else (*stacks[last], revision)
        last = revision
    return stacks


def standing(stacks: Stacks, undoes: Mapping[int, int], target: int) -> tuple[str, int]:
    """Whether a change of a row is on `top`, `covered`, `undone` or `nowhere`, and by which."""
    if target not in stacks:
        return "nowhere", 0
    left, now = stacks[target], stacks[max(stacks)]
    if left == now:
        return "top", 0
    origin, laid = target, True
    while undoes.get(origin, 0) in stacks and undoes.get(origin, 0):
        origin, laid = undoes[origin], not laid

    def in_force(stack: tuple[int, ...]) -> bool:
        return (origin in stack) is laid

    def below(stack: tuple[int, ...]) -> bool:
        return stack[: len(left)] == left

    later = [revision for revision in sorted(stacks) if revision >= target]
    steps = [(at, stacks[was], stacks[at]) for was, at in pairwise(later)]
    if not in_force(now):
        return "undone", max(at for at, was, is_ in steps if in_force(was) and not in_force(is_))
    if below(now):
        return "covered", now[-1]
    return "covered", max(at for at, was, is_ in steps if below(was) and not below(is_))


def is_as_before(stacks: Stacks, revision: int) -> bool:
    """Whether a row was there before an operation, and has the same in force now."""
    before = max(at for at in stacks if at < revision)
    return before > 0 and stacks[before] == stacks[max(stacks)]
