"""Figures, quantities, dates, times, versions, made names, paths and quotations in a text.

`find.find_values` is the way in; `rows` says what a rule is, `words` what a language brings.
"""
