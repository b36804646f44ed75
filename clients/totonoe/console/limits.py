"""Limits of the console: each list, text, queue and loop of a page has one here."""

from __future__ import annotations

LOGIN_S = 60.0
"""Seconds in which the address of a login is good."""
LOGINS_MAX = 32
"""Logins that are open at once; the oldest ends."""
SESSION_S = 12 * 3600.0
SESSIONS_MAX = 32
"""Browsers that are signed in at once; the oldest session ends."""
FORM_BYTES_MAX = 256 * 1024
"""Of the body of a POST: a text of 32 KiB takes up to 96 KiB in it."""
FORM_FIELDS_MAX = 500
QUERY_BYTES_MAX = 64 * 1024
COOKIES_MAX = 16
MESSAGES_MAX = 50
"""Messages about what was done that a session keeps for its pages."""
ANSWERS_MAX = 200
"""Answers that a session can take back with the key."""
LATER_MAX = 1_000
"""Pairs that a session has put off."""
DESKS_MAX = 16
"""Collections for which a session keeps answers, pairs put off and pairs found."""
PAIRS_FOUND_MAX = 200
"""Pairs that a search for more pairs keeps for the session."""
PAIRS_AHEAD_MAX = 1_000
"""Place up to which somebody can leaf through the pairs."""
QUESTION_PAGES_MAX = 60
"""Calls that one page makes at most to find its pair."""
SOON_DAYS = 14
"""From so many days before its end on, a certificate or an identity is marked."""
PAGE_ROWS = 20
HITS_MAX = 200
CHAIN_MAX = 20
"""Steps of a chain of successors that a page follows."""
CLUSTERS_MAX = 20
TIDY_EVENTS_MAX = 5_000
RUN_EVENTS_MAX = 100_000
"""Messages of a search for pairs that are read before it is given up."""
RUN_S = 120.0
LIVE_STREAMS_MAX = 8
"""Browsers that follow the timeline at once."""
LIVE_BEAT_S = 15.0
FOLD_CHARS = 600
"""A longer text is folded."""
WORDS_COMPARED_MAX = 1_500
"""Words of each text that are compared to mark what differs."""
