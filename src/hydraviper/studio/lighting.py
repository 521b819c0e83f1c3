"""How a path lights up in a tree's drawing: what is off the path turns grey, and its words stay readable (AA)."""

LIGHTING = """
.lighting [data-node]:not(.lit) text { fill: #595959; }
.lighting [data-node]:not(.lit) rect, .lighting [data-node]:not(.lit) path { opacity: .2; }
.lighting .edge.lit > path { stroke: #c25400; }
.lighting .node.lit > rect:first-of-type { stroke: #c25400; stroke-width: 4; stroke-dasharray: none; }
"""
