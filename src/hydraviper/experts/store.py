"""Experts on disk: safetensors with a JSON head. Loading a file runs no code."""

import hashlib
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from hydraviper.data import InputError
from hydraviper.experts import chain_files
from hydraviper.experts.exploring import Exploring, Yardstick
from hydraviper.experts.frap import SHAPES, FrapNetwork, FrapQ
from hydraviper.experts.local_q import LocalQExpert, NetworkQ
from hydraviper.experts.networks import CriticExpert, Network, NetworkExpert
from hydraviper.profile import Profile
from hydraviper.protocols import Game, Policy, Student, offers, spec_of
from hydraviper.rollout import Watched
from hydraviper.trees.file import write_whole
from hydraviper.trees.tree import Tree

FORMAT = "hydraviper-expert-1"
JOINT, LOCAL, FRAP = "actors-and-critics", "local-networks", "frap"  # kinds of files; one that names none is JOINT
CHAINS = "chains"  # networks from elsewhere
CRITICS, YARDSTICK = "policy-and-critics", "yardstick"  # fitted critics, and one kind of policy that they may be for
VALUED = "yardstick-and-local-values"

StoredExpert = NetworkExpert | LocalQExpert | CriticExpert


def to_arrays(expert: StoredExpert) -> dict[str, np.ndarray]:
    """The networks by name: `actor.0.weight.0`, `actor.0.bias.0`, ..., `critic.2.bias.2`; or `q.0.weight.0`, ..."""
    if isinstance(expert, CriticExpert):
        return _critic_arrays(expert)
    if isinstance(expert, LocalQExpert) and isinstance(expert.policy, Yardstick):
        return {**_network_arrays(expert), "policy.name": _letters(expert.policy.name)}
    kind = kind_of(expert)
    if isinstance(expert, LocalQExpert) and kind in (FRAP, CHAINS):
        return _frap_arrays(expert) if kind == FRAP else chain_files.to_arrays(expert)
    return _network_arrays(expert)


def _network_arrays(expert: StoredExpert) -> dict[str, np.ndarray]:
    return {
        f"{role}.{i}.{('weight', 'bias')[k % 2]}.{k // 2}": np.ascontiguousarray(array, np.float32)
        for role, networks in _roles(expert).items()
        for i, network in enumerate(networks)
        for k, array in enumerate(network.layers)
    }


def from_arrays(arrays: Mapping[str, np.ndarray], about: Mapping[str, object]) -> NetworkExpert:
    """An expert with actors and critics from its arrays."""
    actors, critics = (_networks(arrays, role) for role in ("actor", "critic"))
    return NetworkExpert(actors, critics, dict(about))


def local_from_arrays(arrays: Mapping[str, np.ndarray], about: Mapping[str, object]) -> LocalQExpert:
    """An expert with one Q-network per agent from its arrays."""
    return LocalQExpert(tuple(NetworkQ(network) for network in _networks(arrays, "q")), dict(about))


def frap_from_arrays(arrays: Mapping[str, np.ndarray], about: Mapping[str, object]) -> LocalQExpert:
    """An expert of signals that share a FRAP network from its arrays."""
    network = FrapNetwork(tuple(np.ascontiguousarray(arrays[name], np.float32) for name in SHAPES))
    q_functions = (
        FrapQ(network, np.ascontiguousarray(arrays[f"served.{i}"], bool), int(arrays[f"features.{i}"][0]))
        for i in range(sum(name.startswith("served.") for name in arrays))
    )
    return LocalQExpert(tuple(q_functions), dict(about))


def critics_from_arrays(arrays: Mapping[str, np.ndarray], about: Mapping[str, object]) -> CriticExpert:
    """A policy with fitted critics from its arrays."""
    inner = {name.removeprefix("policy."): array for name, array in arrays.items() if name.startswith("policy.")}
    kind = _text(arrays["policy-kind"])
    if kind not in (LOCAL, FRAP, CHAINS, YARDSTICK):
        raise InputError(f"the file's policy is of the unknown kind {kind!r}: update hydraviper.")
    inside = about.get("policy")
    inside = inside if isinstance(inside, Mapping) else {}
    policy = Yardstick(_text(inner["name"])) if kind == YARDSTICK else KINDS[kind](inner, inside)
    features, actions = (tuple(arrays[name].tolist()) for name in ("features", "actions"))
    return CriticExpert(policy, _networks(arrays, "critic"), features, actions, dict(about))


