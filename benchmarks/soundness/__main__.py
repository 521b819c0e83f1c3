"""Random properties of random trees: are the prover's answers right?

    python -m benchmarks.soundness [--cases 20000] [--seed 0] [--workers 2] [--kind KIND] [--out FOLDER]
    python -m benchmarks.soundness --only "KIND:SEED"      # one case again, with everything about it

A case is one property of one team of trees; files hold two. Exit code 1 if an answer is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.soundness.checks import BROKEN, HOLDS, NOWHERE, UNDECIDED, Verdict, judge, one
from benchmarks.soundness.kinds import KINDS, make
from benchmarks.soundness.workers import spread

ANSWERS = (HOLDS, BROKEN, NOWHERE, UNDECIDED, "refused")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", help="KIND:SEED")
    parser.add_argument("--kind", choices=list(KINDS), help="cases of one kind alone")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.only:
        kind, _, seed = given.only.rpartition(":")
        sys.exit(_again(kind, int(seed)))
    # what is checked by trying everything is quick and leaves no doubt: more of it
    kinds = [kind for kind, (everything, _) in KINDS.items() for _ in range(3 if everything else 1)]
    kinds = [given.kind] if given.kind else kinds
    files = -(-given.cases // 2)
    counts = Counter(kinds[k % len(kinds)] for k in range(files))
    jobs = sorted(((kind, given.seed + k) for kind, count in counts.items() for k in range(count)), key=lambda j: j[1])
    start, verdicts, wrong = time.monotonic(), [], 0
    for done, found in enumerate(spread(one, jobs, given.workers), 1):
        verdicts += found
        for verdict in found:
            if verdict.wrong:
                wrong += 1
                print(f"\nWRONG {verdict.kind}:{verdict.seed} {verdict.property}: {verdict.wrong}", flush=True)
        if done % 100 == 0:
            spent = time.monotonic() - start
            print(f"\r{2 * done} of {2 * len(jobs)} cases, {spent:.0f} s, {wrong} wrong", end="", flush=True)
    print()
    table = report(verdicts)
    print(table)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        command = f"python -m benchmarks.soundness --cases {given.cases} --seed {given.seed}"
        command += f" --kind '{given.kind}'" if given.kind else ""
        (given.out / "report.md").write_text(f"# Soundness\n\nMade by `{command}`.\n\n{table}\n", encoding="utf-8")
    sys.exit(1 if wrong else 0)


def report(verdicts: list[Verdict]) -> str:
    """A table by kind."""
    lines = [
        "| kind | checked by | " + " | ".join(ANSWERS) + " | z3 agrees | wrong |",
        "|---|---|" + "---:|" * (len(ANSWERS) + 2),
    ]
    for kind in [*KINDS, "all"]:
        own = [v for v in verdicts if kind in (v.kind, "all")]
        if not own:
            continue
        counts = Counter(v.answer for v in own)
        ways = " and ".join(sorted({v.way for v in own if v.way}))
        agree = sum(v.known == v.answer for v in own)
        numbers = [*(counts[answer] for answer in ANSWERS), agree, sum(bool(v.wrong) for v in own)]
        lines.append(f"| {kind} | {ways} | " + " | ".join(f"{n:,}" for n in numbers) + " |")
    answered = [v for v in verdicts if v.answer in ANSWERS[:4]]
    share = sum(v.answer == UNDECIDED for v in answered) / max(1, len(answered))
    return "\n".join(lines) + f"\n\n{len(answered):,} answers, {share:.1%} of them undecided."


def _again(kind: str, seed: int) -> int:
    case = make(kind, seed)
    print(case.text)
    for being in case.world.beings:
        print(being)
    print(case.world.knowledge)
    found = list(judge(case, symbolic=True))
    for verdict in found:
        print(verdict)
    return int(any(verdict.wrong for verdict in found))


if __name__ == "__main__":
    main()
