"""What games use of SUMO's library: libsumo, or TraCI with the names of libsumo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Part(Protocol):
    """A part of the library, such as `lane`; its functions are those of TraCI's documentation."""

    def __getattr__(self, name: str) -> Callable[..., Any]: ...


class Sumo(Protocol):
    """The library, as far as it is used here."""

    edge: Part
    inductionloop: Part
    junction: Part
    lane: Part
    simulation: Part
    trafficlight: Part
    vehicle: Part
    TraCIException: type[Exception]
    FatalTraCIError: type[Exception]
    TRAFFICLIGHT_TYPE_STATIC: int
    TRAFFICLIGHT_TYPE_ACTUATED: int
    TRAFFICLIGHT_TYPE_DELAYBASED: int

    def start(self, command: list[str]) -> object:
        """Begin the first simulation of the process."""
        ...

    def load(self, arguments: list[str]) -> object:
        """Begin another one in its place."""
        ...

    def isLoaded(self) -> bool:  # noqa: N802
        """Tell whether there is one."""
        ...

    def simulationStep(self, time: float = 0.0) -> object:  # noqa: N802
        """Go on until a time, or by a step."""
        ...

    def close(self) -> None:
        """End the simulation."""
        ...
