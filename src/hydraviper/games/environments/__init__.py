"""Environments of other packages (Gymnasium, PettingZoo) and of users as games."""
