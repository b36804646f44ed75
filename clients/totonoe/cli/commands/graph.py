"""Commands about links, neighbours, merges and episodes."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options
from totonoe.cli.extensions import Panel, add, add_group
from totonoe.cli.options import moment, since_until, text_of
from totonoe.cli.session import ExitCode, Session
from totonoe.cli.show import graph as show
from totonoe.words.plain import plain

EpisodeId = Annotated[str, typer.Argument(metavar="ID", help="Id of the episode.")]


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.EVERYDAY, neighbors, link, unlink)
    add(app, Panel.TIDY_UP, merge)
    add_group(app, Panel.EVERYDAY, episodes, list_, create, show_, delete)


def neighbors(
    session: Session,
    ids: options.Ids,
    depth: Annotated[int, typer.Option(help="Maximum of links to follow, 1 to 5.")] = 1,
    limit: Annotated[int, typer.Option(help="Maximum of memories, 1 to 1,000.")] = 50,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="Follow only links of this type; may be repeated."),
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(help="Follow only links of at least this confidence.")
    ] = 0.0,
    hop_decay: Annotated[
        float | None, typer.Option(help="Factor for each link, above 0 to 1. Default: 0.5.")
    ] = None,
    vectors: options.Vectors = False,
) -> None:
    """Show the memories that links lead to, the nearest first."""
    with session.client() as client:
        answer = client.neighbors(
            ids,
            depth=depth,
            limit=limit,
            types=options.word(types) or (),
            min_confidence=min_confidence,
            hop_decay=hop_decay,
            include_vectors=vectors,
        )
    session.show(plain(answer), lambda: show.neighbors(answer))


def merge(
    session: Session,
    keep: Annotated[str, typer.Argument(help="Memory that stays.")],
    remove: Annotated[list[str], typer.Argument(help="Memories that it supersedes.")],
    content: Annotated[
        str | None,
        typer.Option(help="Text of the merged memory; `-` reads standard input. Default: KEEP's."),
    ] = None,
    reason: options.Reason = "",
    force: Annotated[
        bool, typer.Option("--force", help="Merge even if the text repeats another memory.")
    ] = False,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=REVISION", help="Fail unless the memory has this revision; may be repeated."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the memory and what its text would lose.")
    ] = False,
    operation_id: options.OperationId = "",
) -> None:
    """Merge several memories into one.

    Exit code 3 if the new text repeats another memory.
    """
    expected_revisions = options.expectations(expect)
    text = "" if content is None else text_of(content)
    if content is not None and not text:
        raise ValueError("--content: got an empty text, allowed: a text, or leave it out")
    with session.client() as client:
        answer = client.merge(
            keep,
            remove,
            content=text,
            reason=reason,
            expected_revisions=expected_revisions,
            force=force,
            dry_run=dry_run,
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: show.merged(answer))
    if not answer.merged:
        raise typer.Exit(ExitCode.REPEATED)


def episodes(session: Session) -> None:
    """Create, show, list and delete episodes: the memories of one event."""


def list_(
    session: Session,
    since: Annotated[str | None, typer.Option(help="Ending after this time, ISO 8601.")] = None,
    until: Annotated[str | None, typer.Option(help="Begun before this time, ISO 8601.")] = None,
    memory: Annotated[
        str, typer.Option(metavar="ID", help="Only episodes that contain this memory.")
    ] = "",
    limit: options.Limit = 100,
    page_token: options.PageToken = "",
) -> None:
    """Show one page of episodes, earliest first."""
    with session.client() as client:
        page = client.list_episodes(
            time=since_until(since, until),
            memory_id=memory,
            page_size=limit,
            page_token=page_token,
        )
    session.show(plain(page), lambda: show.episodes(page))


def create(
    session: Session,
    summary: Annotated[str, typer.Argument(help="Summary of the event; `-` reads standard input.")],
    ids: Annotated[list[str], typer.Argument(help="Its memories, in their order.")],
    start: Annotated[
        str | None, typer.Option(help="When it began, ISO 8601. Default: its first memory.")
    ] = None,
    end: Annotated[
        str | None, typer.Option(help="When it ended, ISO 8601. Default: its last memory.")
    ] = None,
    importance: options.Importance = None,
    private: options.Private = None,
    operation_id: options.OperationId = "",
) -> None:
    """Keep the memories of one event together."""
    start_time, end_time = moment(start, "--start"), moment(end, "--end")
    text = text_of(summary)
    with session.client() as client:
        answer = client.create_episode(
            text,
            ids,
            start_time=start_time,
            end_time=end_time,
            importance=importance,
            private=bool(private),
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: show.episode_made(answer))


def show_(
    session: Session,
    episode_id: EpisodeId,
    memories: Annotated[bool, typer.Option("--memories", help="Show the memories too.")] = False,
) -> None:
    """Show an episode.

    In place of a superseded memory it shows the newer one.
    """
    with session.client() as client:
        answer = client.get_episode(episode_id, include_memories=memories)
    session.show(plain(answer), lambda: show.episode(answer))


def delete(
    session: Session,
    episode_id: EpisodeId,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Delete an episode; its memories stay."""
    with session.client() as client:
        answer = client.delete_episode(episode_id, reason=reason, operation_id=operation_id)
    session.show(plain(answer), lambda: show.episode_deleted(answer))


Source = Annotated[str, typer.Argument(help="Memory that holds the link.")]


Target = Annotated[str, typer.Argument(help="Memory at the other end.")]


def link(
    session: Session,
    source: Source,
    target: Target,
    link_type: options.LinkKind = None,
    confidence: Annotated[float | None, typer.Option(help="0 to 1. Default: 0.5.")] = None,
    note: Annotated[str, typer.Option(help="Free text.")] = "",
    operation_id: options.OperationId = "",
) -> None:
    """Link two memories in both directions, or change their link."""
    with session.client() as client:
        answer = client.link(
            source,
            target,
            options.word(link_type),
            confidence=confidence,
            note=note,
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: show.linked(answer))


def unlink(
    session: Session,
    source: Source,
    target: Target,
    link_type: options.LinkKind = None,
    operation_id: options.OperationId = "",
) -> None:
    """Remove links between two memories, in both directions.

    Without --type: every link between the two.
    """
    with session.client() as client:
        answer = client.unlink(source, target, options.word(link_type), operation_id=operation_id)
    session.show(plain(answer), lambda: show.unlinked(answer))
