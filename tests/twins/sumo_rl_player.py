"""Plays given signal states with sumo-rl's own environment and prints what it counts; run as a program of its own.

Importing sumo_rl needs SUMO_HOME. The program reads one JSON object from stdin and prints another one on stdout.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time


def main() -> None:
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        from sumo_rl import SumoEnvironment

        environment = SumoEnvironment(
            net_file=asked["net"],
            route_file=asked["routes"],
            begin_time=asked["begin"],
            num_seconds=20 * len(asked["states"]),
            delta_time=20,
            yellow_time=3,
            min_green=asked["min_green"],
            sumo_seed=asked["seed"],
            sumo_warnings=False,
            add_system_info=False,
            add_per_agent_info=False,
            reward_fn="queue",
        )
        start = time.perf_counter()
        environment.reset()
        lanes, queued = [], []
        for states in asked["states"]:
            signals = environment.traffic_signals
            greens = {name: [phase.state for phase in signal.green_phases] for name, signal in signals.items()}
            environment.step({name: greens[name].index(state) for name, state in states.items()})
            counted = environment.sumo.lane.getLastStepHaltingNumber
            lanes.append({lane: counted(lane) for signal in signals.values() for lane in signal.lanes})
            queued.append({name: signal.get_total_queued() for name, signal in signals.items()})
        seconds = time.perf_counter() - start
        environment.close()
    print(json.dumps({"lanes": lanes, "queued": queued, "seconds": seconds}))


if __name__ == "__main__":
    main()
