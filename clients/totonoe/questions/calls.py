"""Calls about pairs that somebody is asked about."""

from __future__ import annotations

from totonoe.call.base import Calls
from totonoe.call.lazily import questions_models as models
from totonoe.enums import AnswerWord, ReviewWord
from totonoe.memories.drafts import Vector
from totonoe.v1 import questions_pb2


class QuestionCalls(Calls):
    """Calls about questions."""

    def resolve(
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

        Parameters
        ----------
        answer : Answer or str
            `same`: they become one. `different`: the pair is dismissed. `replaces`: the first takes
            the place of the other. `replaced_by`: the other takes its place.
        content : str
            With `same`: the text of the memory that stays; empty: its text stays.
        expected_revision, other_expected_revision : int
            `revision` of each memory as it was read; 0: any. StaleRevision if it is another one.
        dry_run : bool
            Only report what would become of both, and what the text that stays would lose.
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
        return self._run(request, models.Resolved, timeout_s)

    def review(
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

        Parameters
        ----------
        answer : ReviewAnswer or str
            `confirm`: it becomes one like others, and passes the guard as with `remember`.
            `reject`: it is forgotten.
        expected_revision : int
            `revision` of the memory as it was read; 0: any. StaleRevision if it is another one.
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
        return self._run(request, models.Reviewed, timeout_s)

    def list_questions(
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

        Each asks whether one memory replaces the other, or whether both say the same.

        Parameters
        ----------
        memory_id : str
            Only questions about this memory.
        other_id : str
            With `memory_id`: only the question about it and this other memory.
        weights : bool
            Weigh each finding of the judgements, which costs some ten comparisons a question.
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
        return self._run(request, models.QuestionPage, timeout_s)
