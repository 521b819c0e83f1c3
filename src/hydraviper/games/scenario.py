"""What SUMO is given to load: of a .sumocfg only the options that shape traffic, never one that writes or listens."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from xml.parsers import expat

from hydraviper.data import InputError
from hydraviper.games import sumo_files
from hydraviper.games.sumo_files import InputFile

# What every episode is played with; nothing of the user's own configuration wins over it.
OPTIONS = (
    *("--no-step-log", "true", "--no-warnings", "true", "--verbose", "false", "--duration-log.disable", "true"),
    *("--time-to-teleport", "-1", "--max-depart-delay", "-1", "--waiting-time-memory", "10000"),
    *("--random", "false", "--device.ssm.file", sumo_files.NOWHERE),  # a vehicle's own devices write, too
)
TRIPS = ("--device.tripinfo.probability", "1")  # SUMO follows every trip by itself, which costs it some time
MOST_SEEDS = 2**31  # SUMO's seeds are signed and of 32 bits
LARGEST = 2**20  # bytes of a configuration

FILES = ("net-file", "route-files", "additional-files", "weight-files", "load-state")
_OTHER_NAMES = {
    **{"n": "net-file", "net": "net-file", "r": "route-files", "routes": "route-files"},
    **{"a": "additional-files", "additional": "additional-files", "w": "weight-files", "weights": "weight-files"},
    **{"b": "begin", "e": "end", "s": "route-steps", "x": "weight-attribute", "measure": "weight-attribute"},
    **{"carfollow.model": "default.carfollowmodel", "with-taz": "device.rerouting.with-taz"},
    "railsignal-moving-block": "railsignal.moving-block",
}
_ALLOWED = """
    begin end step-length weight-attribute load-state.offset load-state.remove-vehicles junction-taz
    step-method.ballistic extrapolate-departpos lateral-resolution route-steps no-internal-links ignore-junction-blocker
    ignore-route-errors ignore-accidents max-num-vehicles max-num-persons max-num-teleports scale
    scale-suffix startup-wait-threshold sloppy-insert eager-insert emergency-insert insertion-checks
    random-depart-offset slope-centered time-to-impatience use-stop-ended use-stop-started routing-algorithm
    railway.max-train-length thread-rngs
"""
_ALLOWED_BEGINNINGS = (
    *("collision.", "intermodal-collision.", "time-to-teleport.", "lanechange.", "tls.", "railsignal.", "default."),
    *("overhead-wire.", "parking.", "pedestrian.", "ride.", "mapmatch.", "weights.", "astar.", "persontrip.", "meso-"),
    *("device.rerouting.", "device.routing.", "person-device.rerouting.", "device.battery.", "device.stationfinder."),
    *("device.toc.", "device.driverstate.", "device.bluelight.", "device.elechybrid.", "device.taxi."),
    *("device.glosa.", "device.friction."),
)
_NEVER = re.compile(r"(files?|output|threads|\.wkt|\.wkt\.geo|\.py)$")
# Beyond: crashes, or no end; or lights that cannot change every second.
_RANGES = {"thread-rngs": (1, 1024), "step-length": (0.01, 1), "scale": (0, 100)}
# Not worth a word: what SUMO prints or shows, and what every episode sets by itself.
_SILENT = """
    verbose v no-warnings W suppress-warnings no-step-log step-log.period duration-log.disable no-duration-log
    duration-log.statistics t aggregate-warnings print-options xml-validation X xml-validation.net
    xml-validation.routes language gui-settings-file g start S quit-on-end Q delay d seed srand time-to-teleport
    max-depart-delay waiting-time-memory human-readable-time H precision write-license keep-after-arrival mesosim
"""


@dataclass(frozen=True)
class ExtraPhase:
    """A phase that a map's file lacks: where in its signal's program it belongs."""

    signal: str  # how the signal's identifier begins
    position: int
    seconds: float
    state: str


@dataclass(frozen=True)
class Inputs:
    """What a configuration holds that is used, and what is left out of it."""

    options: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, tuple[InputFile, ...]], ...]  # by the option that names them
    left_out: tuple[str, ...]  # options by name, and files that would have been written

    def all_files(self) -> list[InputFile]:
        """Every file that SUMO opens."""
        direct = [file for _, files in self.files for file in files]
        return [*direct, *(named for file in direct for named in file.reads)]


@dataclass(frozen=True)
class Extras:
    """What a game asks of SUMO beside the scenario."""

    demand: float = 1.0  # times the scenario's own
    keep: int = 0  # seconds for which vehicles that arrived can still be asked
    files: tuple[str, ...] = ()  # more additional files
    trips: bool = True  # whether SUMO counts the stops of every trip, and adds up time loss and travel time


@dataclass(frozen=True)
class Scenario:
    """What SUMO loads: a configuration file, and phases to add."""

    file: Path
    extra_phases: tuple[ExtraPhase, ...] = ()

    @cached_property
    def inputs(self) -> Inputs:
        """What is used of the configuration; read once, when it is needed."""
        return read(self.file)

    @cached_property
    def content(self) -> str:
        """A hash of all that shapes an episode: the options used, every file's content, and the extra phases."""
        files = [(name, [_digests(file) for file in files]) for name, files in self.inputs.files]
        whole = [self.inputs.options, files, [asdict(phase) for phase in self.extra_phases]]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()

    @property
    def scale(self) -> float:
        """How many times its routes the configuration itself asks for."""
        try:
            return float(dict(self.inputs.options).get("scale", 1.0))
        except ValueError:
            return 1.0  # SUMO says what is wrong with it

    def arguments(self, seed: int, extras: Extras | None = None) -> list[str]:
        """SUMO's command line, without the program's name."""
        extras = extras or Extras()
        opened = {name: [file.opened for file in files] for name, files in self.inputs.files}
        if extras.files:
            opened["additional-files"] = [*opened.get("additional-files", ()), *extras.files]
        files = [f"--{name}={','.join(paths)}" for name, paths in opened.items()]
        chosen = dict(self.inputs.options)
        if extras.demand != 1:
            chosen["scale"] = repr(extras.demand * self.scale)
        if extras.keep:
            chosen["keep-after-arrival"] = str(extras.keep)
        options = [f"--{name}={value}" for name, value in chosen.items()]
        followed = TRIPS if extras.trips else ()
        return [*files, *options, *OPTIONS, *followed, "--seed", str(seed % MOST_SEEDS)]


