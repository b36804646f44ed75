"""ListNamespaces."""

from __future__ import annotations

from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.base.errors import over_limit
from totonoe_core.domain.queries import (
    Namespace,
    NamespacePage,
    NamespacePattern,
    NamespacesQuery,
)
from totonoe_server.wire.mapping import decoder, encoder
from totonoe_server.wire.memories import filter_from_wire

_pattern_from_wire = decoder(pb.NamespacePattern, NamespacePattern)


def _patterns_from_wire(request: pb.ListNamespacesRequest, _: str) -> tuple[NamespacePattern, ...]:
    """Return the patterns, checked for their number before any is looked at."""
    if len(request.patterns) > limits.NAMESPACE_PATTERNS_MAX:
        raise over_limit("patterns", len(request.patterns), limits.NAMESPACE_PATTERNS_MAX)
    return tuple(map(_pattern_from_wire, request.patterns))


namespaces_from_wire = decoder(
    pb.ListNamespacesRequest,
    NamespacesQuery,
    computed={
        "filter": lambda request, _: filter_from_wire(request.filter),
        "patterns": _patterns_from_wire,
        "limit": lambda request, _: request.limit or limits.PAGE_SIZE_DEFAULT,
    },
)
_namespace_to_wire = encoder(Namespace, pb.Namespace)
namespaces_to_wire = encoder(NamespacePage, pb.ListNamespacesResponse)
