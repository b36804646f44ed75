"""The stage's report: guards on the groups, and what memories show of the chains."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.judging import JudgeSettings
from totonoe_core.judging.settings import has_own_judge, make_judge
from totonoe_server.tools.quality.files import FileError
from totonoe_server.tools.quality.measure import Begin
from totonoe_server.tools.quality.rig import Rig, opened
from totonoe_server.tools.quality.stage import guards, values
from totonoe_server.tools.quality.stage.system import Make, System, load
from totonoe_server.tools.quality.stage.texts import Chain, pairs_of, read_chains, read_groups
from totonoe_server.tools.testing import running_server


class Cached:
    """An `Embed` that embeds each text once."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._kept: dict[str, NDArray[np.float32]] = {}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32[n, dim]."""
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if new:
            self._kept.update(zip(new, self._rig.vectors(new, lambda _: None), strict=True))
        return np.array([self._kept[text] for text in texts])


def measure(
    embedder: EmbedderSettings, systems: Sequence[str], limit: int | None, begin: Begin
) -> dict[str, Any]:
    """Return the report.

    Parameters
    ----------
    systems : sequence of str
        `MODULE:NAME` of systems to measure beside ours.
    limit : int or None
        Only the first groups and chains of each language.

    Raises
    ------
    FileError
        The texts or a system are not there.
    TotonoeError
        The embedder or the judge cannot run.
    """
    make = [load(name) for name in systems]
    groups, chains = read_groups(limit), read_chains(limit)
    pairs = pairs_of(groups)
    with opened(embedder) as rig, ExitStack() as stack:
        embed = Cached(rig)
        others = [_made(system, embed, stack) for system in make]
        read = guards.read_all(pairs, rig, begin("groups", 2 * len(pairs)))
        rows = [guards.row(name, pairs, found) for name, found in guards.baselines(read).items()]
        for system in others:
            found = guards.one_by_one(system, pairs, begin(system.name, len(pairs)))
            rows.append(guards.row(system.name, pairs, found))
        rows.append(
            guards.row(
                guards.WITHOUT_JUDGE, pairs, [guards.without_judge(reading) for reading in read]
            )
        )
        if has_own_judge():
            judge = make_judge(JudgeSettings(kind="own"))
            stack.callback(judge.close)
            said = guards.opinions(read, judge, begin("judge", len(read)))
            found = [guards.with_judge(*pair) for pair in zip(read, said, strict=True)]
            rows.append(guards.row(guards.OURS, pairs, found))
        baselines: list[System] = [values.Words(), values.Cosine(embed)]
        shown = [_values(system, chains, begin) for system in (*baselines, *others)]
        model = rig.model.name
    shown += _ours(embedder, chains, begin)
    return {
        "embedder": model,
        "judge": "own" if has_own_judge() else "none",
        "groups": {"n": len(groups), "n_pairs": len(pairs), "guards": rows},
        "chains": {"n": len(chains), "systems": shown},
    }


def _made(make: Make, embed: Cached, stack: ExitStack) -> System:
    try:
        system = make(embed)
    except ImportError as error:
        raise FileError(f"--system: {error}") from None
    stack.callback(system.close)
    return system


def _values(system: System, chains: Sequence[Chain], begin: Begin) -> dict[str, Any]:
    return values.measure(system, chains, begin(f"chains {system.name}", values.cost(chains)))


def _ours(
    embedder: EmbedderSettings, chains: Sequence[Chain], begin: Begin
) -> list[dict[str, Any]]:
    """Return the rows of a daemon, by default and with superseding."""
    settings: dict[str, Any] = {
        "embedder": embedder.kind,
        "embedder_model": embedder.model,
        "embedder_path": embedder.path,
        "embedder_base_url": embedder.base_url,
        "embedder_api_key_env": embedder.api_key_env,
        "embedder_dimension": embedder.dimension,
        "judge": "own" if has_own_judge() else "none",
        # A busy machine must not change the figures.
        "judge_deadline_s": limits.JUDGE_DEADLINE_S_MAX,
    }
    with running_server(**settings) as server, server.client("stage") as client:
        return [
            _values(values.Daemon(client, name, replaces=replaces), chains, begin)
            for name, replaces in ((guards.OURS, False), ("totonoe, supersedes", True))
        ]
