"""Which licence a package states, and whether it may be among the dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from importlib.metadata import PackageMetadata

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression


class Kind(IntEnum):
    """Duties of a licence for whoever passes the package on; a larger value asks for more."""

    PERMISSIVE = 0
    WEAK_COPYLEFT = 1
    """For changed files of the package itself. totonoe changes none: accepted."""
    COPYLEFT = 2
    UNKNOWN = 3


PERMISSIVE = frozenset(
    [
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "CNRI-Python",
        "HPND",
        "ISC",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
        "Zlib",
    ]
)
WEAK = frozenset({"MPL-2.0"})
COPYLEFT = ("GPL", "AGPL", "LGPL", "SSPL", "EUPL", "CECILL", "OSL", "CC-BY-SA")
BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
BY_TEXT = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
STATED_ELSEWHERE = {
    "apsw": "Zlib",  # "any-OSI": its author allows any licence that the OSI approved
    "hnswlib": "Apache-2.0",  # LICENSE in its sources; the metadata is silent
}
TEXT_CHARS_MAX = 200


def expression(name: str, metadata: PackageMetadata) -> str:
    """Return the licence of an installed package in the form of SPDX; "": none is known."""
    if name in STATED_ELSEWHERE:
        return STATED_ELSEWHERE[name]
    text = " ".join((metadata.get("License") or "").split())[:TEXT_CHARS_MAX]
    for stated in (metadata.get("License-Expression"), BY_TEXT.get(text, text)):
        try:
            return str(canonicalize_license_expression(stated or ""))
        except InvalidLicenseExpression:
            continue
    lines = [line for line in metadata.get_all("Classifier") or [] if "OSI Approved ::" in line]
    stated_there = [line.rpartition(" :: ")[2] for line in lines]
    return " AND ".join(BY_CLASSIFIER.get(item, f"LicenseRef-{item}") for item in stated_there)


def kind(stated: str) -> Kind:
    """Judge an expression: AND asks for both, OR leaves the choice."""
    words = iter([*re.findall(r"[()]|[^\s()]+", stated), ""])
    found, rest = _either(words)
    return Kind.UNKNOWN if rest else found


def _either(words: Iterator[str]) -> tuple[Kind, str]:
    """Judge alternatives; return the word behind them, too."""
    found, word = _both(words)
    while word == "OR":
        other, word = _both(words)
        found = min(found, other)
    return found, word


def _both(words: Iterator[str]) -> tuple[Kind, str]:
    found, word = _one(words)
    while word == "AND":
        other, word = _one(words)
        found = max(found, other)
    return found, word


def _one(words: Iterator[str]) -> tuple[Kind, str]:
    word = next(words, "")
    if word == "(":
        found, closing = _either(words)
        return (found if closing == ")" else Kind.UNKNOWN), next(words, "")
    found = Kind.UNKNOWN
    if word in PERMISSIVE:
        found = Kind.PERMISSIVE
    elif word in WEAK:
        found = Kind.WEAK_COPYLEFT
    elif word.startswith(COPYLEFT):
        found = Kind.COPYLEFT
    behind = next(words, "")
    if behind == "WITH":  # an exception only allows more
        next(words, "")
        behind = next(words, "")
    return found, behind
