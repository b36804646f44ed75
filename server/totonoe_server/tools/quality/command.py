"""The command `totonoe quality`. Loads nothing heavy until it is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from totonoe_server.tools import options
from totonoe_server.tools.bars import progress

if TYPE_CHECKING:
    from totonoe_core.embedding import EmbedderSettings
    from totonoe_server.tools.quality.measure import Begin

Show = Callable[[dict[str, Any]], None]
"""Prints a report for people."""

EXIT_FAILED = 1
EXIT_USAGE = 2


class BenchmarkForm(StrEnum):
    """The forms of public benchmarks."""

    LOCOMO = "locomo"
    LONGMEMEVAL = "longmemeval"


class Policy(StrEnum):
    """The presets of the guard."""

    STANDARD = "standard"
    EGO = "ego"
    ROBOTMEM = "robotmem"


def register(app: typer.Typer) -> None:
    """Joins the command to `app`."""
    options.add_with_settings(app, "quality", quality, options.EMBEDDER)


def quality(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="JSON lines, plain or gzip: pairs, a stream, or one of *_memories* and "
            "*_queries*. See docs/quality.md.",
        ),
    ] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="The probe set that ships with the daemon, first.")
    ] = False,
    stage: Annotated[
        bool,
        typer.Option(
            "--stage",
            help="Our guard and Recall beside others, on public texts that ship with the daemon. "
            "Stands alone.",
        ),
    ] = False,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="With --stage: a system to measure too; docs/quality.md has its form.",
        ),
    ] = None,
    form: Annotated[
        BenchmarkForm | None,
        typer.Option(help="All files are of this benchmark, as its authors publish it."),
    ] = None,
    policy: Annotated[Policy, typer.Option(help="Preset of the guard.")] = Policy.STANDARD,
    level: Annotated[
        str, typer.Option(help="Of memories with a level only this one. Default: each by itself.")
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Only the first rows; of a recall file, the first questions; of the stage, the "
            "first groups and chains of each language.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    *,
    given: dict[str, Any],
) -> None:
    """Measure the guard and Recall on labelled files. Needs no daemon.

    Exit code 2 if a file or an option is wrong, 1 if the embedder cannot run.
    """
    from totonoe_server.life import process

    process.limit_threads()
    from totonoe_core.engine.factory import prepare_kernels

    prepare_kernels()
    from totonoe_core.base.errors import TotonoeError
    from totonoe_server.life.config import SettingsError
    from totonoe_server.tools.quality.files import FileError

    try:
        paths = [*(_probe_paths() if probe else ()), *(files or ())]
        chosen = policy is not Policy.STANDARD or level or form
        _require_one(stage, paths, system, bool(chosen))
        if form and probe:
            raise FileError("--form: is for files, and --probe is none")
        with progress() as begin:
            if stage:
                show, report = _staged(given, system or (), limit, begin)
            else:
                show, report = _measured(given, paths, policy, level, limit, form, begin)
    except (FileError, SettingsError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
    except TotonoeError as error:
        typer.echo(f"totonoe: {error.message}", err=True)
        raise typer.Exit(EXIT_FAILED) from None
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        show(report)


def _require_one(
    stage: bool, paths: Sequence[Path], systems: Sequence[str] | None, chosen: bool
) -> None:
    """Refuse what does not go together; `chosen`: the policy, level or form of files is named."""
    from totonoe_server.tools.quality.files import FileError

    if stage and (paths or chosen):
        raise FileError("--stage stands alone: no FILE, --probe, --policy, --level, --form with it")
    if systems and not stage:
        raise FileError("--system: needs --stage")
    if not stage and not paths:
        raise FileError("name a file, --probe or --stage")


def _measured(
    given: dict[str, Any],
    paths: Sequence[Path],
    policy: Policy,
    level: str,
    limit: int | None,
    form: BenchmarkForm | None,
    begin: Begin,
) -> tuple[Show, dict[str, Any]]:
    from totonoe_core.domain.policy import Preset
    from totonoe_server.tools.quality.forms import Benchmark
    from totonoe_server.tools.quality.measure import measure
    from totonoe_server.tools.quality.tables import show

    of = Benchmark(form) if form else None
    return show, measure(paths, Preset(policy), embedder_of(given), level, limit, begin, of)


def _staged(
    given: dict[str, Any], systems: Sequence[str], limit: int | None, begin: Begin
) -> tuple[Show, dict[str, Any]]:
    from totonoe_server.tools.quality.stage.measure import measure
    from totonoe_server.tools.quality.stage.tables import show

    return show, measure(embedder_of(given), systems, limit, begin)


def _probe_paths() -> list[Path]:
    from totonoe_core.guard.probe import probe_files

    # A wheel is unpacked when it is installed: resources are files.
    return [Path(str(file)) for file in probe_files()]


def embedder_of(given: dict[str, Any]) -> EmbedderSettings:
    """The embedder that the daemon would run with these options and this environment."""
    from dataclasses import fields

    from totonoe_core.embedding import EmbedderSettings
    from totonoe_server.life.config import SettingsError, load

    settings = load(None, given, listens=False).settings
    if settings.embedder == "none":
        raise SettingsError("embedder: none makes no vectors, and there is no client to bring them")
    rest = {field.name for field in fields(EmbedderSettings)} - {"kind"}
    return EmbedderSettings(
        kind=settings.embedder, **{name: getattr(settings, f"embedder_{name}") for name in rest}
    )
