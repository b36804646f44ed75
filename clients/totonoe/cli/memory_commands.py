"""Commands that write, read and link memories."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options, output
from totonoe.cli.options import filtered, given, json_object, moment, text_of
from totonoe.cli.plain import checked_json, plain, recalled_json, remembered_json
from totonoe.cli.session import ExitCode, Session, shared
from totonoe.drafts import EditableFields, FilterFields

Source = Annotated[str, typer.Argument(help="Memory that holds the link.")]
Target = Annotated[str, typer.Argument(help="Memory at the other end.")]


def register(app: typer.Typer) -> None:
    """Joins these commands to `app`."""
    for command in (remember, check, filtered(recall), get, filtered(list_), update, link, unlink):
        app.command(command.__name__.rstrip("_"))(shared(command))


def remember(
    session: Session,
    text: options.Text,
    kind: options.Kind = None,
    state_kind: options.StateKind = None,
    category: options.Category = None,
    tags: options.Tags = None,
    importance: options.Importance = None,
    confidence: options.Confidence = None,
    emotion: options.Emotion = None,
    session_id: options.SessionId = None,
    thread_id: options.ThreadId = None,
    entities: options.Entities = None,
    private: options.Private = None,
    force: options.Force = False,
    attributes: options.Attributes = None,
    payload: options.Payload = None,
    external_id: options.ExternalId = None,
    created: options.Created = None,
    key: options.KeyText = None,
    on_update: options.OnUpdate = None,
    on_contradiction: options.OnContradiction = None,
    on_refinement: options.OnRefinement = None,
    supersede: options.Supersede = None,
    operation_id: options.OperationId = "",
) -> None:
    """Save a memory, unless a live one says the same (exit code 3)."""
    fields = given(
        kind=kind,
        state_kind=state_kind,
        category=category,
        tags=tags,
        importance=importance,
        confidence=confidence,
        emotion=emotion,
        session_id=session_id,
        thread_id=thread_id,
        entities=entities,
        private=private,
        attributes=json_object(attributes, "--attributes"),
        payload=json_object(payload, "--payload"),
        external_id=external_id,
        created_time=moment(created, "--created"),
        key=options.key_of(key),
        on_update=on_update,
        on_contradiction=on_contradiction,
        on_refinement=on_refinement,
        supersede_ids=supersede,
    )
    content = text_of(text)
    with session.client() as client:
        answer = client.remember(content, force=force, operation_id=operation_id, **fields)
    session.show(remembered_json(answer), lambda: output.remembered(answer))
    if not answer.saved:
        raise typer.Exit(ExitCode.REPEATED)


def check(
    session: Session,
    text: options.Text,
    kind: options.Kind = None,
    state_kind: options.StateKind = None,
    session_id: options.SessionId = None,
    payload: options.Payload = None,
    supersede: options.Supersede = None,
) -> None:
    """Tell what remember would answer; save nothing. Exit code 3 if it would refuse."""
    fields = given(
        kind=kind,
        state_kind=state_kind,
        session_id=session_id,
        payload=json_object(payload, "--payload"),
        supersede_ids=supersede,
    )
    content = text_of(text)
    with session.client() as client:
        answer = client.check(content, **fields)
    session.show(checked_json(answer), lambda: output.checked(answer))
    if not answer.would_save:
        raise typer.Exit(ExitCode.REPEATED)


def recall(
    session: Session,
    text: options.Text,
    conditions: FilterFields,
    k: Annotated[int, typer.Option("-k", "--k", help="How many hits, 1 to 1,000.")] = 10,
    mode: Annotated[
        str | None, typer.Option(help="hybrid, vector or lexical. Default: hybrid.")
    ] = None,
    no_diversity: Annotated[
        bool, typer.Option("--no-diversity", help="In order of rank, however alike.")
    ] = False,
    no_touch: Annotated[
        bool, typer.Option("--no-touch", help="Do not count this as an access.")
    ] = False,
    vectors: options.Vectors = False,
    as_of: options.AsOf = None,
) -> None:
    """Find memories by meaning and by words."""
    from totonoe.admin_models import DiversityPolicy

    query = text_of(text)
    with session.client() as client:
        answer = client.recall(
            query,
            k=k,
            mode=mode,
            diversity=DiversityPolicy(enabled=False) if no_diversity else None,
            include_vectors=vectors,
            no_touch=no_touch,
            as_of=options.as_of(as_of),
            **conditions,
        )
    session.show(recalled_json(answer), lambda: output.recalled(answer))


def get(
    session: Session,
    ids: options.Ids,
    vectors: options.Vectors = False,
    as_of: options.AsOf = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Of a superseded memory the one in its place.")
    ] = False,
) -> None:
    """Show memories by id. Exit code 1 if one is missing."""
    with session.client() as client:
        answer = client.get_many(
            ids, include_vectors=vectors, as_of=options.as_of(as_of), follow_superseded=follow
        )
    session.show(plain(answer), lambda: output.got(answer))
    if answer.missing_ids:
        raise typer.Exit(ExitCode.FAILED)


def list_(
    session: Session,
    conditions: FilterFields,
    limit: options.Limit = 100,
    page_token: options.PageToken = "",
    vectors: options.Vectors = False,
    as_of: options.AsOf = None,
) -> None:
    """Show one page of memories, oldest first."""
    with session.client() as client:
        page = client.list(
            page_size=limit,
            page_token=page_token,
            include_vectors=vectors,
            as_of=options.as_of(as_of),
            **conditions,
        )
    session.show(plain(page), lambda: output.listed(page))


def update(
    session: Session,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="Memory to change.")],
    content: Annotated[
        str | None, typer.Option(help="New text; passes the guard. `-` reads standard input.")
    ] = None,
    state_kind: options.StateKind = None,
    category: options.Category = None,
    tags: options.Tags = None,
    importance: options.Importance = None,
    confidence: options.Confidence = None,
    emotion: options.Emotion = None,
    session_id: options.SessionId = None,
    thread_id: options.ThreadId = None,
    entities: options.Entities = None,
    private: options.Private = None,
    attributes: options.Attributes = None,
    payload: options.Payload = None,
    external_id: options.ExternalId = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(help="Field to set back to its default, for instance tags; may be repeated."),
    ] = None,
    expected_revision: options.ExpectedRevision = 0,
    reason: options.Reason = "",
    force: options.Force = False,
    operation_id: options.OperationId = "",
) -> None:
    """Change the fields that are given. Exit code 3 if the new text repeats another memory."""
    fields = given(
        content=None if content is None else text_of(content),
        state_kind=state_kind,
        category=category,
        tags=tags,
        importance=importance,
        confidence=confidence,
        emotion=emotion,
        session_id=session_id,
        thread_id=thread_id,
        entities=entities,
        private=private,
        attributes=json_object(attributes, "--attributes"),
        payload=json_object(payload, "--payload"),
        external_id=external_id,
    )
    for name in clear or ():
        if name in fields or name not in EditableFields.__annotations__:
            allowed = ", ".join(sorted(EditableFields.__annotations__))
            raise ValueError(f"--clear: got {name!r}, allowed: one not set beside it, of {allowed}")
        fields[name] = None
    if not fields:
        raise ValueError("nothing to change: name at least one field")
    with session.client() as client:
        answer = client.update(
            memory_id,
            expected_revision=expected_revision,
            reason=reason,
            force=force,
            operation_id=operation_id,
            **fields,
        )
    session.show(plain(answer), lambda: output.updated(answer))
    if not answer.updated:
        raise typer.Exit(ExitCode.REPEATED)


def link(
    session: Session,
    source: Source,
    target: Target,
    link_type: options.LinkKind = None,
    confidence: Annotated[float | None, typer.Option(help="0 to 1. Default: 0.5.")] = None,
    note: Annotated[str, typer.Option(help="Free text.")] = "",
    operation_id: options.OperationId = "",
) -> None:
    """Link two memories, both directions at once, or change their link."""
    with session.client() as client:
        answer = client.link(
            source,
            target,
            link_type,
            confidence=confidence,
            note=note,
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: output.linked(answer))


def unlink(
    session: Session,
    source: Source,
    target: Target,
    link_type: options.LinkKind = None,
    operation_id: options.OperationId = "",
) -> None:
    """Take a link away, both directions at once. Without --type: every link of the two."""
    with session.client() as client:
        answer = client.unlink(source, target, link_type, operation_id=operation_id)
    session.show(plain(answer), lambda: output.unlinked(answer))
