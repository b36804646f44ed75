"""Every bound of the engine, in one place. `docs/limits.md` shows them to users.

Units are the last word of each name. A test holds the relations between them.
"""

from __future__ import annotations

CONTENT_BYTES_MAX = 32 * 1024
NAME_BYTES_MAX = 256  # agent, session, thread, category, emotion, perception type, life stage
EXTERNAL_ID_BYTES_MAX = 256
OPERATION_ID_BYTES_MAX = 128
REASON_BYTES_MAX = 1024
NOTE_BYTES_MAX = 1024
DESCRIPTION_BYTES_MAX = 1024
COLLECTION_NAME_CHARS_MAX = 64

TAGS_PER_MEMORY_MAX = 64
ENTITIES_PER_MEMORY_MAX = 128
EVIDENCE_IDS_PER_MEMORY_MAX = 256
ATTRIBUTES_BYTES_MAX = 16 * 1024
PAYLOAD_BYTES_MAX = 16 * 1024
STRUCT_DEPTH_MAX = 8

VECTOR_DIMENSION_MAX = 4096
IMPORTANCE_MIN, IMPORTANCE_MAX = 1, 5

LINKS_PER_MEMORY_MAX = 256
AUTO_LINKS_PER_MEMORY_MAX = 128  # a hub takes no more automatic links; named ones still fit
AUTO_LINKS_PER_REMEMBER_MAX = 5
DISMISSALS_PER_MEMORY_MAX = 1000
SIMILAR_SHOWN_MAX = 5
NEIGHBOURS_SCORED_MAX = 16
SNIPPET_CHARS = 120
VERDICT_CANDIDATES_MAX = 16  # pairs of texts that one Remember compares
SCANNED_AHEAD_MAX = 32  # vectors of a batch that one scan is made for
SCANNED_AHEAD_SLOTS_MAX = 2**16  # where all are scored for each of them: 8 MiB
SCANNED_AHEAD_PAIRS_MAX = 2**15  # slots it keeps for one of them, 16 bytes each
VERDICT_PIECES_MAX = 400  # of one text; a longer one is compared by sentences only
CURVE_POINTS_MAX = 64
CALIBRATION_BATCH_TEXTS = 128
CALIBRATION_OWN_PAIRS_MAX = 500
JUDGE_PAIRS_PER_REMEMBER_MAX = 3
JUDGE_TEXT_CHARS_MAX = 2000  # a longer text is not put to a judge
JUDGE_DEADLINE_S_MAX = 10  # that a write may wait for one
JUDGE_QUEUE_PAIRS_MAX = 256  # that wait or are being judged; what comes then is not asked about
JUDGE_CACHE_PAIRS_MAX = 16_384
EVIDENCE_MAX = 8
EVIDENCE_CHARS = 60

