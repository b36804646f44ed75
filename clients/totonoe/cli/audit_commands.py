"""Commands about what was found or left out: dismiss, undismiss, why-not, audit."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options, output_audit
from totonoe.cli.options import filtered, text_of
from totonoe.cli.plain import plain
from totonoe.cli.session import ExitCode, Session, shared
from totonoe.drafts import FilterFields
from totonoe.enums import WhyNotOutcome

IdA = Annotated[str, typer.Argument(metavar="ID", help="One memory.")]
IdB = Annotated[str, typer.Argument(metavar="OTHER_ID", help="The other memory.")]


def register(app: typer.Typer) -> None:
    """Joins these commands to `app`."""
    app.command()(shared(dismiss))
    app.command()(shared(undismiss))
    app.command(name="why-not")(shared(filtered(why_not)))
    app.command()(shared(audit))


def dismiss(
    session: Session,
    id_a: IdA,
    id_b: IdB,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Say that two memories are no duplicates, until one of the two texts changes."""
    with session.client() as client:
        answer = client.dismiss(id_a, id_b, reason=reason, operation_id=operation_id)
    session.show(plain(answer), lambda: output_audit.dismissed(answer))


def undismiss(
    session: Session,
    id_a: IdA,
    id_b: IdB,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Take back what dismiss said of two memories."""
    with session.client() as client:
        answer = client.undismiss(id_a, id_b, reason=reason, operation_id=operation_id)
    session.show(plain(answer), lambda: output_audit.undismissed(answer))


def why_not(
    session: Session,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="The memory that did not come.")],
    text: options.Text,
    conditions: FilterFields,
    k: Annotated[int, typer.Option("-k", "--k", help="How many hits, 1 to 1,000.")] = 10,
    mode: Annotated[
        str | None, typer.Option(help="hybrid, vector or lexical. Default: hybrid.")
    ] = None,
    no_diversity: Annotated[
        bool, typer.Option("--no-diversity", help="In order of rank, however alike.")
    ] = False,
) -> None:
    """Tell why a memory does not come in a recall, or where. Exit code 1 if there is none such."""
    from totonoe.admin_models import DiversityPolicy

    query = text_of(text)
    with session.client() as client:
        answer = client.why_not(
            memory_id,
            query,
            k=k,
            mode=mode,
            diversity=DiversityPolicy(enabled=False) if no_diversity else None,
            **conditions,
        )
    session.show(plain(answer), lambda: output_audit.why_not(answer))
    if answer.outcome is WhyNotOutcome.NOT_THERE:
        raise typer.Exit(ExitCode.FAILED)


def audit(
    session: Session,
    days: Annotated[
        int | None, typer.Option(help="How far back writes are counted, 1 to 3,650. Default: 30.")
    ] = None,
    confidence_below: Annotated[
        float | None,
        typer.Option(help="Below this a memory counts as hidden by decay. Default: 0.3."),
    ] = None,
) -> None:
    """Show how healthy the collection is. Takes some seconds, and changes nothing."""
    with session.client() as client:
        answer = client.audit(days=days, confidence_below=confidence_below)
    session.show(plain(answer), lambda: output_audit.audit(answer))
