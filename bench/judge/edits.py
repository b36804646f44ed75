"""Edits that change what a text of a group says: `python -m bench.judge.edits OUT`.

Each edit is of a kind of `bench.mutations`. Training sets an edit of one text of a group against
another one: a reworded look-alike of a kind that is known.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

from bench.judge.data import Group, groups
from bench.mutations import KINDS

_OF_KIND, _OF_TEXT = 2, 8


def edits(learned: Sequence[Group], seed: int = 0) -> dict[str, list[tuple[str, str]]]:
    """Return for each text at most eight edits, as kind and edited text."""
    draw, found = random.Random(seed), {}
    for group in learned:
        kinds = KINDS.get(group.language, {})
        for text in group.same:
            of_text = []
            for kind, edit in kinds.items():
                changed = [
                    wording for wording in list(edit(text))[:_OF_KIND] if wording not in group.same
                ]
                if changed:
                    of_text.append((kind, draw.choice(changed)))
            if of_text:
                found[text] = draw.sample(of_text, min(_OF_TEXT, len(of_text)))
    return found


def main() -> None:
    """Write the edits of all groups that are not kept aside."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    found = edits([group for group in groups() if not group.aside])
    options.out.write_text(json.dumps(found, ensure_ascii=False), "utf-8")
    print(len(found), "texts,", sum(map(len, found.values())), "edits")


if __name__ == "__main__":
    main()
