"""Compiled kernels are forgotten when any file with kernels has changed."""

from __future__ import annotations

import os

import pytest

from hydraviper.kernels.cache import SOURCES, forget_stale


@pytest.fixture
def package(tmp_path):
    for name, text in (
        ("caller", "@nb.njit\ndef f(): return g()"),
        ("called", "@nb.njit\ndef g(): ..."),
        ("plain", ""),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "__pycache__").mkdir()
    return tmp_path


def compiled(package):
    (package / "__pycache__" / "caller.f.nbi").touch()
    (package / "__pycache__" / "caller.f.1.nbc").touch()
    return lambda: len(list(package.rglob("*.nb[ic]")))


def test_a_change_in_a_kernel_that_another_calls(package):
    record = package / "__pycache__" / SOURCES
    assert forget_stale(package, record)  # nothing was recorded
    count = compiled(package)
    assert not forget_stale(package, record)
    assert count() == 2
    (package / "called.py").write_text("@nb.njit\ndef g(): return 1")
    assert forget_stale(package, record)
    assert count() == 0


def test_what_has_no_kernels_may_change(package):
    record = package / "__pycache__" / SOURCES
    forget_stale(package, record)
    count = compiled(package)
    (package / "plain.py").write_text("x = 1")
    (package / "new.py").write_text("y = 2")
    os.utime(package / "caller.py", ns=(1, 1))  # the same words with another date
    assert not forget_stale(package, record)
    assert count() == 2


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1}'])
def test_a_broken_record_counts_as_none(package, text):
    record = package / "__pycache__" / SOURCES
    record.write_text(text)
    count = compiled(package)
    assert forget_stale(package, record)
    assert count() == 0
