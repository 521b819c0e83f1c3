"""A particle world that is played as slow games are."""

from __future__ import annotations

from dataclasses import replace

from hydraviper.games import catalogue


class Slow:
    """A world that says it is not compiled and steps one episode at a time, so that it is played in processes."""

    def __init__(self, name):
        self._game = catalogue.make(name)
        self.width, self.offers = 1, replace(self._game.offers, compiled=False)

    def __getattr__(self, name):
        if name == "_game":
            raise AttributeError(name)
        return getattr(self._game, name)


def make_slow(name):
    return Slow(name)
