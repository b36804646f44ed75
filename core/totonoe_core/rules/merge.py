"""Rules of a Merge: fields and links of the merged memory, and details that its text loses.

Pure: memories and texts in, plain data out. In every join the memory that stays comes first, then
the others in the order in which they were named; a limit cuts off the last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from totonoe_core.base import limits
from totonoe_core.domain.memories import LostDetail
from totonoe_core.domain.records import (
    ANY_TIME,
    Fields,
    Finding,
    Link,
    LinkType,
    Memory,
    TimeRange,
    TypedKey,
)
from totonoe_core.guard.sentences import sentences
from totonoe_core.text.normalize import HAN_KANA, snippet
from totonoe_core.text.reading.budget import end_of_pieces, pieces_in
from totonoe_core.text.reading.language import common_language, languages
from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.read import READ_CHARS_MAX, read
from totonoe_core.text.reading.values.find import find_values

# -- Fields


def joined(
    keep: Memory,
    removed: Sequence[Memory],
    same_key: Callable[[TypedKey | None, TypedKey | None], bool],
) -> Memory:
    """Return the memory that stays with the fields it takes over; text, vector and status stay.

    ======================================  =================================================
    created                                 the earliest
    importance, confidence, salience        the highest
    last confirmed                          the latest
    tags, entities, evidence ids            each once, up to their limits; not its own id
    attributes                              the first that has a name wins; what does not fit
                                            in ATTRIBUTES_BYTES_MAX is left out
    valid from / to                         from the earliest to the latest; an open end of
                                            one stays open
    about time                              the same, without those that name no time
    typed key                               its own, or else the only one among the others
    everything else                         its own
    ======================================  =================================================

    Parameters
    ----------
    same_key : callable
        Returns whether two typed keys name the same value.
    """
    everyone = (keep, *removed)
    all_fields = [one.fields for one in everyone]
    evidence = (each for one in all_fields for each in one.evidence_ids if each != keep.id)
    about = [one.about_time for one in all_fields if one.about_time != ANY_TIME]
    confirmed = [one.last_confirmed_us for one in all_fields if one.last_confirmed_us is not None]
    fields = replace(
        keep.fields,
        importance=max(one.importance for one in all_fields),
        confidence=max(one.confidence for one in all_fields),
        salience=max(one.salience for one in all_fields),
        last_confirmed_us=max(confirmed, default=None),
        tags=_each_once((one.tags for one in all_fields), limits.TAGS_PER_MEMORY_MAX),
        entities=_each_once((one.entities for one in all_fields), limits.ENTITIES_PER_MEMORY_MAX),
        evidence_ids=_each_once((evidence,), limits.EVIDENCE_IDS_PER_MEMORY_MAX),
        attributes=_attributes([one.attributes for one in all_fields]),
        valid_from_us=_first([one.valid_from_us for one in all_fields]),
        valid_to_us=_last([one.valid_to_us for one in all_fields]),
        about_time=TimeRange(
            _first([one.from_us for one in about]), _last([one.to_us for one in about])
        ),
        key=_key(all_fields, same_key),
        **_expiry(all_fields),
    )
    return replace(keep, fields=fields, created_us=min(one.created_us for one in everyone))


def _each_once(values: Iterable[Iterable[str]], limit: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for some in values for each in some))[:limit]


def _attributes(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join attributes: all names, the first value of each, at most ATTRIBUTES_BYTES_MAX as JSON."""
    out: dict[str, Any] = {}
    size = 1  # "{"; each entry ends in a comma or the last in "}"
    for some in values:
        for name, value in some.items():
            if name in out:
                continue
            entry = json.dumps({name: value}, ensure_ascii=False, separators=(",", ":"))
            # Without its braces, with the comma after it.
            more = len(entry.encode()) - 1
            if size + more <= limits.ATTRIBUTES_BYTES_MAX:
                out[name] = value
                size += more
    return out


def _first(times: Sequence[int | None]) -> int | None:
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None


def _last(times: Sequence[int | None]) -> int | None:
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def _expiry(fields: Sequence[Fields]) -> dict[str, Any]:
    """Join expiry: what one memory keeps for good is kept, else the longest time counts."""
    instant = _last([one.expires_us for one in fields])
    after = [one.expires_after_s for one in fields if one.expires_after_s is not None]
    return {
        "expires_us": instant,
        "expires_after_s": None if instant is None else max(after, default=None),
    }


def _key(
    fields: Sequence[Fields], same_key: Callable[[TypedKey | None, TypedKey | None], bool]
) -> TypedKey | None:
    if fields[0].key is not None:
        return fields[0].key
    keys = [one.key for one in fields if one.key is not None]
    return keys[0] if keys and all(same_key(keys[0], one) for one in keys) else None


# -- Links

Ends = tuple[int, LinkType]
"""Row of the other end, and the holder's relation to it."""


