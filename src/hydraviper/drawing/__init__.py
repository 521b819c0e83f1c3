"""Drawings (SVG) of trees, icons, maps, charts and timelines, and the pages that show them; it knows no game."""
