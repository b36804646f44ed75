"""Making a call: connection, tries, streams, errors of the wire."""
