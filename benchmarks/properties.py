"""The shipped properties for a game: do plain trees have them, do constrained ones, and what does that cost?

    python -m benchmarks.properties GAME [--expert FILE] [--train N --valid N --iterations N --depth N] [--out FOLDER]

writes FOLDER/GAME.json and FOLDER/GAME.md.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path

import hydraviper
from hydraviper.games import catalogue
from hydraviper.records import to_json
from hydraviper.runs.price import price
from hydraviper.runs.verify import property_answers
from hydraviper.verify.constraints import Constraints
from hydraviper.verify.obligations import obligations_for
from hydraviper.verify.prover.proof import verify


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("game")
    parser.add_argument("--expert", type=Path)
    parser.add_argument("--train", type=int, default=500)
    parser.add_argument("--valid", type=int, default=1500)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--features", default="plain")
    parser.add_argument("--episodes", type=int)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--together", action="store_true", help="only the price of all properties together")
    parser.add_argument("--out", type=Path, default=Path("results/properties"))
    given = parser.parse_args()
    game = hydraviper.make(given.game)
    expert = hydraviper.shipped_expert(game) if given.expert is None else hydraviper.load_expert(given.expert, game)
    suits = game.recommended
    settings = hydraviper.Settings(
        train_budget=given.train,
        valid_budget=given.valid,
        iterations=given.iterations,
        depth=given.depth,
        features=given.features,
        rollouts_per_iteration=suits.rollouts_per_iteration,
        ucb_scale=suits.ucb_scale,
    )
    rules, variant = obligations_for(game), hydraviper.VARIANTS["hydraviper"]
    episodes = given.episodes or suits.evaluation_episodes
    start = time.perf_counter()
    with hydraviper.LocalEngine(catalogue.maker(game), given.workers) as engine:
        keeping = Constraints(rules)
        made = hydraviper.distill(game, expert, settings, variant, engine, constraints=keeping).profile.students
        distilled = time.perf_counter() - start
        answers = verify(rules, made)
        each = not given.together
        costs = price(game, expert, settings, variant, engine, keeping, made, episodes=episodes, each=each)
    expert_name = "shipped" if given.expert is None else given.expert.name
    result = {
        "game": game.name,
        "score": {"name": game.score.name, "lower_is_better": game.score.lower_is_better},
        "settings": settings.to_json(),
        "expert": expert_name,
        "command": shlex.join(["python", "-m", "benchmarks.properties", *sys.argv[1:]]).replace(
            str(given.expert), expert_name
        ),
        "seconds": {"constrained distillation": distilled, "all": time.perf_counter() - start},
        "answers": to_json(property_answers(rules, answers)),
        "price": to_json(costs),
    }
    name = game.name + ("" if given.depth == 4 else f"-depth-{given.depth}")
    name += "" if given.features == "plain" else f"-{given.features}"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / f"{name}.json").write_text(json.dumps(result, indent=1))
    (given.out / f"{name}.md").write_text(table(result))
    print(table(result))


def table(result: dict) -> str:
    score, costs, settings = result["score"], result["price"], result["settings"]
    better = "lower" if score["lower_is_better"] else "higher"
    answers = {answer["property"]: answer["answer"] for answer in result["answers"]}
    lines = [
        f"# {result['game']}, depth {settings['depth']}, {settings['features']} features",
        "",
        f"{score['name']} ({better} is better), {costs['episodes']} unseen episodes, mean and 95 % interval; "
        "a cost is the loss on the same seeds, paired.",
        "",
        "| constraint | without it | constrained trees | score without | score with | cost |",
        "|---|---|---|---|---|---|",
    ]
    rows = list(costs["each"].items())
    for name, own in [*rows, ("all together", costs["all"])]:
        before = own.get("answer without", "")
        after = answers.get(name) or ("holds" if set(answers.values()) == {"holds"} else "not all hold")
        keys = ("without", "with", "cost")
        numbers = [f"{own[key]['mean']:.2f} ± {own[key]['ci95']:.2f}" if key in own else "" for key in keys]
        lines.append(f"| {name} | {before} | {after} | {' | '.join(numbers)} |")
    lines += [
        "",
        f"{settings['train_budget']} training and {settings['valid_budget']} validation rollouts, "
        f"{settings['iterations']} iterations, seed {settings['seed']}, expert: {result['expert']}.",
        f"Made by `{result['command']}`.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
