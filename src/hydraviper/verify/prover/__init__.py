"""The prover: interval narrowing over float32 boxes, and z3 for what that leaves open.

forms.py     linear forms over columns of numbers, and formulas of them
frames.py    an obligation, facts and trees as columns, linear forms and links
regions.py   regions of a frame: narrowed, divided along choices and leaves, searched for a point
solver.py    z3 for regions that narrowing cannot settle
search.py    the search for a violation
machine.py   the state machine of a signal, and that it serves whoever waits
starving.py  the verdict on whole controllers of signals: tree and state machine
proof.py     the verdict on each property
deadline.py  time limits
"""
