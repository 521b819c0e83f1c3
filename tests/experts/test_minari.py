"""Minari's data sets as experts."""

from __future__ import annotations

import numpy as np
import pytest

minari = pytest.importorskip("minari", reason="Minari is not installed: `make test-experts` brings it")
pytest.importorskip("h5py", reason="h5py is not installed: `make test-experts` brings it")

import gymnasium  # noqa: E402

import hydraviper  # noqa: E402
from hydraviper.data import InputError  # noqa: E402
from tests.helpers.cartpole import Balance  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A data set of somebody who balances the pole."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    collector, policy = minari.DataCollector(gymnasium.make("CartPole-v1", max_episode_steps=100)), Balance()
    for seed in range(20):
        (observation, _), over = collector.reset(seed=seed), False
        while not over:
            action = int(policy.act([observation[None]])[0, 0])
            observation, _, ended, cut, _ = collector.step(action)
            over = ended or cut
    collector.create_dataset("pole/balance-v0")
    return tmp_path / "sets" / "pole" / "balance-v0"


def test_a_data_set_by_name_and_by_folder(recorded):
    game = hydraviper.make("gymnasium:CartPole-v1,steps=100")
    for place in ("pole/balance-v0", recorded):
        expert = hydraviper.load_expert(f"rollouts:{place}", game)
        assert "imitates 2,000 recorded steps of 20 episodes with a mean return of 100" in expert.about["notes"][0]
        assert hydraviper.play(game, expert, np.arange(10, dtype=np.uint64)).returns.mean() > 90
    with pytest.raises(InputError, match="do not fit gymnasium:Acrobot-v1"):
        hydraviper.load_expert("rollouts:pole/balance-v0", hydraviper.make("gymnasium:Acrobot-v1"))
    with pytest.raises(InputError, match=r"neither an \.npz nor a data set"):
        hydraviper.load_expert("rollouts:pole/other-v0", game)
