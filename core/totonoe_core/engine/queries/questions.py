"""Open questions: whether a memory replaces another, or is probably the same."""

from __future__ import annotations

from itertools import islice
from typing import cast

import numpy as np

from totonoe_core.base.errors import NotFound
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import ListQuery
from totonoe_core.domain.questions import Question, QuestionKind, QuestionPage, QuestionsQuery
from totonoe_core.domain.records import LinkType, Memory, Status
from totonoe_core.engine.state import open_questions, paging, reading, sizes
from totonoe_core.engine.state.comparing import judgement_of
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.store.records import AskedPair, PairPlace
from totonoe_core.store.seam import Rows


def page(state: CollectionState, rows: Rows, query: QuestionsQuery, now_us: int) -> QuestionPage:
    """Return a page of the questions of which the caller may read both sides.

    Raises `NotFound` for a `memory_id` or `other_id` that the caller does not see, and
    `InvalidArgument` (BAD_PAGE_TOKEN).
    """
    asked = ("questions", query.agent_id, query.memory_id, query.other_id)
    given = paging.position(query.page_token, (str, int, int), *asked)
    place = open_questions.TOP if given is None else _place(given)
    revision = state.published.revision
    with rows.snapshot():
        about = _row_of(state, rows, query, query.memory_id)
        other = _row_of(state, rows, query, query.other_id)
        below = open_questions.below(rows, query.agent_id, place, about)
        wanted = (
            question
            for question in below
            if not other or other in (question[0].low, question[0].high)
        )
        found = list(islice(wanted, query.page_size + 1))
        asked_about = found[: query.page_size]
        both = [memory for _, *two in asked_about for memory in two]
        shown = {memory.row: memory for memory in state.shown(rows, both, query.agent_id)}
    kept = sizes.Room().fitting(
        asked_about, lambda pair: sum(sizes.memory_bytes(shown[memory.row]) for memory in pair[1:])
    )
    # Without the connection: comparing texts takes long.
    questions = tuple(
        _question(state.published, pair, shown[first.row], shown[another.row], query.weights)
        for pair, first, another in kept
    )
    token = ""
    if len(found) > len(kept):
        last = kept[-1][0]
        token = paging.token((repr(last.confidence), last.low, last.high), *asked)
    if query.page_token:
        return QuestionPage(revision, questions, token)
    waiting, count = _pending(state, rows, query, now_us)
    return QuestionPage(revision, questions, token, waiting, count)


def _pending(
    state: CollectionState, rows: Rows, query: QuestionsQuery, now_us: int
) -> tuple[tuple[Memory, ...], int]:
    """Return the oldest memories that wait for a review, and how many do."""
    if query.memory_id:
        memory = state.find(rows, query.memory_id, query.agent_id)
        if memory is None or memory.status is not Status.PENDING:
            return (), 0
        return tuple(state.shown(rows, [memory], query.agent_id)), 1
    view = state.index.view()
    mask = masks.matching(
        state.index, view, _WAITING, query.agent_id, state.published.decay, now_us
    )
    count = int(np.count_nonzero(mask))
    if not count:
        return (), 0
    asked = ListQuery(query.agent_id, _WAITING, query.page_size)
    return reading.scan(state, rows, asked, now_us).memories, count


_WAITING = Filter(statuses=(Status.PENDING,))


def _row_of(state: CollectionState, rows: Rows, query: QuestionsQuery, memory_id: str) -> int:
    """Return the row of a memory; 0 for an empty id."""
    if not memory_id:
        return 0
    memory = state.find(rows, memory_id, query.agent_id)
    if memory is None:
        raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=memory_id)
    return memory.row


def _place(given: paging.Position) -> PairPlace:
    try:
        confidence = float(cast(str, given[0]))
    except ValueError as error:
        raise paging.bad_token() from error
    return confidence, cast(int, given[1]), cast(int, given[2])


def _question(
    info: CollectionInfo, pair: AskedPair, low: Memory, high: Memory, weights: bool
) -> Question:
    if pair.type is not LinkType.LIKELY_SAME:
        a, b = (high, low) if pair.type is LinkType.MAY_REPLACE else (low, high)
        judgement = judgement_of(info, b, a, weights)
        return Question(a, b, judgement.same_probability, "", judgement, QuestionKind.REPLACES)
    a, b = sorted((low, high), key=lambda memory: (memory.created_us, memory.id))
    return Question(a, b, pair.confidence, pair.version, judgement_of(info, b, a, weights))
