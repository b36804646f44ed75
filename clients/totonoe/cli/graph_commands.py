"""Commands about several memories together: neighbors, merge, episodes."""

from __future__ import annotations

from typing import Annotated

import typer

from totonoe.cli import options, output_graph
from totonoe.cli.options import moment, since_until, text_of
from totonoe.cli.plain import plain
from totonoe.cli.session import ExitCode, Session, shared

EpisodeId = Annotated[str, typer.Argument(metavar="ID", help="Which episode.")]


def register(app: typer.Typer) -> None:
    """Joins these commands to `app`."""
    app.command()(shared(neighbors))
    app.command()(shared(merge))
    group = typer.Typer(no_args_is_help=True)
    group.callback()(shared(episodes))
    for command in (list_, create, show, delete):
        group.command(command.__name__.rstrip("_"))(shared(command))
    app.add_typer(group, name="episodes")


def neighbors(
    session: Session,
    ids: options.Ids,
    depth: Annotated[int, typer.Option(help="How many links away, 1 to 5.")] = 1,
    limit: Annotated[int, typer.Option(help="How many at most, 1 to 1,000.")] = 50,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="Follow only links of this type; may be repeated."),
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(help="Follow only links of at least this confidence.")
    ] = 0.0,
    hop_decay: Annotated[
        float | None, typer.Option(help="What is left after each link, above 0 to 1. Default: 0.5.")
    ] = None,
    vectors: options.Vectors = False,
) -> None:
    """Show what links lead to from some memories, by spreading activation."""
    with session.client() as client:
        answer = client.neighbors(
            ids,
            depth=depth,
            limit=limit,
            types=types or (),
            min_confidence=min_confidence,
            hop_decay=hop_decay,
            include_vectors=vectors,
        )
    session.show(plain(answer), lambda: output_graph.neighbors(answer))


def merge(
    session: Session,
    keep: Annotated[str, typer.Argument(help="Memory that stays.")],
    remove: Annotated[list[str], typer.Argument(help="Memories that it takes the place of.")],
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
            metavar="ID=REVISION", help="Fail unless it is at this revision; may be repeated."
        ),
    ] = None,
    operation_id: options.OperationId = "",
) -> None:
    """Make one memory of several. Exit code 3 if the new text repeats another memory."""
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
            operation_id=operation_id,
        )
    session.show(plain(answer), lambda: output_graph.merged(answer))
    if not answer.merged:
        raise typer.Exit(ExitCode.REPEATED)


def episodes(session: Session) -> None:
    """Make, show, list and delete episodes: memories that tell one thing that happened."""


def list_(
    session: Session,
    since: Annotated[str | None, typer.Option(help="Not over by this time, ISO 8601.")] = None,
    until: Annotated[str | None, typer.Option(help="Begun before this time, ISO 8601.")] = None,
    memory: Annotated[
        str, typer.Option(metavar="ID", help="Only those that hold this memory.")
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
    session.show(plain(page), lambda: output_graph.episodes(page))


def create(
    session: Session,
    summary: Annotated[str, typer.Argument(help="What happened; `-` reads standard input.")],
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
    """Keep memories together as something that happened."""
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
    session.show(plain(answer), lambda: output_graph.episode_made(answer))


def show(
    session: Session,
    episode_id: EpisodeId,
    memories: Annotated[
        bool, typer.Option("--memories", help="With the memories themselves.")
    ] = False,
) -> None:
    """Show an episode. Of superseded memories it holds those in their place."""
    with session.client() as client:
        answer = client.get_episode(episode_id, include_memories=memories)
    session.show(plain(answer), lambda: output_graph.episode(answer))


def delete(
    session: Session,
    episode_id: EpisodeId,
    reason: options.Reason = "",
    operation_id: options.OperationId = "",
) -> None:
    """Take an episode away; its memories stay."""
    with session.client() as client:
        answer = client.delete_episode(episode_id, reason=reason, operation_id=operation_id)
    session.show(plain(answer), lambda: output_graph.episode_deleted(answer))