def valued_from_arrays(arrays: Mapping[str, np.ndarray], about: Mapping[str, object]) -> LocalQExpert:
    """A yardstick with local values from its arrays."""
    return replace(local_from_arrays(arrays, about), policy=Yardstick(_text(arrays["policy.name"])))


KINDS: dict[str, Callable[[Mapping[str, np.ndarray], Mapping[str, object]], StoredExpert]] = {
    JOINT: from_arrays,
    LOCAL: local_from_arrays,
    FRAP: frap_from_arrays,
    CHAINS: chain_files.from_arrays,
    CRITICS: critics_from_arrays,
    VALUED: valued_from_arrays,
}


def kind_of(expert: StoredExpert) -> str:
    """Which of KINDS an expert is."""
    kind = _kind(expert)
    if kind is None:
        raise InputError("only experts made of networks can be saved: this one has values of another kind.")
    return kind


def can_save(expert: StoredExpert) -> bool:
    """Tell whether a file can hold an expert."""
    policy = expert.policy if isinstance(expert, CriticExpert) else expert
    return not isinstance(policy, LocalQExpert) or _kind(policy) is not None


def _kind(expert: StoredExpert) -> str | None:
    """The same, or None for a local Q that is no network."""
    if isinstance(expert, LocalQExpert):
        kinds = {type(q) for q in expert.q_functions}
        if expert.policy is not None:
            return VALUED if kinds == {NetworkQ} and isinstance(expert.policy, Yardstick) else None
        other = CHAINS if chain_files.can_hold(expert) else None
        return LOCAL if kinds == {NetworkQ} else FRAP if kinds == {FrapQ} else other
    return JOINT if isinstance(expert, NetworkExpert) else CRITICS


def _roles(expert: StoredExpert) -> dict[str, Sequence[Network]]:
    if isinstance(expert, NetworkExpert):
        return {"actor": expert.actors, "critic": expert.critics}
    if isinstance(expert, CriticExpert):
        return {"critic": expert.critics}
    return {"q": [q.network for q in expert.q_functions if isinstance(q, NetworkQ)]}


def _frap_arrays(expert: StoredExpert) -> dict[str, np.ndarray]:
    """The shared layers, and per signal what its phases serve and how many features it sees."""
    signals = [q for q in getattr(expert, "q_functions", ()) if isinstance(q, FrapQ)]
    arrays = dict(zip(SHAPES, signals[0].network.arrays, strict=True))
    for i, signal in enumerate(signals):
        arrays |= {f"served.{i}": signal.served.astype(np.uint8), f"features.{i}": np.array([signal.features])}
    return arrays


def _critic_arrays(expert: CriticExpert) -> dict[str, np.ndarray]:
    """The critics, and the policy that they were fitted to, under names with `policy.` in front."""
    policy = expert.policy
    if isinstance(policy, Yardstick):
        kind, inner = YARDSTICK, {"name": _letters(policy.name)}
    elif isinstance(policy, LocalQExpert):
        kind, inner = kind_of(policy), to_arrays(policy)
    else:
        raise InputError("only a trained expert or a yardstick of the game can be saved with its critics.")
    arrays = {**_network_arrays(expert), "policy-kind": _letters(kind)}
    arrays |= {"features": np.array(expert.observation_sizes), "actions": np.array(expert.action_counts)}
    return arrays | {f"policy.{name}": array for name, array in inner.items()}


def _letters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8).copy()


def _text(letters: np.ndarray) -> str:
    return letters.astype(np.uint8).tobytes().decode()


