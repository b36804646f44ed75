"""Translation between messages of the wire and dataclasses."""
