"""Street by street: how long people wait on each road into a signal, so that a starved one is seen at a glance."""

from collections.abc import Mapping, Sequence
from html import escape

from hydraviper.data import StreetRecord
from hydraviper.drawing.charts import Marked, table
from hydraviper.records import Evaluation

LONG = 120.0  # seconds of waiting from which on a street stands out
POOR = ("E", "F")  # levels of service that do


def streets(evaluation: Evaluation) -> str:
    """The section about streets; nothing if nobody watched them."""
    ours = evaluation.streets.get("trees", ())
    if not ours:
        return ""
    others = {name: rows for name, rows in evaluation.streets.items() if name != "trees"}
    words = (
        f"Every road into a signal, over the same {evaluation.score.episodes:,} episodes. A vehicle is on it from when "
        "it passes the signal before, or is due. The mean wait is what its vehicles lose on the way to the signal, "
        "waiting to enter the map included; the level of service goes by it (Highway Capacity Manual: A up to 10 s, B "
        "20, C 35, D 55, E 80, F more). The longest wait is how long anybody stood still or waited to enter, looked at "
        "once per step."
    )
    heads = ("", "vehicles served", "mean wait, s", "level of service", "longest wait, s", "could not enter")
    compared = [f"{name}: mean wait, s, and level" for name in others]
    rows = [_row(street, _beside(street, others)) for street in ours]
    return "\n".join(
        [
            "<h2>Street by street</h2>",
            f"<p>{escape(words)}</p>",
            f"<p><b>{escape(_standing_out(ours))}</b></p>",
            table((*heads, *compared), rows),
        ]
    )


def stands_out(street: StreetRecord) -> bool:
    """Whether people wait too long there."""
    return street.level_of_service in POOR or street.longest_wait > LONG


def _standing_out(rows: Sequence[StreetRecord]) -> str:
    poor = sum(stands_out(street) for street in rows)
    if not poor:
        return f"On no street is the level of service E or F, or a wait longer than {LONG:.0f} s."
    stand = "stands" if poor == 1 else "stand"
    return f"{poor} of {len(rows)} streets {stand} out: level of service E or F, or a wait longer than {LONG:.0f} s."


def _row(street: StreetRecord, beside: Sequence[str]) -> list[str]:
    poor = street.level_of_service in POOR
    return [
        Marked(street.street) if stands_out(street) else street.street,
        f"{street.served:,.1f}",
        _marked(f"{street.mean_wait:,.1f}", poor),
        _marked(street.level_of_service or "–", poor),
        _marked(f"{street.longest_wait:,.0f}", street.longest_wait > LONG),
        _marked(f"{street.outside:,.1f}", street.outside >= 1),
        *beside,
    ]


def _beside(street: StreetRecord, others: Mapping[str, Sequence[StreetRecord]]) -> list[str]:
    """The same street under other policies."""
    found = [next((one for one in rows if one.street == street.street), None) for rows in others.values()]
    return ["–" if one is None else f"{one.mean_wait:,.1f} {one.level_of_service or '–'}" for one in found]


def _marked(words: str, marked: bool) -> str:
    return Marked(words) if marked else words