IDS_PER_REQUEST_MAX = 1000
SUPERSEDE_IDS_MAX = 16  # memories that one Remember takes the place of
MERGE_IDS_MAX = 64  # memories that one Merge removes
MERGE_CHAIN_MAX = 256  # memories superseded before, whose chain one Merge shortens
LOST_DETAILS_MAX = 64
LOST_SCANNED_CHARS_MAX = 65_536  # of the sources of one Merge; values take up to 4 us each
LOST_READ_CHARS_MAX = 8000  # of them that are read for names, which takes up to 10 us each
SUPERSEDED_STEPS_MAX = 1000  # of a chain that is followed to its head
NEIGHBOR_SEEDS_MAX = 100
NEIGHBOR_DEPTH_MAX = 5
NEIGHBORS_MAX = 1000
NEIGHBOR_LINKS_MAX = 20_000  # that one Neighbors looks at
EPISODE_IDS_READ_MAX = 20_000  # of memories, for one page of ListEpisodes; the token goes on
TOMBSTONES_READ_MAX = 16  # forgotten memories with the words of one text, the newest
PURGED_BY_RETENTION_MAX = 200  # memories at once
SESSION_MEMORIES_MAX = 5000  # that one EndSession looks at, the newest
SESSION_PAIRS_READ_MAX = 5000  # similar pairs whose texts it compares, the nearest
DOUBLES_PER_RUN_MAX = 200  # exact doubles that one CleanUpDuplicates supersedes
DOUBLES_READ_MAX = 20_000  # memories with doubles that it reads; the next run goes on
DECAY_CLOSED_MAX = 1000  # faded memories that one Decay closes
UNDO_BESIDE_MAX = 256  # memories that stood beside those an Undo brings back, and say the same
DECAY_READ_MAX = 20_000  # faded memories that it reads to find them
TIDY_CLOSES_MAX = 1000  # memories that one run of Tidy may be set to close
TIDY_READ_MAX = 100_000  # states that one run of Tidy may be set to read
TIDY_CLUSTERS_DEFAULT, TIDY_CLUSTERS_MAX = 50, 200  # of near states that one Tidy tells
TIDY_CLUSTER_MEMORIES_MAX = 12
TIDY_PAIRS_MAX = 200_000  # of near states that one Tidy groups, the nearest
TIDY_UPDATES_MAX = 200  # of one plan
TIDY_PLAN_BYTES_MAX = 4 * 1024 * 1024  # of a plan in JSON
OPERATIONS_SCANNED_MAX = 10_000  # for one page of ListOperations; the token goes on
CHANGES_PER_READ_MAX = 64  # operations
BAD_ROWS_NOTED_MAX = 10_000  # of a collection that are counted apart
BAD_MEMORIES_NAMED_MAX = 100  # that Stats name
VERIFY_STEP_ROWS = 256  # that a pass looks at before it rests
VERIFY_DAMAGE_MAX = 100  # findings of SQLite's own check that are told
CHANGED_MEMORIES_PER_READ_MAX = 1000  # a read ends after the operation that reaches it
CHANGES_KEPT_BYTES_MAX = 8 * 1024 * 1024  # of operations that watchers read lately, a collection
WATCHERS_MAX = 1000  # streams of one daemon
WATCH_SEND_S_MAX = 30  # that a watcher may leave a message lying
AS_OF_ROWS_SCANNED_MAX = 10_000  # for one page of a List of the past; the token goes on
AS_OF_INDEXES_MAX = 1  # indexes of the past that a collection keeps for Recall
CONSOLIDATIONS_MAX = 8  # runs of one collection, those that were left and may be gone on with too
CONSOLIDATION_KEPT_S = 300  # that a run which was left may be gone on with
CONSOLIDATE_QUEUE_MAX = 64  # candidates that wait for their reader; then the join waits
MERGE_CANDIDATES_MAX = 1000  # that one Consolidate keeps
PROVISIONAL_CANDIDATES_MAX = 4096  # that one Consolidate tells before the last message
CANDIDATE_SNIPPET_CHARS = 100
WINDOW_HOURS_MAX = 1_000_000
REPLAY_EVENTS_MAX = 1000  # that one Consolidate uses up
RECALL_EVENTS_KEPT_MAX = 10_000  # the oldest fall out
RECALL_EVENT_HITS_MAX = 32  # of one event that are kept, the first
COACTIVATED_HITS_MAX = 10  # of one event that gain co-activations, the first
REEMBED_BATCH_TEXTS = 32  # at the embedder at once: other callers' texts come in between
REEMBED_STORED_AT_ONCE = 256  # vectors that the writer stores, or exchanges, in one transaction
REEMBED_WATCHERS_MAX = 64  # streams of one collection
COMMANDS_PER_OPERATION_MAX = 1000
ITEMS_PER_MESSAGE_MAX = 256  # RememberMany
EXPORT_ROWS_READ = 128  # memories that one step of an Export reads
EXPORT_CHUNK_BYTES = 256 * 1024  # of whole lines; the line that reaches it is the last of a message
IMPORT_LINE_BYTES_MAX = 2 * 1024 * 1024
IMPORT_CHUNK_BYTES_MAX = 4 * 1024 * 1024  # of one message of an Import
IMPORT_BATCH_LINES = 500  # of one operation of an Import as it is
IMPORT_BATCH_BYTES = 4 * 1024 * 1024  # of its lines; the line that reaches it is the last
IMPORT_REPORTED_MAX = 1000  # memories that were not saved of which one Import tells more
IMPORTS_MAX = 8  # of one collection at once
EXPORTS_MAX = 8  # of one collection at once
PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX = 100, 1000
RECALL_K_DEFAULT, RECALL_K_MAX = 10, 1000
AUDIT_JOINED_MAX = 20_000  # live memories of which each is compared with all; of more, a sample
AUDIT_SAMPLED = 2000
AUDIT_SHOWN_MAX = 10  # pairs that an Audit names
AUDIT_OPERATIONS_MAX = 10_000  # that one Audit counts, the newest
AUDIT_REPLIES_MAX = 20_000  # kept answers that one Audit looks at, the newest
AUDIT_DISMISSALS_MAX = 100_000  # dismissed pairs that one Audit leaves out
AUDIT_RECALLS = 32  # vectors that the graph is asked for
AUDIT_DAYS_MAX = 3650
WHY_NOT_WORDS_MAX = 32  # words of a query that a memory lacks, as WhyNot names them
QUERY_BYTES_MAX = CONTENT_BYTES_MAX
FILTER_VALUES_MAX = 100

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
WRITER_QUEUE_MAX = 4096
GROUP_COMMIT_MAX = 256
COLLECTIONS_MAX = 10_000
COLLECTIONS_OPEN_MAX = 256
COLLECTIONS_WAITING_MAX = 1024
COLLECTION_WAIT_S = 10
COLLECTIONS_PURGED_AT_ONCE_MAX = 100
MEMORIES_PER_COLLECTION_MAX = 10_000_000
PENDING_TOUCHES_MAX = 100_000

EMBED_QUEUE_TEXTS_MAX = 8192
EMBED_BATCH_TEXTS_MAX = 32
EMBED_BATCH_CHARS_MAX = 8192

CLOCK_SKEW_ALLOWED_S = 5  # a client's created time may lead our clock by this much
REPLAY_KEPT_S = 7 * 24 * 3600
RETRY_DELAY_MS = 200
