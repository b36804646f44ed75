-- Version 2. What was read from a memory's text, so that other daemons need not read it again.
ALTER TABLE memory ADD COLUMN reading bytea NOT NULL DEFAULT '';

-- Snapshots. The rows of one are in the tables of collections, under its id as their uid.
CREATE TABLE snapshot (
  id text COLLATE "C" PRIMARY KEY,
  collection_uid text COLLATE "C" NOT NULL,
  about text COLLATE "C" NOT NULL,
  crc bigint NOT NULL
);
