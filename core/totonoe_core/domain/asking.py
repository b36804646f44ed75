"""Ties a question to the type of its answer, so that one method of the engine serves them all."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Query(Generic[A_co]):
    """A question to one collection. `Engine.read` answers it with an `A_co`."""

    __slots__ = ()


class Previewable(Generic[A_co]):
    """A command whose answer `Engine.preview` shows, an `A_co`, without a change."""

    __slots__ = ()


class Previewed(NamedTuple, Generic[A]):
    """The answer that a command would get now, and the revision it rests on."""

    revision: int
    answer: A
