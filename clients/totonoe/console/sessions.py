"""Logins and sessions: who has been let in, and what their browser was shown.

A login is a file in a folder of mode 0700, so that a second command of the same user can make one
for a console that runs. Its name is the SHA-256 of the token; the token itself is stored nowhere.
Sessions are in memory and end with the process.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from totonoe.console import limits

if TYPE_CHECKING:
    from totonoe.console.pages.pairs import PairView

TOKEN_BYTES = 32
_TOKEN = re.compile(r"[0-9A-Za-z_-]{43}")

Clock = Callable[[], float]


class Logins:
    """Tokens that each let one browser in, once, for LOGIN_S seconds.

    Parameters
    ----------
    folder : Path
        Made with mode 0700 if it is missing.
    clock : callable
        Seconds since 1970, as the file system counts them.
    """

    def __init__(self, folder: Path, clock: Clock = time.time) -> None:
        self._folder = folder
        self._clock = clock

    def make(self) -> str:
        """Return a new token of 32 random bytes, in letters, digits, `-` and `_`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._end_old()
        token = secrets.token_urlsafe(TOKEN_BYTES)
        path = self._path(token)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        now = self._clock()
        os.utime(path, (now, now))
        return token

    def use(self, token: str) -> bool:
        """Return whether a token lets in now; it never does again."""
        if not _TOKEN.fullmatch(token):
            return False
        path = self._path(token)
        try:
            made = path.stat().st_mtime
            # Of two that come at once one removes the file; the other one is refused.
            path.unlink()
        except FileNotFoundError:
            return False
        # File systems round times.
        return -1.0 <= self._clock() - made <= limits.LOGIN_S

    def _path(self, token: str) -> Path:
        return self._folder / hashlib.sha256(token.encode()).hexdigest()

    def _end_old(self) -> None:
        found: list[tuple[float, Path]] = []
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):
                found.append((path.stat().st_mtime, path))
        found.sort()
        late = self._clock() - limits.LOGIN_S
        kept = [path for made, path in found if made >= late]
        old = [path for made, path in found if made < late]
        for path in [*old, *kept[: max(0, len(kept) - limits.LOGINS_MAX + 1)]]:
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Done:
    """A message about what was done; `undo` is the revision that takes it back, 0: none."""

    text: str
    undo: int = 0
    failed: bool = False


@dataclass(slots=True)
class Desk:
    """The work of one browser on the pairs of one collection.

    Attributes
    ----------
    answers : list of int
        Revisions of its answers, which the key for undo takes back from the end.
    later : OrderedDict of frozenset to None
        Pairs that were put off, by their ids.
    found : list of PairView
        What its last search for more pairs found, the most probable first.
    """

    answers: list[int] = field(default_factory=list)
    later: OrderedDict[frozenset[str], None] = field(default_factory=OrderedDict)
    found: list[PairView] = field(default_factory=list)

    def answered(self, revision: int) -> None:
        """Keep the revision of an answer, for the key that takes it back."""
        self.answers.append(revision)
        del self.answers[: -limits.ANSWERS_MAX]

    def put_off(self, ids: frozenset[str]) -> None:
        """Put a pair behind all others."""
        self.later.pop(ids, None)
        self.later[ids] = None
        while len(self.later) > limits.LATER_MAX:
            self.later.popitem(last=False)


@dataclass(slots=True)
class Session:
    """One browser that was let in.

    Attributes
    ----------
    id : str
        The value of its cookie.
    ends_s : float
        When it ends, by the clock of `Sessions`.
    keys_on : bool
        Single letters answer.
    done : OrderedDict of str to Done
        The last messages, by the name that a page of them has in its address.
    desks : OrderedDict of str to Desk
        By collection, the one that was used last at the end.
    ended : bool
        It lets nobody in any more; what it still streams comes to its end.
    """

    id: str
    ends_s: float
    keys_on: bool = True
    done: OrderedDict[str, Done] = field(default_factory=OrderedDict)
    desks: OrderedDict[str, Desk] = field(default_factory=OrderedDict)
    ended: bool = False

    @property
    def csrf(self) -> str:
        """The word in each form of this session, which pages of other origins cannot know."""
        return hmac.new(self.id.encode(), b"csrf", hashlib.sha256).hexdigest()

    def say(self, done: Done) -> str:
        """Keep a message for the next page, and return its name."""
        name = secrets.token_hex(8)
        self.done[name] = done
        while len(self.done) > limits.MESSAGES_MAX:
            self.done.popitem(last=False)
        return name

    def desk(self, collection: str) -> Desk:
        """Return its desk for a collection, empty at first; of too many the oldest is cleared."""
        desk = self.desks.setdefault(collection, Desk())
        self.desks.move_to_end(collection)
        while len(self.desks) > limits.DESKS_MAX:
            self.desks.popitem(last=False)
        return desk


class Sessions:
    """Sessions in memory, at most SESSIONS_MAX, each for SESSION_S seconds.

    Parameters
    ----------
    clock : callable
        Seconds that never go back.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._open: OrderedDict[str, Session] = OrderedDict()

    def open(self) -> Session:
        """Begin a session."""
        session = Session(secrets.token_urlsafe(TOKEN_BYTES), self._clock() + limits.SESSION_S)
        self._open[session.id] = session
        while len(self._open) > limits.SESSIONS_MAX:
            self.end(next(iter(self._open.values())))
        return session

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie, unless it has ended."""
        session = self._open.get(cookie)
        if session is None or self._clock() < session.ends_s:
            return session
        self.end(session)
        return None

    def end(self, session: Session) -> None:
        """End a session."""
        self._open.pop(session.id, None)
        session.ended = True
