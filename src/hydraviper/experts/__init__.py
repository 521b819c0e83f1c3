"""Experts: who is imitated, and what they say their actions are worth."""
