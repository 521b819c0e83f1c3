"""The paper's two tables, which all studies set beside their own rows: means over 10 seeds of 10 episodes each.

Chen, Milani, Zhang, Sadeh, Fang: Making Teams and Influencing Agents (HYDRAVIPER). The scores of its figures on
clustering, hyperparameters and ablations and the runtime of single steps are drawn there and not written as numbers.
"""

from hydraviper.data import Estimate

NAVIGATION, DECEPTION = "cooperative-navigation", "physical-deception"
COLOGNE, INGOLSTADT = "cologne-corridor", "ingolstadt-corridor"
GAMES = (NAVIGATION, DECEPTION, COLOGNE, INGOLSTADT)
SPECS = {name: f"{name}:variation=0" for name in (COLOGNE, INGOLSTADT)}  # every day is the same
SEEDS, EPISODES = 10, 10
# What the paper's numbers tell, where our score is another: "the total number of stopped vehicles in all lanes".
STOPPED = "stopped vehicles, whole network"
MEASURES = {COLOGNE: STOPPED, INGOLSTADT: STOPPED}


def _table(*columns: str, **games: str) -> dict[str, dict[str, Estimate]]:
    """Columns and, for each game, its cells `mean half-width` in their order."""
    rows = {}
    for game, text in games.items():
        numbers = [float(number) for number in text.replace(",", " ").split()]
        cells = (Estimate(mean, half, SEEDS) for mean, half in zip(numbers[::2], numbers[1::2], strict=True))
        rows[game.replace("_", "-")] = dict(zip(columns, cells, strict=True))
    return rows


# Table 1, "Performance and runtimes": high budget, HYDRAVIPER also at the low one (LB).
# Its interval for IVIPER on the Ingolstadt corridor, 2.13, is 2.91 in the full table.
TABLE1_SCORE = _table(
    *("expert", "iviper", "maviper", "hydraviper", "hydraviper low"),
    cooperative_navigation="122.67 1.67, 160.87 4.31, 144.35 2.12, 144.48 2.67, 144.84 2.12",
    physical_deception="8.19 0.50, 6.94 0.52, 7.74 0.82, 7.72 0.53, 7.12 0.84",
    cologne_corridor="18.94 2.49, 22.06 2.91, 25.85 5.22, 16.72 1.51, 18.77 3.69",
    ingolstadt_corridor="23.01 1.10, 21.51 2.13, 24.26 2.54, 19.77 1.51, 21.87 1.59",
)
TABLE1_SECONDS = _table(
    *("iviper", "maviper", "hydraviper", "hydraviper low"),
    cooperative_navigation="2444.6 9.1, 21188.7 408.6, 206.2 11.1, 180.5 9.3",
    physical_deception="2017.2 21.3, 11782.4 137.8, 1173.5 21.6, 388.4 5.6",
    cologne_corridor="33841.4 441.3, 37503.8 834.8, 13651.6 254.2, 1865.4 26.1",
    ingolstadt_corridor="75927.5 203.3, 58676.4 1392.3, 11263.8 55.8, 6462.4 30.9",
)

EXPERT = {game: columns["expert"] for game, columns in TABLE1_SCORE.items()}

_BUDGETS = ("high/high", "mid/high", "low/high", "high/mid", "high/low", "low/low")  # training / validation rollouts
PARTICLE_BUDGETS = dict(
    zip(_BUDGETS, ((5000, 5000), (2500, 5000), (500, 5000), (5000, 2500), (5000, 1500), (500, 1500)), strict=True)
)
CORRIDOR_BUDGETS = dict(
    zip(_BUDGETS, ((1000, 1000), (500, 1000), (100, 1000), (1000, 500), (1000, 100), (100, 100)), strict=True)
)

# The full table of budgets, an algorithm at a time. Imitation does not validate, so it has three budgets only;
# the second and third of its means on the Cologne corridor are the ones of cooperative navigation to the last digit.
FULL = {
    "imitation": _table(
        *("high/high", "mid/high", "low/high"),
        cooperative_navigation="221.19 8.58, 211.84 6.32, 218.22 5.90",
        physical_deception="6.27 0.43, 5.73 0.31, 5.32 0.61",
        cologne_corridor="137.67 0.64, 211.84 8.00, 218.22 10.29",
        ingolstadt_corridor="169.43 5.26, 170.55 3.41, 166.99 3.67",
    ),
    "iviper": _table(
        *_BUDGETS,
        cooperative_navigation="160.87 4.31, 161.62 3.66, 166.11 2.67, 161.94 4.93, 163.25 3.60, 168.31 5.52",
        physical_deception="6.94 0.52, 6.60 0.67, 6.40 0.44, 7.51 0.81, 6.28 0.80, 6.03 0.70",
        cologne_corridor="22.06 2.91, 21.60 2.50, 22.05 2.72, 22.07 3.83, 19.73 1.43, 23.40 3.53",
        ingolstadt_corridor="21.51 2.91, 21.79 1.67, 22.46 2.52, 20.08 0.97, 22.26 1.62, 27.23 5.31",
    ),
    "maviper": _table(
        *_BUDGETS,
        cooperative_navigation="144.35 2.12, 146.28 3.34, 146.91 3.90, 145.27 3.07, 145.10 4.69, 153.66 4.07",
        physical_deception="7.74 0.82, 7.84 0.66, 6.30 0.45, 6.84 1.21, 6.64 1.37, 7.36 0.99",
        cologne_corridor="25.85 5.22, 28.82 6.86, 24.47 5.21, 21.84 4.33, 22.50 4.38, 28.91 7.27",
        ingolstadt_corridor="24.26 2.54, 23.21 1.12, 25.20 2.29, 24.30 3.79, 22.18 0.87, 23.31 1.44",
    ),
    "hydraviper": _table(
        *_BUDGETS,
        cooperative_navigation="144.48 2.67, 144.13 1.59, 148.71 2.80, 144.66 1.62, 143.86 1.54, 144.84 2.12",
        physical_deception="7.72 0.53, 7.91 0.40, 7.58 0.91, 7.38 0.63, 6.85 0.70, 7.12 0.84",
        cologne_corridor="16.72 1.51, 19.13 2.70, 16.75 1.85, 20.06 4.15, 17.12 2.07, 18.77 3.69",
        ingolstadt_corridor="19.77 1.51, 18.48 0.74, 20.11 1.57, 20.25 1.26, 20.28 2.04, 21.87 1.59",
    ),
}

# The UCB constant c that the paper found best.
BEST_UCB_SCALE = {NAVIGATION: 4.0, DECEPTION: 2.0, COLOGNE: 16.0, INGOLSTADT: 4.0}


def score(game: str, algorithm: str, train: str, valid: str) -> Estimate | None:
    """The published score of an algorithm at levels of training and validation (high, mid, low), if there is one."""
    return FULL.get(algorithm, {}).get(game, {}).get(f"{train}/{valid}")


def seconds(game: str, algorithm: str, train: str, valid: str) -> Estimate | None:
    """The runtime that Table 1 has, if it has one."""
    column = {"high/high": algorithm, "low/low": f"{algorithm} low"}.get(f"{train}/{valid}", "")
    return TABLE1_SECONDS.get(game, {}).get(column)
