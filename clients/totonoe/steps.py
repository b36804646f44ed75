"""Lines of the command line to type next. No other module writes one.

A line reaches the daemon, the collection and the agent of the command that printed it: whatever of
these was said by an option or the environment and is not the default is in the line, quoted for a
shell. So the line is right in another terminal too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

DEFAULT_COLLECTION = "default"
_LOOPBACK = re.compile(r"(127(\.[0-9]+){3}|localhost|\[::1\]):[0-9]+")


@dataclass(frozen=True, slots=True)
class Place:
    """The daemon, collection and agent of a command, as options and the environment say them.

    Attributes
    ----------
    collection : str or None
        Name of the collection; `None`: neither says one, which is `default`.
    options : tuple of str
        The other options with their values, as words of a command line.
    """

    collection: str | None = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed, without the shared options.

    Attributes
    ----------
    name : tuple of str
        Names of the groups and of the command: `("collections", "update")`.
    arguments : tuple of str
        Words without an option.
    options : tuple of (str, str or None)
        Options in their order, a flag with `None`.
    """

    name: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, str | None], ...] = ()

    def words(self, dropped: Set[str], changes: Sequence[tuple[str, str | None]]) -> list[str]:
        """Return the words of the command without some of its options, and with others."""
        changed = {*dropped, *(option for option, _ in changes)}
        kept = [option for option in self.options if option[0] not in changed]
        options = [word for pair in (*kept, *changes) for word in pair if word is not None]
        if any(word.startswith("-") and word != "-" for word in self.arguments):
            return [*self.name, *options, "--", *self.arguments]
        return [*self.name, *self.arguments, *options]


def line(place: Place, *words: str, collection: str | None = None) -> str:
    """Return a whole line that calls a command of this program.

    Parameters
    ----------
    words : str
        Name of the command and its words, unquoted.
    collection : str, optional
        Another collection than that of `place`.
    """
    named = collection is not None and (place.collection or collection != DEFAULT_COLLECTION)
    name = collection if named else place.collection if collection is None else None
    own = [] if name is None else ["--collection", name]
    at = words.index("--") if "--" in words else len(words)
    return " ".join(map(_quoted, ["totonoe", *words[:at], *own, *place.options, *words[at:]]))


def _quoted(word: str) -> str:
    """Quote a word for a shell; what a terminal would not show as it is becomes an escape."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(character: str) -> str:
    if character == "'":
        return "\\'"
    known = character.isprintable() and character != "\\"
    return character if known else character.encode("unicode_escape").decode()


def at(address: str, default: str) -> Place:
    """Return the place of a caller that has no more than an address."""
    return Place() if address == default else Place(options=("--address", address))


def starting(address: str, default: str) -> str:
    """Return the line that starts a daemon at an address; empty if it is another machine's."""
    if address == default:
        return line(Place(), "serve")
    here = address.startswith("unix:") or _LOOPBACK.fullmatch(address)
    return line(Place(), "serve", "--address", address) if here else ""


def typed(name: Iterable[str], parameters: Iterable[Any], given: dict[str, Any]) -> Typed:
    """Return a command as it was typed.

    Parameters
    ----------
    parameters : of a command of Typer
        In their order.
    given : dict
        Values by parameter of what was typed.
    """
    arguments: list[str] = []
    options: list[tuple[str, str | None]] = []
    for parameter in parameters:
        if parameter.name not in given:
            continue
        value = given[parameter.name]
        several = value if isinstance(value, list | tuple) else [value]
        if parameter.param_type_name == "argument":
            arguments += map(str, several)
        elif isinstance(value, bool):
            options.append(((parameter.opts if value else parameter.secondary_opts)[-1], None))
        else:
            options += [(parameter.opts[-1], str(item)) for item in several]
    return Typed(tuple(name), tuple(arguments), tuple(options))
