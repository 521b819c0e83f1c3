"""Whole controllers in Structured Text: per signal the tree's block, and one that shows its choices as lights."""

from collections.abc import Mapping
from importlib import resources

from hydraviper.controllers import LONGEST_MEMORY, Controller
from hydraviper.export import structured_text
from hydraviper.export.common import Program, identifiers, programs
from hydraviper.export.structured_text import KEYWORDS, comment
from hydraviper.trees.file import TreesFile

LIGHTS = "rygGsuoO"  # a light's number is its place: red, yellow, green that yields, green; then SUMO's rare ones
_CONSTANTS = (
    "links movements last_link last_phase last_movement between yellow change clearance min_green max_red slot "
    "longest_memory"
)
_TABLES = "greens served phase_of"
_STATE = "until_choice until_red until_green put_off green_for goal shown wanted urgent longest due"
_COUNTERS = "link phase movement other"
_OTHERS = "restart occupied started lights lights_before tree alike late red_for waited waiting is_green oldest"
_OWN = frozenset(" ".join((_CONSTANTS, _TABLES, _STATE, _COUNTERS, _OTHERS)).split())


def to_structured_text_controllers(trees: TreesFile, controllers: Mapping[str, Controller]) -> str:
    """A file with the trees' blocks, and for each signal a block that turns detectors into lights, second by second."""
    agents = programs(trees, KEYWORDS, every_input=True)
    names = identifiers((f"{program.name}_control" for program in agents), {*KEYWORDS, *(one.name for one in agents)})
    pairs = zip(names, agents, strict=True)
    blocks = [_block(name, program, controllers[program.agent.name]) for name, program in pairs]
    return "\n\n".join([*structured_text.parts_of(trees, agents), *blocks]) + "\n"


def _block(name: str, program: Program, one: Controller) -> str:
    """The function block of one signal."""
    words = identifiers(program.agent.features, {*KEYWORDS, *_OWN, name, program.name})
    shape = f"ARRAY [0..{len(one.links) - 1}] OF INT"
    lines = [_about(program, one), f"FUNCTION_BLOCK {name}", "VAR_INPUT"]
    lines += ["    restart : BOOL; (* begin again, with the lights that are shown *)"]
    lines += [f"    lights_before : {shape}; (* what is shown when it begins *)"]
    lines += ["    occupied : BOOL; (* slow vehicles whose way in is not green any more are inside the junction *)"]
    detectors = range(one.own, len(words))
    lines += [f"    {words[k]} : REAL; (* {comment(program.agent.features[k])} *)" for k in detectors]
    lines += ["END_VAR", "VAR_OUTPUT", f"    lights : {shape}; (* 0 red, 1 yellow, 2 green that yields, 3 green *)"]
    lines += [f"    (* {k} = {comment(link)} *)" for k, link in enumerate(one.links)]
    lines += ["    goal : INT := -1; (* the phase that is green, or becomes green next; -1: none *)", "END_VAR"]
    lines += [*_constants(one), *_variables(program, one)]
    machine = (resources.files("hydraviper.export") / "controller.st").read_text(encoding="utf-8").rstrip()
    waiting = (f"waiting[{k}] := {words[feature]} > REAL#0.0;" for k, feature in enumerate(one.seen_by))
    machine = machine.replace("{waiting}", "\n".join(f"            {line}" for line in waiting))
    given = (f"{program.inputs[k]} := {value}" for k, value in enumerate(_inputs(one, words)))
    machine = machine.replace(
        "{tree}", "            tree(\n" + ",\n".join(f"                {g}" for g in given) + ");"
    )
    return "\n".join([*lines, machine, "END_FUNCTION_BLOCK"])


def _about(program: Program, one: Controller) -> str:
    limit = f"a movement with waiting vehicles gets green within {one.timing.max_red} seconds."
    lines = [
        f"{comment(program.agent.name)}: the whole controller. Call it once per second and show its lights meanwhile.",
        f"Detectors are read when the tree is asked, every {one.timing.step} seconds. Whatever it answers: a green",
        f"lasts at least {one.timing.min_green} seconds; before the next one come {one.timing.yellow} of yellow and "
        f"{one.timing.all_red} of all-red,",
        f"and at most {one.timing.clearance} more while the junction is occupied;",
        limit if one.timing.max_red else "no red has a limit (max_red = 0).",
    ]
    return "(* " + "\n   ".join(lines) + " *)"


def _inputs(one: Controller, words: list[str]) -> list[str]:
    """What the tree is given: what the controller knows itself, and the detectors."""
    known = [f"is_green[{k}]" for k in range(len(one.greens))]
    if one.memory:
        known += [f"INT_TO_REAL(red_for[{k}])" for k in range(len(one.greens))]
    return [*known, *words[one.own :]]


def _constants(one: Controller) -> list[str]:
    links, phases, movements, timing = len(one.links), len(one.greens), len(one.seen_by), one.timing
    names = ("step", "yellow", "change", "clearance", "min_green", "max_red", "slot")
    seconds = (getattr(timing, name) for name in names)
    values = (links, movements, links - 1, phases - 1, movements - 1, *seconds, LONGEST_MEMORY)
    lines = ["VAR CONSTANT"]
    lines += [f"    {word} : INT := {value};" for word, value in zip(_CONSTANTS.split(), values, strict=True)]
    greens = [LIGHTS.index(light) for green in one.greens for light in green]
    tables = (greens, one.served.astype(int).ravel().tolist(), one.phase_of)
    for word, table in zip(_TABLES.split(), tables, strict=True):
        lines.append(f"    {word} : ARRAY [0..{len(table) - 1}] OF INT := [{', '.join(map(str, table))}];")
    return [*lines, "END_VAR"]


def _variables(program: Program, one: Controller) -> list[str]:
    sizes = {"red_for": len(one.greens), "oldest": len(one.greens), "waited": len(one.seen_by)}
    lines = ["VAR", f"    tree : {program.name};", "    started : BOOL := FALSE;"]
    lines += [f"    {word} : INT;" for word in (*_STATE.split(), *_COUNTERS.split()) if word != "goal"]
    lines += [f"    {word} : BOOL;" for word in ("alike", "late")]
    lines += [f"    {word} : ARRAY [0..{size - 1}] OF INT;" for word, size in sizes.items()]
    lines += [f"    waiting : ARRAY [0..{len(one.seen_by) - 1}] OF BOOL;"]
    lines += [f"    is_green : ARRAY [0..{len(one.greens) - 1}] OF REAL;"]
    return [*lines, "END_VAR"]
