"""Confirmation of lost commits, in a data directory that no daemon has open.

One operation of kind AcceptLoss records it in the history. Its revision is past all that may have
been given out, so that no number that a client may hold is used again. The log is emptied last:
until then the rest of the lost commits in it still proves the loss, so that a crash leaves the loss
unconfirmed.
"""

from __future__ import annotations

from pathlib import Path

from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import InvalidArgument, NotFound
from totonoe_core.base.ids import new_operation_id
from totonoe_core.store.records import Loss, Touched
from totonoe_core.store.sqlite.catalog import Catalog
from totonoe_core.store.sqlite.collection_file import CollectionFile
from totonoe_core.store.sqlite.loss import KIND


def accept_loss(data_dir: Path, name: str, revisions: str, clock: Clock) -> int:
    """Confirm the loss of a collection's commits; return the revision that records it.

    Raises
    ------
    NotFound
        There is no such collection.
    InvalidArgument
        `revisions` are not the lost ones, or none are lost.
    ReadOnly
        The disk refuses. The loss stands.
    Corruption
        The file is damaged.
    """
    catalog = Catalog(data_dir)
    try:
        uid = catalog.names().get(name)
        if uid is None:
            raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)
        path = catalog.path(uid)
    finally:
        catalog.close()
    file = CollectionFile(path, noted=True)
    try:
        lost = _confirmed(file.commits.loss, revisions)
        _, _, last_us = file.last_numbers()
        # It counts as a change of settings, which everybody may see.
        left_out = (lost.revision + 1, lost.next_revision - 1)
        touched = Touched(settings=True, lost=left_out)
        file.commits.go_on(lost)
        try:
            with file.transaction():
                file.put_operation(
                    lost.next_revision,
                    new_operation_id(),
                    "",
                    KIND,
                    lost.reason,
                    touched,
                    max(last_us + 1, clock()),
                )
            file.empty_log()
        except BaseException:
            file.commits.stay(lost)
            raise
        return lost.next_revision
    finally:
        file.close()


def accept_catalogue_loss(data_dir: Path, revisions: str, clock: Clock) -> int:
    """Confirm the loss of the catalogue's commits; returns and raises as `accept_loss`."""
    catalog = Catalog(data_dir)
    try:
        lost = _confirmed(catalog.loss, revisions)
        catalog.accept_loss(lost, clock())
        return lost.next_revision
    finally:
        catalog.close()


def _confirmed(loss: Loss | None, revisions: str) -> Loss:
    if loss is None or revisions != loss.revisions:
        raise InvalidArgument(
            "OUT_OF_RANGE",
            field="revisions",
            got=repr(revisions),
            allowed="nothing, no acknowledged commit is lost" if loss is None else loss.revisions,
        )
    return loss
