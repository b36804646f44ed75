"""Format of an export file: JSON lines.

    header      source and settings of the file
    memory      by row number
    link        by the row numbers of its ends, each pair of link and inverse once
    episode     by start and id
    dismissal   by row numbers
    end         number of lines of each kind, and a checksum over all lines before it

Pure: records to bytes (`writing`) and back (`reading`). `docs/export.md` shows every field. Times
are whole microseconds, floats the shortest digits that give the same double, vectors base64 of
little-endian float32, so that every value comes back bit for bit.
"""

FORMAT = "totonoe"
VERSION = 1
KINDS = ("memory", "link", "episode", "dismissal")
"""Kinds of records, in their order in the file."""
