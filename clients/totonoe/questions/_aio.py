# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls about pairs that somebody is asked about."""

from __future__ import annotations

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import questions_models as models
from totonoe.enums import AnswerWord, ReviewWord
from totonoe.memories.drafts import Vector
from totonoe.v1 import questions_pb2


class AsyncQuestionCalls(AsyncCalls):
    """Calls about questions."""

    async def resolve(
        self,
        memory_id: str,
        other_id: str,
        answer: AnswerWord,
        *,
        content: str = "",
        vector: Vector = None,
        expected_revision: int = 0,
        other_expected_revision: int = 0,
        reason: str = "",
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Resolved:
        """Answers whether two live memories say the same, in one operation.

        See `Client.resolve`.
        """
        request = self._request(
            questions_pb2.ResolveRequest,
            memory_id=memory_id,
            other_id=other_id,
            answer=answer,
            content=content,
            vector=vector,
            expected_revision=expected_revision,
            other_expected_revision=other_expected_revision,
            reason=reason,
            dry_run=dry_run,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.Resolved, timeout_s)

    async def review(
        self,
        memory_id: str,
        answer: ReviewWord,
        *,
        reason: str = "",
        expected_revision: int = 0,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Reviewed:
        """Confirms or rejects a memory that was saved pending, in one operation.

        See `Client.review`.
        """
        request = self._request(
            questions_pb2.ReviewRequest,
            memory_id=memory_id,
            answer=answer,
            reason=reason,
            expected_revision=expected_revision,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.Reviewed, timeout_s)

    async def list_questions(
        self,
        *,
        memory_id: str = "",
        other_id: str = "",
        weights: bool = False,
        page_size: int = 20,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.QuestionPage:
        """Returns a page of pairs that somebody is asked about; `page_size` 1 to 100.

        See `Client.list_questions`.
        """
        request = self._request(
            questions_pb2.ListQuestionsRequest,
            memory_id=memory_id,
            other_id=other_id,
            weights=weights,
            page_size=page_size,
            page_token=page_token,
            collection=collection,
        )
        return await self._run(request, models.QuestionPage, timeout_s)
