"""The search past the expert: trees changed directly for a better score."""
