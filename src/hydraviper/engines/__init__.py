"""Engines: where rollouts are played."""
