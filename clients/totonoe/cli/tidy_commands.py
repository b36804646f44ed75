"""Commands about tidying: tidy, turn."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from totonoe.cli import options, output_tidy
from totonoe.cli.plain import plain
from totonoe.cli.session import ExitCode, Session, shared
from totonoe.enums import TidyFate
from totonoe.tidy_models import TidyCluster, TidyDone, TidyDoubles, TidyProgress


def register(app: typer.Typer) -> None:
    """Joins these commands to `app`."""
    for command in (tidy, turn):
        app.command()(shared(command))


def tidy(
    session: Session,
    apply: Annotated[
        bool, typer.Option("--apply", help="Close the exact doubles. Otherwise only tell them.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print clusters of near states as JSON, for a model to judge."),
    ] = False,
    apply_plan: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Carry out a plan in JSON; `-`: standard input."),
    ] = None,
    only: Annotated[
        list[int] | None,
        typer.Option(help="Of a plan: this update, by its place from 0; may be repeated."),
    ] = None,
    distance_below: Annotated[
        float | None,
        typer.Option(help="With --plan: nearer than this cosine distance, up to 0.5. Default: 0.1"),
    ] = None,
    clusters: Annotated[int, typer.Option(help="With --plan: clusters at most, 1 to 200.")] = 50,
    page_token: options.PageToken = "",
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Close exact doubles of states, tell near ones for a plan, or carry out a plan.

    Nothing is changed without --apply or --apply-plan. Exit code 3 if a text of a plan is repeated.
    """
    if apply + plan + (apply_plan is not None) > 1:
        raise ValueError("say one of --apply, --plan, --apply-plan")
    if only and apply_plan is None:
        raise ValueError("--only goes with --apply-plan")
    if apply_plan is not None:
        _apply(session, _text_of(apply_plan), only or [], reason, operation_id)
        return
    if not plan and (distance_below is not None or page_token):
        raise ValueError("--distance-below and --page-token go with --plan")
    doubles: list[TidyDoubles] = []
    near: list[TidyCluster] = []
    done: TidyDone | None = None
    with session.client() as client:
        for event in client.tidy(
            apply=apply,
            plan=plan,
            reason=reason,
            distance_below=distance_below,
            clusters_max=clusters,
            page_token=page_token,
            operation_id=operation_id,
        ):
            match event:
                case TidyProgress() if plan and sys.stderr.isatty():
                    output_tidy.progress(event)
                case TidyDoubles():
                    doubles.append(event)
                case TidyCluster():
                    near.append(event)
                case TidyDone():
                    done = event
    assert done is not None, "a tidy ends with its figures, or raises"
    if plan:
        # For a model, so JSON in any case, and in lines that people can read too.
        typer.echo(json.dumps(_for_a_model(near, done), ensure_ascii=False, indent=2))
        return
    answer = {"doubles": plain(doubles), "done": plain(done)}
    session.show(answer, lambda: output_tidy.tidied(doubles, done))


def _for_a_model(near: list[TidyCluster], done: TidyDone) -> dict[str, Any]:
    """Clusters with the fields that a plan is made of, under its names."""
    return {
        "clusters": [
            {
                "kind": output_tidy.plan_kind(one.state_kind),
                "states": [output_tidy.state_for_a_model(member) for member in one.members],
                "pairs": plain(one.pairs),
            }
            for one in near
        ],
        "left_out_count": done.left_out_count,
        "next_page_token": done.next_page_token,
    }


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
    session.show(plain(answer), lambda: output_tidy.applied(answer))
    if any(one.fate is TidyFate.REFUSED for one in answer.outcomes):
        raise typer.Exit(ExitCode.REPEATED)


def turn(session: Session, operation_id: options.OperationId = "") -> None:
    """Count a turn of a conversation. Collections with tidy.enabled are tidied every so many."""
    with session.client() as client:
        answer = client.record_turn(operation_id=operation_id)
    session.show(plain(answer), lambda: output_tidy.turn(answer))