def _networks(arrays: Mapping[str, np.ndarray], role: str) -> tuple[Network, ...]:
    def part(name: str) -> np.ndarray:
        return np.ascontiguousarray(arrays[name], np.float32)

    def network(i: int) -> Network:
        w0, w1, w2 = (part(f"{role}.{i}.weight.{layer}") for layer in range(3))
        b0, b1, b2 = (part(f"{role}.{i}.bias.{layer}") for layer in range(3))
        return Network((w0, b0, w1, b1, w2, b2))

    numbers = [int(name.split(".")[1]) for name in arrays if name.startswith(f"{role}.")]
    return tuple(network(i) for i in range(1 + max(numbers)))


def save(expert: StoredExpert, path: Path | str) -> None:
    """Write an expert to a file, whole or not at all."""
    about = json.dumps(dict(expert.about), sort_keys=True)
    head = {"format": FORMAT, "kind": kind_of(expert), "about": about}
    write_whole(Path(path), to_bytes(to_arrays(expert), head))


def load(path: Path | str, game: Game | None = None) -> StoredExpert:
    """Read an expert; with a game, refuse one that does not fit it."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no expert file {path}: train one with `hydraviper train`.")
    try:
        with safe_open(path, framework="numpy") as file:
            head = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        if head.get("format") != FORMAT:
            raise InputError(f"{path} is not an expert of this package: make one with `hydraviper train`.")
        kind = head.get("kind", JOINT)
        if kind not in KINDS:
            raise InputError(f"{path} is an expert of the unknown kind {kind!r}: update hydraviper.")
        expert = KINDS[kind](arrays, json.loads(head["about"]))
    except (SafetensorError, KeyError, IndexError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read as an expert ({error}): make one with `hydraviper train`.") from None
    if game is None:
        return expert
    _check(path, expert, game)
    return _bound(expert, game)


def _check(path: Path, expert: StoredExpert, game: Game) -> None:
    """Refuse an expert of another game, or of one that was played differently."""
    if expert.about.get("game", game.name) == game.name and (other := _differences(expert, game)):
        name, value = other[0]
        raise InputError(
            f"{path} was trained with {name}={value}, but {game.name} is played with {name}={game.parameters[name]}: "
            "pass an expert that was trained for this game, or play it as the expert was trained."
        )
    if not fits(expert, game):
        sizes = [len(agent.features) for agent in game.agents]
        raise InputError(
            f"{path} is an expert for {expert.about.get('game')} ({len(expert.observation_sizes)} agents with "
            f"{list(expert.observation_sizes)} features), but {game.name} has {len(sizes)} agents with {sizes} "
            "features: pass the expert that belongs to this game or train one."
        )


def _differences(expert: StoredExpert, game: Game) -> list[tuple[str, Any]]:
    """What an expert was trained with, where it saw or was paid something else than in this game."""
    trained = trained_with(expert, game)
    return [(name, trained[name]) for name in offers(game).decisive if trained.get(name) != game.parameters[name]]


def _bound(expert: StoredExpert, game: Game) -> StoredExpert:
    """The expert with what only the game has: the policy of a yardstick, the spaces of an environment."""
    if not isinstance(expert, CriticExpert | LocalQExpert):
        return expert
    policy = expert.policy
    if isinstance(policy, Yardstick):
        return replace(expert, policy=yardstick(game, policy.name))
    if isinstance(expert, LocalQExpert):
        return chain_files.bound(expert, game)
    return replace(expert, policy=chain_files.bound(policy, game)) if isinstance(policy, LocalQExpert) else expert


def yardstick(game: Game, name: str) -> Yardstick:
    """A game's yardstick by its name."""
    rules = offers(game).scoring.yardsticks
    if name not in rules:
        known = f"choose one of {', '.join(rules)}" if rules else "it has none"
        raise InputError(f"{game.name} has no yardstick {name!r}: {known}.")
    return Yardstick(name, rules[name])


def fits(expert: StoredExpert, game: Game) -> bool:
    """Whether an expert was made for a game of this name, with these numbers of features and actions."""
    sizes = tuple(len(agent.features) for agent in game.agents)
    counts = tuple(len(agent.actions) for agent in game.agents)
    same_name = expert.about.get("game", game.name) == game.name
    return same_name and expert.observation_sizes == sizes and expert.action_counts == counts


def trained_with(expert: StoredExpert, game: Game) -> dict[str, object]:
    """The parameters that an expert was trained with; those that did not exist yet as games were then."""
    recorded = expert.about.get("parameters", game.parameters)
    return {**offers(game).before, **(recorded if isinstance(recorded, Mapping) else {})}


