"""Decision trees: what they are, how they grow, what they say."""
