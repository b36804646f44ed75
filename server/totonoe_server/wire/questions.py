"""Resolve, Review and ListQuestions."""

from __future__ import annotations

from totonoe.v1 import questions_pb2 as pb
from totonoe_core.domain.questions import (
    Question,
    QuestionPage,
    QuestionsQuery,
    Resolve,
    Resolved,
    Review,
    Reviewed,
)
from totonoe_server.wire.graph import lost_to_wire
from totonoe_server.wire.mapping import answer, answer_or_preview, decoder, encoder
from totonoe_server.wire.memories import memory_to_wire

_PAGE_SIZE_DEFAULT = 20

resolve_from_wire = decoder(pb.ResolveRequest, Resolve, without=("dry_run",))
resolved_to_wire = answer_or_preview(
    Resolved,
    pb.ResolveResponse,
    names={"duplicate": "guard.duplicate"},
    computed={
        "memory": lambda value: memory_to_wire(value.memory),
        "lost": lambda value: [lost_to_wire(detail) for detail in value.lost],
    },
)
review_from_wire = decoder(pb.ReviewRequest, Review)
reviewed_to_wire = answer(
    Reviewed,
    pb.ReviewResponse,
    names={
        "duplicate": "guard.duplicate",
        "maybe_replaced_ids": "guard.maybe_replaced_ids",
        "question": "guard.question",
    },
    computed={"memory": lambda value: memory_to_wire(value.memory)},
)
questions_from_wire = decoder(
    pb.ListQuestionsRequest,
    QuestionsQuery,
    computed={"page_size": lambda request, _: request.page_size or _PAGE_SIZE_DEFAULT},
)
question_to_wire = encoder(
    Question,
    pb.Question,
    computed={
        "a": lambda value: memory_to_wire(value.a),
        "b": lambda value: memory_to_wire(value.b),
    },
)
questions_to_wire = encoder(
    QuestionPage,
    pb.ListQuestionsResponse,
    computed={"pending": lambda value: [memory_to_wire(memory) for memory in value.pending]},
)
