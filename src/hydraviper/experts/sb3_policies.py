"""Stable-Baselines3: DQN, PPO, A2C and sb3-contrib's MaskablePPO, from the .zip that `model.save` writes.

The weights are read without unpickling anything: layers are known by their names, the rest is JSON. Only a policy that
is more than a chain of layers is left to Stable-Baselines3 itself, which unpickles the file.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from hydraviper.data import InputError
from hydraviper.experts.adapted import OWN, PREFERENCES, VALUES, RowByRow
from hydraviper.experts.chains import Chain
from hydraviper.experts.found import Found, Wanted, contents, needed, refuse_pickle

ACTIVATIONS = {"ReLU": "relu", "Tanh": "tanh", "ELU": "elu", "LeakyReLU": "leaky-relu", "Sigmoid": "sigmoid"}
ACTIVATIONS |= {"SiLU": "silu", "Identity": "identity"}
PLAIN_EXTRACTORS = ("FlattenExtractor", "CombinedExtractor")  # those that add no layers to vectors


class Saved(TypedDict, total=False):
    """What a file of Stable-Baselines3 says about itself, as far as it is read here."""

    gamma: float
    policy_kwargs: dict[str, object] | None
    policy_class: dict[str, str] | None


def read(path: Path, wanted: Wanted) -> Found:
    """A policy that Stable-Baselines3 has saved."""
    data, weights = _opened(path)
    answers = VALUES if "q_net.q_net.0.weight" in weights else PREFERENCES
    chain = _chain(data, weights)
    if chain is not None:
        return Found(chain, answers, contents(path), chain.inputs, chain.outputs, gamma=data.get("gamma"))
    if not wanted.trust:
        what = "a policy that is more than layers of a known kind, which only unpickling it can bring back"
        refuse_pickle(path, what)
    return Found(RowByRow(partial(_answering, str(path))), answers, contents(path), shown=OWN, gamma=data.get("gamma"))


def _opened(path: Path) -> tuple[Saved, dict[str, np.ndarray]]:
    """What the file says about itself, and its weights by name."""
    torch = needed("torch", "sb3")
    try:
        with zipfile.ZipFile(path) as file:
            data = json.loads(file.read("data"))
            tensors = torch.load(io.BytesIO(file.read("policy.pth")), map_location="cpu", weights_only=True)
        return data, {name: tensor.numpy() for name, tensor in tensors.items()}
    except Exception as error:
        raise InputError(
            f"{path} cannot be read as a policy of Stable-Baselines3 ({error}): pass what `model.save` wrote."
        ) from None


def _chain(data: Saved, weights: Mapping[str, np.ndarray]) -> Chain | None:
    """The layers that decide the action; None if there is more between observation and action."""
    settings = data.get("policy_kwargs") or {}
    extractor = _class_name(settings.get("features_extractor_class"), PLAIN_EXTRACTORS[0])
    module = str((data.get("policy_class") or {}).get("__module__", ""))
    own_class = not module.startswith(("stable_baselines3.", "sb3_contrib."))
    if own_class or extractor not in PLAIN_EXTRACTORS or any("features_extractor." in name for name in weights):
        return None
    q_network = "q_net.q_net.0.weight" in weights
    activation = _class_name(settings.get("activation_fn"), "ReLU" if q_network else "Tanh")
    prefix = "q_net.q_net" if q_network else "mlp_extractor.policy_net"
    numbers = sorted(int(name.split(".")[2]) for name in weights if re.fullmatch(rf"{prefix}\.\d+\.weight", name))
    names = [f"{prefix}.{number}" for number in numbers] + ([] if q_network else ["action_net"])
    if activation not in ACTIVATIONS or f"{names[-1]}.weight" not in weights:
        return None
    return Chain.of([(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names], ACTIVATIONS[activation])


def _class_name(text: object, default: str) -> str:
    """ReLU of "<class 'torch.nn.modules.activation.ReLU'>", as files describe classes beside pickling them."""
    return default if text is None else str(text).removesuffix("'>").rpartition(".")[2]


def _answering(path: str) -> Callable[[Any], np.ndarray]:
    """What Stable-Baselines3 itself answers; unpickles the file."""
    torch, kinds = needed("torch", "sb3"), needed("stable_baselines3", "sb3")
    data = json.loads(zipfile.ZipFile(path).read("data"))
    kind = kinds.DQN if "exploration_rate" in data else kinds.PPO if "clip_range" in data else kinds.A2C
    policy: Any = kind.load(path, device="cpu").policy
    policy.set_training_mode(False)

    def answer(observation: object) -> np.ndarray:
        with torch.no_grad():
            seen, _ = policy.obs_to_tensor(observation)
            told = policy.q_net(seen) if kind is kinds.DQN else policy.get_distribution(seen).distribution.logits
        return told[0].numpy()

    return answer
