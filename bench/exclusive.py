"""How surely `certainly_exclusive` names what a newer note would replace, on labelled groups.

    python -m bench.exclusive FILE...

A file has one JSON object a line: `topic`, `same` (texts that say one thing), `different` (each
with `text` and `relation` to the others: "x" if both cannot be true at once). Prints one JSON line
for each fold of the topics: fold 0 was kept aside when the rule was written.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.records import Verdict
from totonoe_core.guard.exclusive import certainly_exclusive
from totonoe_core.guard.verdict import judged

FOLDS = 5
_COSINE = 0.85


def pairs(group: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield a new text, a memory, and whether they exclude each other."""
    first, *others = group["same"]
    yield from ((text, first, False) for text in others)
    for other in group["different"]:
        yield from ((other["text"], memory, other["relation"] == "x") for memory in group["same"])


def main() -> None:
    """Read the files, and print a row for each fold."""
    counts: list[Counter[str]] = [Counter() for _ in range(FOLDS)]
    for name in sys.argv[1:]:
        for line in Path(name).read_text(encoding="utf-8").splitlines():
            group = json.loads(line)
            count = counts[zlib.crc32(group["topic"].encode()) % FOLDS]
            for text, memory, exclusive in pairs(group):
                found = judged(text, memory, _COSINE, CAREFUL)
                acts = bool(certainly_exclusive(text, memory, found))
                by_verdict = found.verdict in (Verdict.UPDATE, Verdict.CONTRADICTION)
                count["exclusive"] += exclusive
                count["called"] += acts
                count["right"] += acts and exclusive
                count["by_verdict"] += by_verdict
                count["by_verdict_right"] += by_verdict and exclusive
    for fold, count in enumerate(counts):
        precision = count["right"] / max(1, count["called"])
        recall = count["right"] / max(1, count["by_verdict_right"])
        print(json.dumps({"fold": fold, **count, "precision": precision, "recall": recall}))


if __name__ == "__main__":
    main()
