"""Edits that change what a sentence says, and how many of them the guard refuses.

    python -m bench.mutations [FILE ...] [--languages en,ja,zh] [--texts 400] [--show]

The sentences are those of the probe set, then those of the FILEs: labelled pairs as `totonoe
quality` reads them. Each kind of edit (`mutations_en`, `mutations_ja`, `mutations_zh`) changes a
sentence where it can; the guard then compares the sentence and the edited one with their real
vectors. A row for each language and kind: `n` edits, `n_refused`, `refused_share`. `--show` prints
the refused ones. The aim is at most 0.5 % in every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from bench import common, mutations_en, mutations_ja, mutations_zh
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard.probe import LANGUAGES, probe_files
from totonoe_server.tools.quality.files import BenchmarkPair, read_pairs
from totonoe_server.tools.quality.pairs import judge_all
from totonoe_server.tools.quality.rig import Rig, opened

Edit = Callable[[str], Iterable[str]]
"""Returns the edited sentences, each with another meaning; nothing if the edit does not apply."""
KINDS: dict[str, dict[str, Edit]] = {
    "en": mutations_en.KINDS,
    "ja": mutations_ja.KINDS,
    "zh": mutations_zh.KINDS,
}
PER_SENTENCE = 2
"""Edits of one kind that one sentence gives at most."""


def probe_texts(language: str) -> list[str]:
    """Return the distinct texts of the probe set in a language, in order."""
    path = Path(str(dict(zip(LANGUAGES, probe_files(), strict=True))[language]))
    return _texts(pair for pair in read_pairs(path) if pair.lang == language)


def _texts(pairs: Iterable[BenchmarkPair]) -> list[str]:
    return list(dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b)))


def spread(texts: Sequence[str], count: int) -> list[str]:
    """Return at most so many texts, evenly spread over all."""
    if count >= len(texts):
        return list(texts)
    return [texts[at * len(texts) // count] for at in range(count)]


def edited(language: str, texts: Iterable[str]) -> Iterator[BenchmarkPair]:
    """Yield each sentence with an edited one beside it, of label 0; `kind` names the edit."""
    for text in texts:
        for kind, edit in KINDS[language].items():
            changed = (other for other in dict.fromkeys(edit(text)) if other != text)
            for number, other in enumerate(islice(changed, PER_SENTENCE)):
                yield BenchmarkPair(f"{language}-{kind}-{number}", language, text, other, 0, kind)


def measure(
    report: common.Report, rig: Rig, language: str, source: str, texts: list[str], show: bool
) -> None:
    """Add a row for each kind of edit."""
    judged = judge_all(list(edited(language, texts)), PRESETS[Preset.STANDARD], rig, lambda _: None)
    for kind in KINDS[language]:
        group = [pair for pair in judged if pair.pair.kind == kind]
        refused = [pair for pair in group if pair.refused]
        report.add(
            language=language,
            texts=source,
            embedder=rig.model.name,
            kind=kind,
            n=len(group),
            n_refused=len(refused),
            refused_share=len(refused) / len(group) if group else None,
        )
        if show:
            for pair in refused:
                print(f"  - {pair.pair.a}\n    {pair.pair.b}")


def main() -> None:
    """Read the options."""
    parser = common.parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="labelled pairs")
    parser.add_argument("--languages", default="en,ja,zh")
    parser.add_argument("--texts", type=int, default=400, help="sentences of each source")
    parser.add_argument("--embedder", default="use", help="use or hashing")
    parser.add_argument("--show", action="store_true", help="print the refused edits")
    options = parser.parse_args()
    languages = options.languages.split(",")
    with (
        common.Report("mutations", options.seed, options.out) as report,
        opened(EmbedderSettings(kind=options.embedder)) as rig,
    ):
        for language in languages:
            texts = spread(probe_texts(language), options.texts)
            measure(report, rig, language, "probe", texts, options.show)
        for path in options.files:
            pairs = [pair for pair in read_pairs(path) if pair.lang in languages]
            for language in sorted({pair.lang for pair in pairs}):
                texts = _texts(pair for pair in pairs if pair.lang == language)
                name = path.name.partition(".")[0]
                measure(report, rig, language, name, spread(texts, options.texts), options.show)


if __name__ == "__main__":
    main()
