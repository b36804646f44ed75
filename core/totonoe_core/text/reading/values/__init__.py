"""Figures, quantities, dates, times, versions, made names, paths and quotations in a text.

`find.find_values` is the way in; `spaced` and `cjk` know the two kinds of script.
"""
