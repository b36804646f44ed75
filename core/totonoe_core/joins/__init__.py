"""Exact all-pairs joins for Consolidate, as streams that can be stopped.

    cosine      all pairs below a cosine distance
    jaccard     all pairs above a Jaccard similarity of their tokens

They work on a `View` and hold no lock: slots published meanwhile are not in the result. The pairs
depend only on the view, the slots and the threshold; their order is not promised, and may change
with block sizes.
"""
