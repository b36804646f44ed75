"""Exact all-pairs joins for consolidation, as streams that can be stopped.

    cosine      all pairs below a cosine distance
    jaccard     all pairs above a Jaccard similarity of their tokens
    grouping    groups in which every two are a pair

They work on a `View` and hold no lock: what is published beside them is not in their answer.
The pairs found are a function of the view, the slots and the threshold alone; the order in
which they come is not promised, and may change with block sizes.
"""
