"""Calls about memories: saving, finding, reading, changing, forgetting and linking them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from totonoe.call.base import Calls
from totonoe.enums import LinkTypeWord, RecallModeWord
from totonoe.memories import models, streams
from totonoe.memories.bulk import Items, Window
from totonoe.memories.drafts import Draft, FilterFields, RememberFields, UpdateFields, Vector
from totonoe.memories.encoding import (
    encode_as_of,
    encode_draft,
    encode_filter,
    item_request,
    only_of,
    type_of,
)
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.v1 import types_pb2
from totonoe.wire.mapping import encode
from totonoe.wire.scalars import encode_ids, encode_texts


class MemoryCalls(Calls):
    """Calls about memories."""

    def remember(
        self,
        content: str,
        *,
        force: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[RememberFields],
    ) -> models.Remembered:
        """Saves a memory, or returns the one that says the same already. A refusal is no error.

        Parameters
        ----------
        content : str
            Text of at most 32 KiB.
        force : bool
            Save even if the guard would refuse.
        **fields
            `kind`, `tags`, `importance`, `on_update` and the others of `totonoe.Draft`.
        """
        draft = Draft(
            content, force=force, operation_id=operation_id, collection=collection, **fields
        )
        return self._run(item_request(self._caller, draft), models.Remembered, timeout_s)

    def check(
        self,
        content: str,
        *,
        collection: str | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[RememberFields],
    ) -> models.Checked:
        """Returns the answer that `remember` would give now. Saves nothing."""
        draft = Draft(content, **fields)
        request = self._request(
            memory_pb.CheckRequest,
            collection=collection,
            memory=encode_draft(draft),
            on_update=draft.on_update,
            on_contradiction=draft.on_contradiction,
            on_refinement=draft.on_refinement,
            on_contained=draft.on_contained,
            supersede_ids=draft.supersede_ids,
            distinct_from=draft.distinct_from,
            cosine_distance_below=draft.cosine_distance_below,
        )
        return self._run(request, models.Checked, timeout_s)

    def remember_many(
        self,
        items: Items,
        *,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> Iterator[models.ItemResult]:
        """Saves many memories over one stream; results come in the order of the items.

        Items are read ahead, a few hundred at most: for input that trickles in, call `remember`.
        An item that fails has its error in its own result, and the rest goes on. Give up early
        by closing the iterator.

        Parameters
        ----------
        items : iterable of str or Draft
            Read on the calling thread. A draft may name a collection of its own.
        timeout_s : float or None
            Seconds to wait for each answer, not for the whole stream.

        Raises
        ------
        TotonoeError
            The stream failed for good. Results given before stand; the same operation ids in a
            second call do nothing twice.
        ValueError, TypeError
            An item cannot be sent.
        """
        window = Window(partial(item_request, self._caller), collection)
        return streams.remember_all(self, window, items, timeout_s)

    def recall(
        self,
        text: str = "",
        *,
        vector: Vector = None,
        k: int = 10,
        mode: RecallModeWord | None = None,
        diversity: models.DiversityPolicy | None = None,
        min_relevance: float = 0.0,
        fold: bool = True,
        include_vectors: bool = False,
        no_touch: bool = False,
        as_of: int | datetime | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> models.Recalled:
        """Finds memories by meaning and by words; best first.

        Parameters
        ----------
        text : str
            Query. At least one of `text` and `vector` must be given.
        vector : bytes, sequence of float or buffer
            Wins over the text's own vector; the text still serves the lexical arm.
        k : int
            How many hits, 1 to 1,000.
        mode : RecallMode or str or None
            Arms that run; `None`: both.
        diversity : DiversityPolicy or None
            Replaces the collection's, field by field.
        min_relevance : float
            Leave out hits of lower `relevance`, 0 to 1.
        fold : bool
            Show memories that are probably the same as one hit, the newest, with the others in its
            `also`.
        no_touch : bool
            Do not count this as an access.
        as_of : int or datetime or None
            Search what was there right after this revision, or at this time; counts no access.
        **conditions
            `kinds`, `tags`, `created`, `min_confidence` and the others of a filter.
        """
        request = self._request(
            memory_pb.RecallRequest,
            text=text,
            vector=vector,
            k=k,
            mode=mode,
            diversity=diversity,
            min_relevance=min_relevance,
            fold=fold,
            include_vectors=include_vectors,
            no_touch=no_touch,
            as_of=encode_as_of(as_of),
            filter=encode_filter(conditions),
            collection=collection,
        )
        return self._run(request, models.Recalled, timeout_s)

    def get(
        self,
        memory_id: str,
        *,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        follow_superseded: bool = False,
        touch: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Memory:
        """Returns a memory by its id, or by `ext:` and its external id. Raises `NotFound`.

        Parameters
        ----------
        as_of : int or datetime or None
            As it was right after this revision, or at this time, links included.
        follow_superseded : bool
            In place of a superseded memory the one that took its place, to the last.
        touch : bool
            Count this as an access, which also puts `expires_time` off.
        """
        request = self._request(
            memory_pb.GetRequest,
            ids=[memory_id],
            include_vectors=include_vectors,
            as_of=encode_as_of(as_of),
            follow_superseded=follow_superseded,
            touch=touch,
            collection=collection,
        )
        return self._run(request, only_of(memory_id), timeout_s)

    def get_many(
        self,
        ids: Iterable[str],
        *,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        follow_superseded: bool = False,
        touch: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Found:
        """Returns memories by id, in the order of the ids.

        Of several, unknown ones are listed; a single unknown one raises `NotFound`. `as_of`,
        `follow_superseded` and `touch` as for `get`.
        """
        request = self._request(
            memory_pb.GetRequest,
            ids=ids,
            include_vectors=include_vectors,
            as_of=encode_as_of(as_of),
            follow_superseded=follow_superseded,
            touch=touch,
            collection=collection,
        )
        return self._run(request, models.Found, timeout_s)

    def list(
        self,
        *,
        page_size: int = 100,
        page_token: str = "",
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        touch: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> models.Page:
        """Returns a page of memories by creation time, then id; `page_size` 1 to 1,000.

        `as_of`: what was there right after this revision, or at this time. `touch`: count this as
        an access, which also puts `expires_time` off.
        """
        request = self._request(
            memory_pb.ListRequest,
            page_size=page_size,
            page_token=page_token,
            include_vectors=include_vectors,
            as_of=encode_as_of(as_of),
            touch=touch,
            filter=encode_filter(conditions),
            collection=collection,
        )
        return self._run(request, models.Page, timeout_s)

    def list_all(
        self,
        *,
        page_size: int = 100,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> Iterator[models.Memory]:
        """Yields all memories that meet the conditions, page by page; `timeout_s` is per page."""
        page_token = ""
        while True:
            page = self.list(
                page_size=page_size,
                page_token=page_token,
                include_vectors=include_vectors,
                as_of=as_of,
                collection=collection,
                timeout_s=timeout_s,
                **conditions,
            )
            yield from page.memories
            page_token = page.next_page_token
            if not page_token:
                return

    def list_namespaces(
        self,
        *,
        prefix: Iterable[str] = (),
        suffix: Iterable[str] = (),
        patterns: Iterable[models.NamespacePattern] = (),
        max_depth: int = 0,
        limit: int = 100,
        offset: int = 0,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> models.NamespacePage:
        """Returns the distinct namespaces of memories, in the order of their names.

        Parameters
        ----------
        prefix, suffix : iterable of str
            Names at the beginning and at the end; `*` stands for any one name.
        patterns : iterable of NamespacePattern
            More of them; all are to be met.
        max_depth : int
            Cut longer namespaces to so many names, 1 to 16. 0: do not.
        limit, offset : int
            How many, 1 to 1,000, and how many to leave out before.
        **conditions
            Which memories count: `tags`, `categories` and the others of a filter.
        """
        ends = [
            models.NamespacePattern(tuple(encode_texts(names, name)), name == "suffix")
            for name, names in (("prefix", prefix), ("suffix", suffix))
        ]
        request = self._request(
            memory_pb.ListNamespacesRequest,
            filter=encode_filter(conditions),
            patterns=[*(pattern for pattern in ends if pattern.names), *patterns],
            max_depth=max_depth,
            limit=limit,
            offset=offset,
            collection=collection,
        )
        return self._run(request, models.NamespacePage, timeout_s)

    def update(
        self,
        memory_id: str,
        *,
        expected_revision: int = 0,
        reason: str = "",
        force: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[UpdateFields],
    ) -> models.Updated:
        """Changes the fields that are named; `None` sets one back to its default.

        Parameters
        ----------
        expected_revision : int
            Raise `StaleRevision` unless the memory is at it. 0: whatever it is at.
        reason : str
            Why, for the history.
        force : bool
            Change the text even if it then repeats another live memory.
        """
        request = self._request(
            memory_pb.UpdateRequest,
            memory_id=memory_id,
            memory=encode(types_pb2.MemoryDraft, fields),
            update_mask=FieldMask(paths=sorted(fields)),
            expected_revision=expected_revision,
            reason=reason,
            force=force,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Updated, timeout_s)

    def forget(
        self,
        ids: str | Iterable[str] = (),
        *,
        reason: str = "",
        dry_run: bool = False,
        expected_revisions: Mapping[str, int] | None = None,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> models.Forgotten:
        """Hides memories and removes their links; `undo` restores them.

        Of several ids unknown ones are listed; a single unknown one raises `NotFound`.

        Parameters
        ----------
        ids : str or iterable of str
            Memories to forget. Without ids, conditions show in a dry run what would go.
        expected_revisions : mapping of str to int or None
            Raise `StaleRevision` unless these memories are at these revisions: with those of
            a dry run exactly what it showed is forgotten.
        **conditions
            Those of a filter; only with `dry_run` and without ids.
        """
        named = encode_ids(ids, "ids")
        if conditions and (named or not dry_run):
            raise ValueError("conditions: allowed: without ids and with dry_run=True")
        request = self._request(
            memory_pb.ForgetRequest,
            ids=named,
            reason=reason,
            dry_run=dry_run,
            filter=encode_filter(conditions),
            expected_revisions=expected_revisions,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Forgotten, timeout_s)

    def link(
        self,
        source_id: str,
        target_id: str,
        link_type: LinkTypeWord | None = None,
        *,
        confidence: float | None = None,
        note: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Linked:
        """Links two memories, both directions at once. `None`: related, confidence 0.5."""
        request = self._request(
            memory_pb.LinkRequest,
            source_id=source_id,
            target_id=target_id,
            type=type_of(link_type),
            confidence=confidence,
            note=note,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Linked, timeout_s)

    def unlink(
        self,
        source_id: str,
        target_id: str,
        link_type: LinkTypeWord | None = None,
        *,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Unlinked:
        """Removes a link, both directions at once. `None`: every link of the two."""
        request = self._request(
            memory_pb.UnlinkRequest,
            source_id=source_id,
            target_id=target_id,
            type=type_of(link_type),
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Unlinked, timeout_s)
