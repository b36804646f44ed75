-- Version 2. What was read from a memory's text, so that other daemons need not read it again.
ALTER TABLE memory ADD COLUMN reading bytea NOT NULL DEFAULT '';
