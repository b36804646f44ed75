"""Dismissed pairs, why a memory does not come in a recall, audits."""
