"""All that happens to a run folder: distil, refine, edit, repair, evaluate, compare, price."""