def all_shipped(game: Game) -> list[StoredExpert]:
    """The experts for a game that come with the package, the best match first."""
    with resources.as_file(resources.files("hydraviper.experts") / "trained") as folder:
        files = sorted(folder.glob(f"{game.name}*.safetensors"), key=lambda path: (len(path.name), path.name))
        experts = [expert for expert in map(load, files) if fits(expert, game) and not _differences(expert, game)]

    varied = offers(game).search.varied  # not what the game is, but how its days differ

    def in_common(expert: StoredExpert) -> int:
        before = trained_with(expert, game)
        return sum(before.get(name) == value for name, value in game.parameters.items() if name not in varied)

    return sorted(experts, key=in_common, reverse=True)  # of equals, the one with the shortest name


def ships(expert: StoredExpert, game: Game) -> bool:
    """Tell whether an expert comes with the package; one that no file can hold counts as if it did."""
    try:
        return digest(expert) in map(digest, all_shipped(game))
    except InputError:
        return True


def shipped(game: Game, algorithm: str | None = None) -> StoredExpert:
    """The expert for a game that comes with the package; of several, the one with most parameters in common.

    With an algorithm, only experts that it trained.
    """
    experts = [expert for expert in all_shipped(game) if algorithm in (None, expert.about.get("algorithm"))]
    if not experts:
        spec = spec_of(game.name, game.parameters)
        make = f"train {spec}" if algorithm is None else f"train {spec} --algorithm {algorithm}"
        if algorithm is not None and algorithm.endswith("-joint"):
            make = f"critic {spec} --expert {algorithm.removesuffix('-joint')}"
        raise InputError(
            f"no expert {f'of {algorithm} ' if algorithm else ''}ships for {spec}: make one with "
            f"`hydraviper {make}` and pass it with --expert FILE."
        )
    return experts[0]


def digest(expert: StoredExpert) -> str:
    """A hash of the networks: tells which expert a tree was distilled from."""
    if (named := _by_names(expert)) is not None:
        return named[:16]
    sha = hashlib.sha256()
    for name, array in sorted(to_arrays(expert).items()):
        sha.update(name.encode() + array.tobytes())
    return sha.hexdigest()[:16]


def policy_digest(policy: Policy) -> str:
    """A hash of everything that decides how a policy plays, the same in every process."""
    if isinstance(policy, Profile):
        students = [f"{i}:{_student_digest(tree)}" for i, tree in sorted(policy.students.items())]
        return _hash(" ".join([policy_digest(policy.expert), *students]).encode())
    if isinstance(policy, Watched):
        return _hash(f"watched {policy_digest(policy.policy)}".encode())
    if isinstance(policy, Exploring):
        return _hash(f"{policy_digest(policy.policy)} {policy.most!r} {policy.salt}".encode())
    if isinstance(policy, Yardstick):
        return _hash(f"yardstick {policy.name}".encode())
    if isinstance(policy, CriticExpert | LocalQExpert) and policy.policy is not None:
        return policy_digest(policy.policy)  # values that were fitted do not act
    if isinstance(policy, NetworkExpert) or (isinstance(policy, LocalQExpert) and _kind(policy) is not None):
        return digest(policy)
    return _by_names(policy) or _hash(pickle.dumps(policy, pickle.HIGHEST_PROTOCOL))


def _by_names(policy: Policy) -> str | None:
    """The same for policies from elsewhere that no file of ours can hold; None for all others."""
    if not isinstance(policy, LocalQExpert):
        return getattr(policy, "digest", None)
    if _kind(policy) is not None:
        return None
    digests = [str(getattr(q, "digest", "")) for q in policy.q_functions]
    return _hash("\n".join(digests).encode()) if all(digests) else None


def _student_digest(student: Student) -> str:
    """The same for one student of a profile."""
    if isinstance(student, Tree):
        return _hash(json.dumps(student.to_json(), sort_keys=True).encode())
    return _hash(pickle.dumps(student, pickle.HIGHEST_PROTOCOL))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