def links_after(
    own: Iterable[tuple[int, Link]], brought: Iterable[tuple[int, Link]], merged: set[int]
) -> dict[Ends, Link]:
    """Return the links that the remaining memory holds after a merge.

    Links among the merged memories are dropped. Of doubles (same end, same type) the one with the
    highest confidence stays, at a tie its own. Of more than LINKS_PER_MEMORY_MAX the strongest
    stay.

    Parameters
    ----------
    own, brought : iterable of (int, Link)
        (row of the other end, link) of the one that stays and of the others.
    merged : set of int
        Rows of all of them.
    """
    best: dict[Ends, Link] = {}
    for target, link in (*own, *brought):
        if target in merged:
            continue
        held = best.get((target, link.type))
        if held is None or link.confidence > held.confidence:
            best[target, link.type] = link
    # A stable sort: of equally strong links its own come first.
    strongest = sorted(best.items(), key=lambda item: -item[1].confidence)
    return dict(strongest[: limits.LINKS_PER_MEMORY_MAX])


# -- Details that a merged text loses

# A letter or figure of a script that parts words by spaces.
_WORDY = rf"[^\W{HAN_KANA}\uac00-\ud7af]"

_Found = tuple[int, int, PieceType, str]
"""Start, end, type and key of a detail."""


def lost_details(sources: Iterable[tuple[str, str]], merged_text: str) -> tuple[LostDetail, ...]:
    """Find details of the sources (numbers, dates, names ...) that the merged text lacks.

    Details are compared by meaning: 1 kg and 1000 g, 8080 and 8,080, "14:30" and "2:30 pm" are the
    same. A detail that no reader understands is not reported. False warnings are possible for an
    inflected name, or one in another script.

    Parameters
    ----------
    sources : iterable of (str, str)
        Memory id and text. The search ends after LOST_SCANNED_PIECES_MAX pieces of all texts, that
        for names after LOST_READ_PIECES_MAX (`text.reading.budget` counts them).
    merged_text : str

    Returns
    -------
    tuple of LostDetail
        In the order of the sources and of their texts, each detail once a source; at most
        LOST_DETAILS_MAX.
    """
    lost: list[LostDetail] = []
    scanned, read_pieces = limits.LOST_SCANNED_PIECES_MAX, limits.LOST_READ_PIECES_MAX
    merged_pieces = pieces_in(merged_text)
    kept: dict[str, frozenset[str]] = {}
    folded = merged_text.casefold()
    for memory_id, text in sources:
        if text == merged_text:
            continue
        language = common_language(text, merged_text) or next(iter(languages(text)), "")
        if language not in kept:
            scanned -= merged_pieces
            if scanned < 0:
                break  # half of the merged text's details would make false warnings
            kept[language] = _keys(merged_text, language)
        text = text[: end_of_pieces(text, scanned)]
        pieces = pieces_in(text)
        scanned -= pieces
        told: set[str] = set()
        for start, end, type_, key in _details(text, language, read_pieces):
            if key in told or key in kept[language] or _stands(type_, key, text[start:end], folded):
                continue
            told.add(key)
            shown = snippet(text[start:end], limits.EVIDENCE_CHARS)
            lost.append(LostDetail(memory_id, Finding(type_.value), (start, end), shown))
            if len(lost) == limits.LOST_DETAILS_MAX:
                return tuple(lost)
        read_pieces = max(0, read_pieces - pieces)
    return tuple(lost)


def _details(text: str, language: str, read_pieces: int) -> list[_Found]:
    """Values of a text, and names of its beginning, in text order."""
    found = [(one.start, one.end, one.type, one.key) for one in find_values(text, language)]
    for start, end in _readable(text, end_of_pieces(text, read_pieces)):
        found += [
            (start + piece.start, start + piece.end, piece.type, piece.key)
            for piece in read(text[start:end], language).pieces
            if piece.type is PieceType.NAME
        ]
    return sorted(found)


def _readable(text: str, end: int) -> Iterator[tuple[int, int]]:
    """Stretches up to an end that a reader takes: all of it, or its sentences."""
    if end == len(text) <= READ_CHARS_MAX:
        yield 0, end
        return
    yield from sentences(text[:end])


def _keys(text: str, language: str) -> frozenset[str]:
    """Return the keys of all details of a merged text, read in the source's language and in its
    own.
    """
    keys: set[str] = set()
    for one in {language, *languages(text)[:1]}:
        for start, end, type_, key in _details(text, one, limits.LOST_READ_PIECES_MAX):
            keys.add(key)
            if type_ is PieceType.QUOTE:
                inside = text[start + 1 : end - 1]
                keys.update(value.key for value in find_values(inside, one))
    return frozenset(keys)


def _stands(type_: PieceType, key: str, surface: str, folded: str) -> bool:
    """Return whether the words of a name or quotation occur in a case-folded text.

    A reader may take a name for a word elsewhere, and a quotation may lose its marks. Values are
    not searched: as a part of another they mean something else, like 1.2 in 1.2.3.
    """
    if type_ is PieceType.NAME:
        forms = {key.casefold(), surface.casefold()}
    elif type_ is PieceType.QUOTE:
        forms = {key.casefold()}
    else:
        return False
    return any(re.search(rf"(?<!{_WORDY}){re.escape(form)}(?!{_WORDY})", folded) for form in forms)
