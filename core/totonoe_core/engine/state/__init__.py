"""The state of an open collection: rows, index, ledger, checkpoints, caches."""