def _digests(file: InputFile) -> list[str]:
    return [file.digest, *(other.digest for other in file.reads)]


def files_of(file: Path) -> tuple[Path, ...]:
    """Every file that a .sumocfg makes SUMO read, itself included."""
    return file, *(one.path for one in read(file).all_files())


def seconds_of(file: Path) -> float:
    """How long a .sumocfg itself lets its simulation run; without an end of its own, for ever."""
    options = {_OTHER_NAMES.get(name, name): value for name, value in _entries(file)}
    begin, end = (sumo_files.seconds(options.get(name, "")) for name in ("begin", "end"))
    return math.inf if end is None or end < 0 else end - (begin or 0.0)


def read(file: Path) -> Inputs:
    """Read a .sumocfg by ourselves; SUMO never sees it."""
    options: dict[str, str] = {}
    files: dict[str, tuple[InputFile, ...]] = {}
    left_out: list[str] = []
    for given, value in _entries(file):
        name = _OTHER_NAMES.get(given, given)
        if name == "mesosim" and value.lower() not in ("false", "no", "off", "0"):
            raise InputError(f"{file} asks for mesosim, which plays no single vehicles for signals to see: remove it.")
        if name in FILES:
            named = [_located(file, part.strip()) for part in re.split("[,;]", value) if part.strip()]
            needs = "edge" if name == "net-file" else ""  # SUMO crashes on a network without roads
            files[name] = tuple(sumo_files.prepare(path, needs) for path in named)
        elif _is_allowed(name):
            options[name] = _within(file, name, value)
        elif name not in _SILENT.split():
            left_out.append(name)
    if not files.get("net-file"):
        raise InputError(f"{file} names no net-file: pass the .sumocfg of a network.")
    left_out += [written for _, used in files.items() for one in used for written in one.left_out]
    return Inputs(
        tuple(options.items()),
        tuple((name, used) for name, used in files.items() if used),
        tuple(dict.fromkeys(left_out)),
    )


def _is_allowed(option: str) -> bool:
    return option in _ALLOWED.split() or (option.startswith(_ALLOWED_BEGINNINGS) and not _NEVER.search(option))


def _within(file: Path, option: str, value: str) -> str:
    """The value, if it is in the range of options that can bring SUMO down; SUMO itself judges all others."""
    if option in _RANGES:
        least, most = _RANGES[option]
        try:
            number = float(value)
        except ValueError:
            return value  # SUMO says what is wrong with it
        if not least <= number <= most:
            raise InputError(f"{file} asks for a {option} of {value}: choose one from {least:g} to {most:g}.")
    return value


def _located(file: Path, name: str) -> Path:
    """A file that a configuration names, which lies beside it unless its path says otherwise."""
    expanded = re.sub(r"\$\{(\w+)\}", lambda match: os.environ.get(match[1], match[0]), name)
    try:
        return (file.parent / Path(expanded).expanduser()).resolve()
    except (ValueError, RuntimeError, OSError):
        raise InputError(
            f"{file} names the file {sumo_files.shorten(name)!r}, which cannot be: correct its path."
        ) from None


def _entries(file: Path) -> list[tuple[str, str]]:
    """The options of a configuration with their values, as `<name value="..."/>` or as text."""
    if not sumo_files.is_plain(file):
        raise InputError(f"there is no file {sumo_files.shorten(str(file))}: pass the path of a .sumocfg.")
    found: list[tuple[str, str]] = []
    open_elements: list[list[str]] = []  # name, text so far

    def start(name: str, attributes: dict[str, str]) -> None:
        open_elements.append([name, ""])
        value = attributes.get("value", attributes.get("v"))
        if value:
            found.append((name, value))

    def text(piece: str) -> None:
        if open_elements:
            open_elements[-1][1] += piece

    def end(name: str) -> None:
        _, inside = open_elements.pop()
        if inside.strip():
            found.append((name, inside.strip()))

    def refuse(*_: object) -> None:
        raise InputError(f"{file} has a document type (<!DOCTYPE>), which a .sumocfg does not need: remove it.")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = refuse
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise InputError(f"{file} is larger than a .sumocfg can be: pass the configuration, not the network.")
        parser.Parse(content, True)
    except InputError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InputError(f"SUMO rejects {file}: it is no sound XML ({error}).") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}): check the file.") from None
    return found
