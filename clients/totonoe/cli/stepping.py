"""The next steps that the command under way prints: they go where it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from totonoe import steps

Place = Callable[[], steps.Place]
Typed = Callable[[], steps.Typed]
# Found out only where a step is printed.
_PLACE: ContextVar[Place] = ContextVar("_PLACE", default=steps.Place)
_TYPED: ContextVar[Typed] = ContextVar("_TYPED", default=steps.Typed)


@contextmanager
def under_way(place: Place, typed: Typed) -> Iterator[None]:
    """Make this the command whose steps are printed."""
    before = _PLACE.set(place), _TYPED.set(typed)
    try:
        yield
    finally:
        _PLACE.reset(before[0])
        _TYPED.reset(before[1])


def step(*words: str | int, collection: str | None = None) -> str:
    """Return the line that calls a command, for instance `step("undo", 7)`.

    Parameters
    ----------
    collection : str, optional
        Another collection than that of the command under way.
    """
    return steps.line(_PLACE.get()(), *map(str, words), collection=collection)


def again(**options: str | int | bool) -> str:
    """Return the line that calls the command under way again, with other or further options.

    `again(page_token="x", force=True)` has `--page-token x --force`; `again(resume=False)` leaves
    that option out. An operation id is never taken along: the call is another operation.
    """
    named = [("--" + name.replace("_", "-"), value) for name, value in options.items()]
    changes = [(name, None if value is True else str(value)) for name, value in named if value]
    dropped = {"--operation-id", *(name for name, value in named if value is False)}
    return step(*_TYPED.get()().words(dropped, changes))
