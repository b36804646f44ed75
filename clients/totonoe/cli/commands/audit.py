"""Commands that examine a collection: why-not, audit; and mark pairs: dismiss, undismiss."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options
from totonoe.cli.extensions import Panel, add
from totonoe.cli.options import filtered, text_of
from totonoe.cli.session import ExitCode, Session
from totonoe.cli.show import audit as show
from totonoe.enums import WhyNotOutcome
from totonoe.memories.drafts import FilterFields
from totonoe.words.plain import plain

IdA = Annotated[str, typer.Argument(metavar="ID", help="One memory.")]
IdB = Annotated[str, typer.Argument(metavar="OTHER_ID", help="The other memory.")]


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.EVERYDAY, filtered(why_not))
    add(app, Panel.TIDY_UP, dismiss, undismiss, audit)


def dismiss(
    session: Session,
    id_a: IdA,
    id_b: IdB,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Mark two memories as no duplicates, until one of the two texts changes."""
    with session.client() as client:
        answer = client.dismiss(id_a, id_b, reason=reason, operation_id=operation_id)
    session.show(plain(answer), lambda: show.dismissed(answer))


def undismiss(
    session: Session,
    id_a: IdA,
    id_b: IdB,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Remove the mark that dismiss set."""
    with session.client() as client:
        answer = client.undismiss(id_a, id_b, reason=reason, operation_id=operation_id)
    session.show(plain(answer), lambda: show.undismissed(answer))


def why_not(
    session: Session,
    memory_id: Annotated[
        str, typer.Argument(metavar="ID", help="Memory that the recall did not return.")
    ],
    text: options.Text,
    conditions: FilterFields,
    k: Annotated[int, typer.Option("-k", "--k", help="Number of hits, 1 to 1,000.")] = 10,
    mode: Annotated[
        str | None, typer.Option(help="hybrid, vector or lexical. Default: hybrid.")
    ] = None,
    no_diversity: Annotated[
        bool, typer.Option("--no-diversity", help="Order by relevance alone.")
    ] = False,
    min_relevance: options.MinRelevance = 0.0,
    no_fold: options.NoFold = False,
) -> None:
    """Explain why a recall does not return a memory, or at which place it does.

    Exit code 1 if there is no such memory.
    """
    from totonoe.memories.models import DiversityPolicy

    query = text_of(text)
    with session.client() as client:
        answer = client.why_not(
            memory_id,
            query,
            k=k,
            mode=options.word(mode),
            diversity=DiversityPolicy(enabled=False) if no_diversity else None,
            min_relevance=min_relevance,
            fold=not no_fold,
            **conditions,
        )
    session.show(plain(answer), lambda: show.why_not(answer))
    if answer.outcome is WhyNotOutcome.NOT_THERE:
        raise typer.Exit(ExitCode.FAILED)


def audit(
    session: Session,
    days: Annotated[
        int | None, typer.Option(help="Days in which writes are counted, 1 to 3,650. Default: 30.")
    ] = None,
    confidence_below: Annotated[
        float | None,
        typer.Option(help="Below this a memory counts as hidden by decay. Default: 0.3."),
    ] = None,
) -> None:
    """Report how healthy the collection is.

    Takes some seconds, and changes nothing.
    """
    with session.client() as client:
        answer = client.audit(days=days, confidence_below=confidence_below)
    session.show(plain(answer), lambda: show.audit(answer))
