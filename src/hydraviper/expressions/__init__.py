"""Expressions: one grammar, one parser and one meaning for what people write about features.

Text becomes a syntax tree (`grammar.lark`), whose names are looked up in a `Scope` (`names.py`: agents, features,
patterns with *), and then an exact expression (`parser.py` makes it, `expression.py` defines it). Conditions of
properties are read with `parse_conditions`; `SumParser` reads the arithmetic below a comparison, for conditions and for
whatever else people may write in these terms.
"""
