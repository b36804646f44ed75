"""Read a text into pieces, in any of the languages that have a reader.

    language   which language a text is in, by script and function words
    model      Piece, Reading: what every reader gives
    read       the way in: picks the reader, keeps recent readings
    values     numbers, quantities, dates, times, versions, identifiers, paths, quotations
    english, japanese, chinese, european, korean
               text -> Reading, by `read`

A reading knows nothing of similarity or policy; `guard.verdict` compares two of them.
"""
