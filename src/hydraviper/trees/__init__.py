"""Decision trees: what they are, how they are grown, how they are drawn."""
