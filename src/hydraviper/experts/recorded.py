"""Recorded rollouts, when the policy itself is not at hand: a network that imitates them plays in its place.

An .npz of ours or a Minari data set; neither runs code when it is read.
"""

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.experts.adapted import FEATURES, INNER, PREFERENCES, WHOLE, flattened, ways
from hydraviper.experts.cloning import imitate
from hydraviper.experts.found import Found, Wanted, contents, needed
from hydraviper.protocols import offers


@dataclass(frozen=True)
class Records:
    """One agent's steps, episode after episode."""

    observations: Any  # [S, ...], in the environment's own form or as the game's features
    actions: np.ndarray  # [S], the environment's own
    rewards: np.ndarray | None  # [S]
    lengths: np.ndarray  # [E] steps
    space: Any = None  # of the observations, where the file says it


def read(path: Path, wanted: Wanted) -> Found:
    """A network that imitates one agent's recorded steps."""
    if path.suffix == ".npz" and not path.exists():
        raise InputError(f"there is no file {path}: pass recorded rollouts (docs/experts.md).")
    records = _from_npz(path, wanted) if path.is_file() else _from_minari(path)
    shown, inputs = _inputs(path, wanted, records)
    agent, foreign = wanted.game.agents[wanted.agent], offers(wanted.game).foreign
    actions = records.actions
    with suppress(ValueError):  # actions that the environment does not have are refused below
        actions = actions if foreign is None else foreign.numbers(wanted.agent, actions)
    if len(actions) != len(inputs) or actions.ndim != 1 or not np.isin(actions, range(len(agent.actions))).all():
        raise InputError(
            f"{path} holds {len(inputs)} observations and actions {np.unique(actions)[:9].tolist()} of {agent.name}, "
            f"whose actions are 0 to {len(agent.actions) - 1}: pass records of this game, one action per observation."
        )
    if records.lengths.sum() != len(inputs):
        raise InputError(f"{path} has episodes of {records.lengths.sum()} steps, but {len(inputs)} observations.")
    chain, agreement = imitate(inputs, actions.astype(int), len(agent.actions), records.lengths)
    note = (
        f"The expert of {agent.name} is a network that imitates {len(inputs):,} recorded steps{_returns(records)}; at "
        f"{agreement:.1%} of held-out steps it does what was recorded."
    )
    digest = contents(path if path.exists() else _minari_folder(path))
    return Found(chain, PREFERENCES, digest, chain.inputs, chain.outputs, shown, note=note)


def _returns(records: Records) -> str:
    if records.rewards is None:
        return ""
    ends = np.cumsum(records.lengths)
    returns = np.add.reduceat(records.rewards.astype(float), np.concatenate([[0], ends[:-1]]))
    return f" of {len(ends)} episodes with a mean return of {returns.mean():.4g}"


def _from_npz(path: Path, wanted: Wanted) -> Records:
    """Arrays `observations`, `actions`, and if they are known `rewards` and `lengths`; or AGENT.observations, ..."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read as an .npz of arrays ({error}): write it with numpy.savez.") from None

    def array(what: str) -> np.ndarray | None:
        return arrays.get(f"{wanted.name}.{what}", arrays.get(what))

    observations, actions = array("observations"), array("actions")
    if observations is None or actions is None:
        raise InputError(
            f"{path} has no observations or no actions of {wanted.name}, but {', '.join(arrays)}: write arrays "
            f"`observations` and `actions`, or `{wanted.name}.observations` and `{wanted.name}.actions`."
        )
    lengths = array("lengths")
    return Records(
        observations, actions, array("rewards"), np.array([len(observations)]) if lengths is None else lengths
    )


def _from_minari(path: Path) -> Records:
    """A data set by its folder, or by its name among those that Minari keeps on this machine."""
    episodes, space = _episodes(path)
    observations = [_without_last(episode.observations) for episode in episodes]
    lengths = np.array([len(episode.actions) for episode in episodes])
    together = {
        "actions": np.concatenate([episode.actions for episode in episodes]),
        "rewards": np.concatenate([episode.rewards for episode in episodes]),
    }
    return Records(_joined(observations), **together, lengths=lengths, space=space)


def _episodes(path: Path) -> tuple[list[Any], Any]:
    minari = needed("minari", "minari")
    folder = path / "data" if (path / "data").is_dir() else path
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = minari.MinariDataset(folder) if folder.is_dir() else minari.load_dataset(str(path), download=False)
            return list(data.iterate_episodes()), data.observation_space
    except ImportError as error:
        raise InputError(f"{path} needs the package {error.name}: install hydraviper[minari].") from None
    except Exception as error:
        raise InputError(
            f"{path} is neither an .npz nor a data set that Minari has here ({error}): check the name."
        ) from None


def _minari_folder(path: Path) -> Path:
    """Where Minari keeps a data set of this name."""
    minari = needed("minari", "minari")
    return Path(minari.load_dataset(str(path), download=False).storage.data_path)


def _without_last(observations: Any) -> Any:
    """An episode's observations without the one that nobody acted on."""
    if isinstance(observations, dict):
        return {key: _without_last(part) for key, part in observations.items()}
    return tuple(map(_without_last, observations)) if isinstance(observations, tuple) else observations[:-1]


def _joined(parts: list[Any]) -> Any:
    """Episodes behind each other."""
    if isinstance(parts[0], dict):
        return {key: _joined([part[key] for part in parts]) for key in parts[0]}
    if isinstance(parts[0], tuple):
        return tuple(_joined(list(column)) for column in zip(*parts, strict=True))
    return np.concatenate(parts)


def _inputs(path: Path, wanted: Wanted, records: Records) -> tuple[str, np.ndarray]:
    """What the network is shown, and the recorded observations as just that, [S, I]."""
    foreign, agent = offers(wanted.game).foreign, wanted.game.agents[wanted.agent]
    sizes = ways(foreign, wanted.agent, len(agent.features))
    for shown, array in _readings(wanted, records):
        if sizes.get(shown) == array.shape[1] and array.dtype.kind in "fiub":
            return shown, array.astype(np.float32)
    raise InputError(
        f"the observations of {wanted.name} in {path} do not fit {wanted.game.name}, whose {agent.name} sees "
        f"{len(agent.features)} features: pass records of this game."
    )


def _readings(wanted: Wanted, records: Records) -> Iterator[tuple[str, np.ndarray]]:
    """What a network may be shown that learns from recorded observations, and these as just that, [S, I]."""
    foreign = offers(wanted.game).foreign
    spaces = [(WHOLE, records.space)] if records.space is not None else []
    if foreign is not None:
        own = foreign.observation_spaces[wanted.agent]
        spaces.append((WHOLE, own))
        if type(own).__name__ == "Dict" and "observation" in own.spaces:
            spaces.append((INNER, own.spaces["observation"]))
    for way, space in spaces:
        try:
            yield FEATURES if foreign is None else way, flattened(space, records.observations)
        except (TypeError, ValueError, IndexError, KeyError):
            continue  # recorded in another form
    if isinstance(records.observations, np.ndarray):
        yield FEATURES, records.observations.reshape(len(records.observations), -1)
