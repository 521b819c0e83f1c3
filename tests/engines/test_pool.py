"""The pool of processes by itself: the caller chooses what becomes of work that took its process down."""

from __future__ import annotations

import multiprocessing
import os
from functools import partial

import pytest

from hydraviper.data import InputError
from hydraviper.engines.pool import Pool


def answerer(word, steps):
    def answer(piece):
        if piece == 3:
            if word == "die":
                os._exit(7)
            raise InputError("not 3.")
        return 10 * piece, os.getpid()

    return answer


@pytest.mark.slow
def test_work_that_took_its_process_down_may_be_left_out():
    answers, lost = {}, []

    def told(number, what, advice):
        lost.append((number, what))
        return False

    with Pool(partial(answerer, "die"), 2) as pool:
        pool.run([1, 2, 3, 4, 5], answers.__setitem__, told)
        assert {number: value for number, (value, _) in answers.items()} == {0: 10, 1: 20, 3: 40, 4: 50}
        assert lost == [(2, "died (exit code 7)")]
        assert 1 <= len({process for _, process in answers.values()}) <= 3
        pool.run([6], answers.__setitem__, told)
        assert answers[0][0] == 60
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_an_error_in_a_process_is_raised_and_ends_the_pool():
    pool = Pool(partial(answerer, "refuse"), 2)
    with pytest.raises(InputError, match=r"not 3\."):
        pool.run([1, 2, 3, 4], lambda number, answer: None, lambda *_: True)
    assert multiprocessing.active_children() == []
