"""Files in, one report out, with the progress told on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.policy import PRESETS, GuardPolicy, Preset
from totonoe_core.embedding import EmbedderSettings
from totonoe_server.tools.quality import forms, pairs, questions, streams
from totonoe_server.tools.quality.files import (
    BenchmarkNote,
    FileError,
    Form,
    Question,
    form_of,
    partners,
    read_memories,
    read_pairs,
    read_questions,
    read_stream,
)
from totonoe_server.tools.quality.forms import Benchmark
from totonoe_server.tools.quality.rig import Advance, Rig, opened

Begin = Callable[[str, int], Advance]
"""Told what begins and how much there is of it; gives what to tell when some is done."""

Job = tuple[dict[str, Any], int, Callable[[Rig, Advance], dict[str, Any]]]
"""Head of an entry of the report, how much there is to do, and what does it."""


def measure(
    paths: Iterable[Path],
    policy: Preset,
    embedder: EmbedderSettings,
    level: str,
    limit: int | None,
    begin: Begin,
    form: Benchmark | None = None,
) -> dict[str, Any]:
    """The report on some files, in their order; all are of the form `form`, if there is one.

    All files are read before the model is loaded, so that a wrong one is told at once.

    Raises
    ------
    FileError
        A file is not of one of the forms, or the engine refuses something of it.
    TotonoeError
        The embedder cannot run.
    """
    jobs = _jobs(paths, PRESETS[policy], level, limit, form)
    found = []
    with opened(embedder) as rig:
        for head, size, work in jobs:
            name = " ".join(filter(None, (Path(head["file"]).name, head.get("level"))))
            try:
                found.append(head | work(rig, begin(name, size)))
            except InvalidArgument as error:
                raise FileError(f"{head['file']}: {error.message}") from error
        return {"policy": policy.value, "embedder": rig.model.name, "files": found}


def _jobs(
    paths: Iterable[Path],
    policy: GuardPolicy,
    level: str,
    limit: int | None,
    benchmark: Benchmark | None,
) -> list[Job]:
    jobs: list[Job] = []
    seen: set[Path] = set()
    for path in paths:
        if benchmark is not None:
            found = forms.read(path, benchmark, limit)
            jobs += _recall(path, found.told, found.questions, policy, level)
            continue
        form = form_of(path)
        head = {"file": str(path), "form": form.value}
        if form is Form.PAIRS:
            jobs.append(_pairs(head, path, policy, limit))
        elif form is Form.STREAM:
            jobs.append(_stream(head, path, policy, limit))
        else:
            memories, queries = partners(path)
            if memories not in seen:  # both files of one recall may be named
                seen.add(memories)
                told, asked = read_memories(memories), read_questions(queries, limit)
                jobs += _recall(memories, told, asked, policy, level)
    if level and not any(head.get("level") == level for head, _, _ in jobs):
        raise FileError(f"--level {level}: no file has this level")
    return jobs


def _pairs(head: dict[str, Any], path: Path, policy: GuardPolicy, limit: int | None) -> Job:
    rows = read_pairs(path, limit)
    return head, 2 * len(rows), lambda rig, advance: pairs.measure(rows, policy, rig, advance)


def _stream(head: dict[str, Any], path: Path, policy: GuardPolicy, limit: int | None) -> Job:
    rows = read_stream(path, limit)
    return head, len(rows), lambda rig, advance: streams.measure(rows, policy, rig, advance)


def _recall(
    path: Path,
    told: Sequence[BenchmarkNote],
    asked: Sequence[Question],
    policy: GuardPolicy,
    level: str,
) -> list[Job]:
    jobs: list[Job] = []
    for name in questions.levels(told):
        if level and name != level:
            continue
        mine = [note for note in told if note.level == name]

        def work(rig: Rig, advance: Advance, mine: Sequence[Any] = mine) -> dict[str, Any]:
            return questions.measure(mine, asked, policy, rig, advance)

        head = {"file": str(path), "form": Form.RECALL.value, "level": name}
        jobs.append((head, questions.cost(mine, asked), work))
    return jobs
