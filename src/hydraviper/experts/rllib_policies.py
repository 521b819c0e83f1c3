"""RLlib: a checkpoint of the new API stack. It is made of pickles, which run code when they are loaded."""

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.experts.adapted import CHOICES, PREFERENCES, VALUES, RowByRow
from hydraviper.experts.chains import chain_like
from hydraviper.experts.found import Found, Wanted, contents, needed, refuse_pickle
from hydraviper.experts.torch_policies import one_thread

MODULES = ("learner_group/learner/rl_module", "learner/rl_module", "rl_module", ".")  # where a checkpoint keeps them


def read(path: Path, wanted: Wanted) -> Found:
    """The module of a checkpoint that plays an agent: the one of its name, or the only one."""
    folder = _folder(path, wanted.name, wanted.options.get("module"))
    if not wanted.trust:
        refuse_pickle(path, "pickles, as every checkpoint of RLlib does")
    module = _module(str(folder))
    answer, digest = _answering(str(folder)), contents(folder)
    inputs = int(np.prod(module.observation_space.shape)) if module.observation_space.shape else None
    if inputs is None:
        raise InputError(f"{folder} sees {module.observation_space}: only one array can be shown to it.")
    told = answer(np.zeros(inputs, np.float32))
    if told.dtype.kind in "iu":
        return Found(RowByRow(partial(_answering, str(folder))), CHOICES, digest, inputs)
    chain = chain_like(_called_layers(module, answer, inputs), answer)
    network = RowByRow(partial(_answering, str(folder))) if chain is None else chain
    answers = VALUES if hasattr(module, "compute_q_values") else PREFERENCES
    return Found(network, answers, digest, inputs, len(told))


def _folder(path: Path, agent: str, module: str | None) -> Path:
    """The folder of the module that plays an agent."""
    found = {one.name: one for place in MODULES for one in sorted((path / place).glob("*/")) if _is_module(one)}
    if module is None and _is_module(path) and not found:
        return path
    if not found:
        raise InputError(f"{path} is no checkpoint of RLlib's new API stack: pass what `algorithm.save_to_path` wrote.")
    name = module or (agent if agent in found else next(iter(found)) if len(found) == 1 else None)
    if name not in found:
        which = f"no module {module!r}" if module else f"{len(found)} modules and none for {agent}"
        raise InputError(f"{path} has {which}: add module=NAME, one of {', '.join(found)}.")
    return found[name]


def _is_module(folder: Path) -> bool:
    return (folder / "class_and_ctor_args.pkl").is_file() and any(folder.glob("module_state.*"))


@cache
def _module(folder: str) -> Any:
    """The module itself; unpickles it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = needed("ray.rllib.core.rl_module.rl_module", "rllib").RLModule.from_checkpoint(folder)
    return module.eval()


def _answering(folder: str) -> Callable[[np.ndarray], np.ndarray]:
    """What a module answers to a row: its preferences, its values, or its choice."""
    torch, module = needed("torch", "rllib"), _module(folder)
    shape = module.observation_space.shape

    def answer(row: np.ndarray) -> np.ndarray:
        with torch.no_grad(), one_thread():
            seen = {"obs": torch.from_numpy(np.array(row, np.float32)).reshape(1, *shape)}
            if hasattr(module, "compute_q_values"):
                return module.compute_q_values(seen)["qf_preds"][0].numpy()
            told = module.forward_inference(seen)
        return told["action_dist_inputs" if "action_dist_inputs" in told else "actions"][0].numpy()

    return answer


def _called_layers(
    module: Any, answer: Callable[[np.ndarray], np.ndarray], inputs: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The linear layers that an answer goes through, in order."""
    torch = needed("torch", "rllib")
    called: list[tuple[np.ndarray, np.ndarray]] = []

    def note(layer: Any, *_: Any) -> None:
        bias = layer.bias if layer.bias is not None else torch.zeros(layer.out_features)
        called.append((layer.weight.detach().numpy(), bias.detach().numpy()))

    hooks = [part.register_forward_hook(note) for part in module.modules() if isinstance(part, torch.nn.Linear)]
    answer(np.zeros(inputs, np.float32))
    for hook in hooks:
        hook.remove()
    return called
