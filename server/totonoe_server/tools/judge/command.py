"""The command `totonoe judge try`. Loads nothing heavy until it is run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from totonoe_server.tools import options

if TYPE_CHECKING:
    from totonoe_core.judging import JudgeSettings
    from totonoe_server.tools.judge.pairs import LabelledPair
    from totonoe_server.tools.judge.trying import Answer
    from totonoe_server.tools.quality.measure import Begin

EXIT_FAILED = 1
EXIT_USAGE = 2


def register(app: typer.Typer) -> None:
    """Joins the group `judge` to `app`."""
    group = typer.Typer(no_args_is_help=True, help="Measure a judge on labelled pairs.")
    options.add_with_settings(group, "try", try_, (*options.JUDGE, *options.EMBEDDER))
    app.add_typer(group, name="judge")


def try_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="JSON lines, plain or gzip: a, b, label (1: same, 0: not), relation (of b to a, "
            "may be left out). See docs/quality.md.",
        ),
    ],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first pairs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    *,
    given: dict[str, Any],
) -> None:
    """Ask a judge about labelled pairs, and show what it would change. Needs no daemon.

    The judge is that of `serve` with the same options and environment; without one the guard alone
    is measured. It gets every pair, so both texts of each line go to its server. Exit code 2 if the
    file or an option is wrong, 1 if the embedder or the judge cannot run.
    """
    from totonoe_server.life import process

    process.limit_threads()
    from totonoe_core.engine.factory import prepare_kernels

    prepare_kernels()
    from totonoe_core.base.errors import TotonoeError
    from totonoe_server.life.config import SettingsError
    from totonoe_server.tools.bars import progress
    from totonoe_server.tools.judge.trying import JudgeGoneError
    from totonoe_server.tools.quality.files import FileError

    try:
        with progress() as begin:
            report = _measured(file, given, limit, begin)
    except (FileError, SettingsError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
    except TotonoeError as error:
        typer.echo(f"totonoe: {error.message}", err=True)
        wrong_option = error.reason == "JUDGE_MISCONFIGURED"
        raise typer.Exit(EXIT_USAGE if wrong_option else EXIT_FAILED) from None
    except JudgeGoneError as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(EXIT_FAILED) from None
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        from totonoe_server.tools.judge.tables import show

        show(report)


def _measured(file: Path, given: dict[str, Any], limit: int | None, begin: Begin) -> dict[str, Any]:
    """Return the report. The file and the settings are read before a model is loaded."""
    from totonoe_core.domain.policy import PRESETS, Preset
    from totonoe_server.life.config import load
    from totonoe_server.life.daemon import judge_settings
    from totonoe_server.tools.judge.pairs import read_pairs
    from totonoe_server.tools.judge.trying import figures, try_all
    from totonoe_server.tools.quality.command import embedder_of
    from totonoe_server.tools.quality.rig import opened

    pairs = read_pairs(file, limit)
    embedder, settings = (
        embedder_of(given),
        judge_settings(load(None, given, listens=False).settings),
    )
    answers, cpu_s = _answers(settings, pairs, begin)
    with opened(embedder) as rig:
        advance = begin(file.name, 2 * len(pairs))
        tried = try_all(pairs, PRESETS[Preset.STANDARD], rig, settings, answers, advance)
        head = {"file": str(file), "policy": Preset.STANDARD.value, "embedder": rig.model.name}
    return head | figures(tried, settings, cpu_s)


def _answers(
    settings: JudgeSettings, pairs: Sequence[LabelledPair], begin: Begin
) -> tuple[Sequence[Answer | None], float]:
    """Return the judge's answers, none without a judge, and the CPU seconds that they took."""
    from totonoe_core.judging.settings import make_judge
    from totonoe_server.tools.judge.trying import ask_all

    if settings.kind == "none":
        return [None] * len(pairs), 0.0
    judge = make_judge(settings)
    try:
        return ask_all(judge, pairs, begin(f"judge {settings.kind}", len(pairs)))
    finally:
        judge.close()
