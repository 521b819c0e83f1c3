"""Compiled pieces that games and experts share."""
