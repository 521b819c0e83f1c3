"""Whole controllers in C: the trees' functions, and the state machine that shows their choices second by second."""

from collections.abc import Mapping, Sequence
from importlib import resources

import numpy as np

from hydraviper.controllers import LONGEST_MEMORY, Controller
from hydraviper.export import c
from hydraviper.export.common import Program, programs
from hydraviper.trees.file import TreesFile


def to_c_controllers(trees: TreesFile, controllers: Mapping[str, Controller]) -> str:
    """A C file with the trees, a state machine for all signals, and `signal_1_start` and `signal_1_second` for each."""
    agents = programs(trees, prefix=c.PREFIX)
    with_lights = [(program, controllers[program.agent.name]) for program in agents]
    sizes = {
        "HV_LINKS": max(len(one.links) for _, one in with_lights),
        "HV_PHASES": max(len(one.greens) for _, one in with_lights),
        "HV_MOVEMENTS": max(len(one.seen_by) for _, one in with_lights),
        "HV_FEATURES": max(len(program.agent.features) for program, _ in with_lights),
        "HV_LONGEST_MEMORY": LONGEST_MEMORY,
    }
    machine = (resources.files("hydraviper.export") / "controller.c").read_text(encoding="utf-8").rstrip()
    largest = "enum { " + ", ".join(f"{name} = {size}" for name, size in sizes.items()) + " };"
    parts = [*c.parts_of(trees, agents), largest, machine, *(_signal(*pair) for pair in with_lights)]
    return "\n\n".join(parts) + "\n"


def _signal(program: Program, one: Controller) -> str:
    """The tables and functions of one signal."""
    name, agent, timing = program.name, program.agent, one.timing
    detectors = agent.features[one.own :]
    numbers = {
        "step": timing.step,
        "yellow": timing.yellow,
        "change": timing.change,
        "clearance": timing.clearance,
        "min_green": timing.min_green,
        "max_red": timing.max_red,
        "slot": timing.slot,
        "links": len(one.links),
        "phases": len(one.greens),
        "movements": len(one.seen_by),
        "detectors": len(detectors),
        "memory": int(one.memory),
    }
    sizes = [f".{key} = {value}" for key, value in numbers.items()]
    values = ", ".join(sizes[:7]) + ",\n    " + ", ".join(sizes[7:])
    tables = ", ".join(f".{key} = {name}_{key}" for key in ("greens", "served", "phase_of", "seen_by", "act"))
    start = f"void {name}_start(hv_signal *signal, const char *lights)"
    second = f"const char *{name}_second(hv_signal *signal, const float detectors[{len(detectors)}], int occupied)"
    return "\n".join(
        [
            f"/* {c.comment(agent.name)}: the whole controller */",
            f"{start};",
            f"{second};",
            c.names(f"{name}_detectors", detectors),
            c.names(f"{name}_links", one.links),
            c.names(f"{name}_greens", one.greens),
            _table("unsigned char", f"{name}_served", one.served.astype(int)),
            _table("int", f"{name}_phase_of", one.phase_of),
            _table("int", f"{name}_seen_by", [feature - one.own for feature in one.seen_by]),
            f"static const hv_controller {name}_controller = {{\n    {values},\n    {tables},\n}};",
            f"\n{start}\n{{\n    hv_start(&{name}_controller, signal, lights);\n}}",
            f"\n{second}\n{{\n    return hv_second(&{name}_controller, signal, detectors, occupied);\n}}",
        ]
    )


def _table(kind: str, name: str, values: Sequence[int] | np.ndarray) -> str:
    flat = np.ravel(values).tolist()
    return f"static const {kind} {name}[{len(flat)}] = {{{', '.join(map(str, flat))}}};"
