"""Grants: a pattern of collections, and verbs that are allowed on them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from totonoe.v1 import access_pb2
from totonoe_core.base import limits
from totonoe_server.access.errors import SettingError

VERBS = tuple(
    name.removeprefix("VERB_").lower() for name, number in access_pb2.Verb.items() if number
)
"""Names of the verbs, as grants write them, in the order of the contract."""
EVERY = "*"
"""The pattern that every collection fits."""
_PATTERN = re.compile(r"[a-z0-9_.*-]+")


@dataclass(frozen=True, slots=True)
class Grant:
    """Verbs that are allowed on the collections that fit a pattern.

    Attributes
    ----------
    pattern : str
        Characters of a collection's name; `*` stands for any number of them.
    verbs : frozenset of str
        Of VERBS, at least one.
    """

    pattern: str
    verbs: frozenset[str]

    def __str__(self) -> str:
        return f"{self.pattern}:{','.join(verb for verb in VERBS if verb in self.verbs)}"


def parse_grant(text: str) -> Grant:
    """Parse `team-*:read,remember`.

    Raises
    ------
    SettingError
        The form, the pattern or a verb is not allowed.
    """
    pattern, colon, words = text.rpartition(":")
    if not colon:
        raise SettingError(f"grant: got {text!r}, allowed: PATTERN:VERB,VERB")
    verbs = [word.strip() for word in words.split(",")]
    for verb in verbs:
        if verb not in VERBS:
            raise SettingError(f"grant: got the verb {verb!r}, allowed: {', '.join(VERBS)}")
    return Grant(checked_pattern(pattern), frozenset(verbs))


def checked_pattern(pattern: str) -> str:
    """Return a pattern of collections. Raises `SettingError` if it is none."""
    chars = limits.COLLECTION_NAME_CHARS_MAX
    if not _PATTERN.fullmatch(pattern) or len(pattern) > chars:
        raise SettingError(
            f"pattern: got {pattern!r}, allowed: 1 to {chars} of a-z, 0-9, `_`, `.`, `-` and `*`"
        )
    return pattern


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\*+", pattern)), re.DOTALL)


def fits(pattern: str, collection: str) -> bool:
    """Return whether a collection's name fits a pattern. One that is too long fits none."""
    if len(collection) > limits.COLLECTION_NAME_CHARS_MAX:
        return False
    return _expression(pattern).fullmatch(collection) is not None


def allowed(grants: Iterable[Grant], verb: str, collection: str) -> bool:
    """Return whether one of the grants allows a verb on a collection."""
    return any(verb in grant.verbs and fits(grant.pattern, collection) for grant in grants)


def anywhere(grants: Iterable[Grant], verb: str) -> bool:
    """Return whether one of the grants allows a verb on any collection."""
    return any(verb in grant.verbs for grant in grants)


def everywhere(grants: Iterable[Grant], verb: str) -> bool:
    """Return whether one of the grants allows a verb on every collection."""
    return any(verb in grant.verbs and set(grant.pattern) == {EVERY} for grant in grants)
