"""Names of the contract's services and paths of their methods, read from the descriptors."""

from __future__ import annotations

from totonoe.v1 import admin_service_pb2, memory_service_pb2
from totonoe.v1.memory_service_pb2_grpc import MemoryServiceServicer

_SERVICES = (
    *memory_service_pb2.DESCRIPTOR.services_by_name.values(),
    *admin_service_pb2.DESCRIPTOR.services_by_name.values(),
)
SERVICES = tuple(service.full_name for service in _SERVICES)
PATHS = {
    f"/{service.full_name}/{method.name}": method
    for service in _SERVICES
    for method in service.methods
}
"""Each method by its path, as gRPC names it."""


def _path(name: str) -> str:
    (path,) = (path for path, method in PATHS.items() if method.name == name)
    return path


WATCH = _path(MemoryServiceServicer.Watch.__name__)
MULTIPLEX = _path(MemoryServiceServicer.Multiplex.__name__)
