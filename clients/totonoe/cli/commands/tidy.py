"""Commands about tidying: tidy, turn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from totonoe.call.lazily import tidy_models as models
from totonoe.cli import options
from totonoe.cli.extensions import Panel, add
from totonoe.cli.session import ExitCode, Session, json_text
from totonoe.cli.show import tidy as show
from totonoe.enums import TidyFate
from totonoe.words.plain import plain


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.TIDY_UP, tidy, turn)


def tidy(
    session: Session,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Close exact duplicates. Without it they are only listed."),
    ] = False,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print clusters of near states as JSON, for a model to judge."),
    ] = False,
    apply_plan: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Apply a plan in JSON; `-` reads standard input."),
    ] = None,
    only: Annotated[
        list[int] | None,
        typer.Option(help="Only this update of the plan, by its place from 0; may be repeated."),
    ] = None,
    distance_below: Annotated[
        float | None,
        typer.Option(
            help="With --plan: states nearer than this cosine distance, up to 0.5. Default: 0.1"
        ),
    ] = None,
    clusters: Annotated[int, typer.Option(help="With --plan: maximum of clusters, 1 to 200.")] = 50,
    page_token: options.PageToken = "",
    limit: Annotated[
        int | None,
        typer.Option(help="Maximum of exact duplicates to close. Default: tidy.closes_max, 200."),
    ] = None,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Close exact duplicates of states, list near ones, or apply a plan.

    Nothing is changed without --apply or --apply-plan. Exit code 3 if a text of a plan is repeated.
    """
    if apply + plan + (apply_plan is not None) > 1:
        raise ValueError("say one of --apply, --plan, --apply-plan")
    if only and apply_plan is None:
        raise ValueError("--only goes with --apply-plan")
    if limit is not None and (plan or apply_plan is not None):
        raise ValueError("--limit is for exact doubles, not for a plan")
    if limit is not None and limit < 1:
        raise ValueError(f"--limit: got {limit}, allowed: 1 to 1,000")
    if apply_plan is not None:
        _apply(session, _text_of(apply_plan), only or [], reason, operation_id)
        return
    if not plan and (distance_below is not None or page_token):
        raise ValueError("--distance-below and --page-token go with --plan")
    doubles: list[models.TidyDoubles] = []
    near: list[models.TidyCluster] = []
    done: models.TidyDone | None = None
    with session.client() as client:
        for event in client.tidy(
            apply=apply,
            plan=plan,
            reason=reason,
            distance_below=distance_below,
            clusters_max=clusters,
            page_token=page_token,
            limit=limit or 0,
            operation_id=operation_id,
        ):
            match event:
                case models.TidyProgress() if plan and sys.stderr.isatty():
                    show.progress(event)
                case models.TidyDoubles():
                    doubles.append(event)
                case models.TidyCluster():
                    near.append(event)
                case models.TidyDone():
                    done = event
    assert done is not None, "a tidy ends with its figures, or raises"
    if plan:
        # For a model, so JSON in any case, and in lines that people can read too.
        typer.echo(json_text(show.for_a_model(near, done), indent=2))
        return
    answer = {"doubles": plain(doubles), "done": plain(done)}
    session.show(answer, lambda: show.tidied(doubles, done))


def _text_of(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--apply-plan: {error}") from None


def _apply(session: Session, text: str, only: list[int], reason: str, operation_id: str) -> None:
    with session.client() as client:
        answer = client.apply_tidy_plan(text, only=only, reason=reason, operation_id=operation_id)
    session.show(plain(answer), lambda: show.applied(answer))
    if any(outcome.fate is TidyFate.REFUSED for outcome in answer.outcomes):
        raise typer.Exit(ExitCode.REPEATED)


def turn(session: Session, operation_id: options.OperationId = "") -> None:
    """Count one turn of a conversation.

    A collection with tidy.enabled is tidied at certain turns.
    """
    with session.client() as client:
        answer = client.record_turn(operation_id=operation_id)
    session.show(plain(answer), lambda: show.turn(answer))
