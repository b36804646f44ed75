-- Version 1. Every key begins with the uid of its collection; no foreign keys across collections.
-- Texts are compared by their bytes, as SQLite does. Keys of external ids are bytes: they may hold a NUL.
CREATE TABLE catalogue (
  one integer PRIMARY KEY CHECK (one = 1),
  revision bigint NOT NULL
);
INSERT INTO catalogue VALUES (1, 0);
CREATE TABLE catalogue_collection (
  uid text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  deleted_us bigint,
  crc bigint NOT NULL
);
CREATE UNIQUE INDEX catalogue_collection_by_name ON catalogue_collection (name)
  WHERE deleted_us IS NULL;
CREATE TABLE catalogue_operation (
  revision bigint PRIMARY KEY,
  operation_id text COLLATE "C" NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  answer text COLLATE "C" NOT NULL,
  time_us bigint NOT NULL,
  crc bigint NOT NULL,
  UNIQUE (agent_id, operation_id)
);
CREATE TABLE access_row (
  one integer PRIMARY KEY CHECK (one = 1),
  version bigint NOT NULL,
  identities text COLLATE "C" NOT NULL,
  page_key bytea NOT NULL,
  crc bigint NOT NULL
);
CREATE TABLE collection (
  uid text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL
);
CREATE TABLE memory (
  uid text COLLATE "C" NOT NULL,
  row bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  external_id bytea,
  content text COLLATE "C" NOT NULL,
  content_hash bytea NOT NULL,
  vector bytea NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  fields text COLLATE "C" NOT NULL,
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  superseded_by text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, row),
  UNIQUE (uid, id)
);
CREATE INDEX memory_by_time ON memory (uid, created_us, id);
CREATE UNIQUE INDEX memory_by_external_id ON memory (uid, external_id)
  WHERE external_id IS NOT NULL AND status <> 'forgotten';
CREATE INDEX forgotten_by_external_id ON memory (uid, external_id)
  WHERE external_id IS NOT NULL AND status = 'forgotten';
CREATE INDEX forgotten_by_time ON memory (uid, updated_us) WHERE status = 'forgotten';
CREATE INDEX memory_by_revision ON memory (uid, revision);
CREATE INDEX memory_by_superseder ON memory (uid, superseded_by) WHERE superseded_by <> '';
CREATE TABLE link (
  uid text COLLATE "C" NOT NULL,
  source bigint NOT NULL,
  target bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  confidence double precision NOT NULL,
  note text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, source, target, type)
);
CREATE INDEX link_asking ON link (uid, confidence, source, target)
  WHERE type IN ('likely_same', 'may_replace', 'maybe_replaced_by') AND source < target;
CREATE TABLE access (
  uid text COLLATE "C" NOT NULL,
  row bigint NOT NULL,
  last_us bigint NOT NULL,
  count bigint NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, row)
);
CREATE TABLE recall_event (
  uid text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  time_us bigint NOT NULL,
  hits text COLLATE "C" NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, number)
);
CREATE TABLE coactivation (
  uid text COLLATE "C" NOT NULL,
  low bigint NOT NULL,
  high bigint NOT NULL,
  count bigint NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, low, high)
);
CREATE INDEX coactivation_by_high ON coactivation (uid, high);
CREATE TABLE operation (
  uid text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  operation_id text COLLATE "C" NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  touched text COLLATE "C" NOT NULL,
  time_us bigint NOT NULL,
  undoes bigint,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, revision)
);
CREATE INDEX operation_by_id ON operation (uid, operation_id);
CREATE INDEX operation_by_undone ON operation (uid, undoes) WHERE undoes IS NOT NULL;
CREATE TABLE episode (
  uid text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  summary text COLLATE "C" NOT NULL,
  memory_ids text COLLATE "C" NOT NULL,
  start_us bigint NOT NULL,
  end_us bigint NOT NULL,
  importance bigint NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  private bigint NOT NULL,
  created_us bigint NOT NULL,
  revision bigint NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, id)
);
CREATE INDEX episode_by_start ON episode (uid, start_us, id);
CREATE TABLE dismissal (
  uid text COLLATE "C" NOT NULL,
  a bigint NOT NULL,
  b bigint NOT NULL,
  hash_a bytea NOT NULL,
  hash_b bytea NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  note text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, a, b)
);
CREATE INDEX dismissal_by_b ON dismissal (uid, b);
CREATE TABLE image (
  uid text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  entity text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  before text COLLATE "C" NOT NULL,
  vector bytea NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, revision, entity, key)
);
CREATE INDEX image_by_key ON image (uid, entity, key, revision);
CREATE TABLE reply (
  uid text COLLATE "C" NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  operation_id text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  answer text COLLATE "C" NOT NULL,
  time_us bigint NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, agent_id, operation_id)
);
CREATE INDEX reply_by_time ON reply (uid, time_us);
CREATE TABLE embedding (
  uid text COLLATE "C" NOT NULL,
  row bigint NOT NULL,
  revision bigint NOT NULL,
  vector bytea NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, row)
);
CREATE TABLE setting (
  uid text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  crc bigint NOT NULL,
  PRIMARY KEY (uid, key)
);
