"""Games that can be distilled."""
