"""A read-only copy of the studio as static files, to send to a colleague: no server, nothing from outside."""

from collections.abc import Collection
from html import escape
from pathlib import Path
from urllib.parse import quote

from hydraviper import InputError, Run
from hydraviper.runs.draw import copied_page
from hydraviper.runs.edit import in_words
from hydraviper.runs.folder import new_folder
from hydraviper.runs.listing import Listed
from hydraviper.studio.shelf import Shelf


def write_copy(folder: Path, out: Path) -> list[Path]:
    """Write a page for every finished run and a list of them into a new folder; the files that were written."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} already holds something, or is a file: pass a new folder with --export.")
    shelf = Shelf(folder)
    found = [one for one in shelf.runs() if not one.problem]
    if not found:
        raise InputError(f"{folder} holds no run that can be read: there is nothing to copy.")
    pages: dict[str, str] = {}
    problems: dict[str, str] = {}
    for one in found:
        try:
            pages[one.name] = _run_page(one, shelf.open(one.name))
        except InputError as error:  # under way, or stopped
            problems[one.name] = str(error)
    with new_folder(out, out.parent, out.name) as target:
        contents = {f"{name}.html": text for name, text in pages.items()}
        contents["index.html"] = _index(found, pages.keys(), problems)
        for name, text in contents.items():
            (target / name).write_text(text, encoding="utf-8")
    return [out / name for name in contents]


def _index(found: list[Listed], pages: Collection[str], problems: dict[str, str]) -> str:
    rows = []
    for one in found:
        name = f'<a href="{quote(one.name)}.html">{escape(one.name)}</a>' if one.name in pages else escape(one.name)
        score = "" if one.score is None else f"{one.score.name} {one.score.mean:.2f} ± {one.score.ci95:.2f}"
        expert = "" if one.expert is None else f"{one.expert.mean:.2f}"
        told = (one.game, one.algorithm, score, expert, problems.get(one.name, one.state))
        rows.append(f"<tr><th scope=row>{name}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in told)}</tr>")
    heads = "".join(f"<th scope=col>{head}</th>" for head in ("run", "game", "algorithm", "score", "expert", "state"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return copied_page("Runs", f'<h1>Runs</h1><div class="scroll">{table}</div>')


def _run_page(one: Listed, run: Run) -> str:
    """A run: its score, its edits, and every tree beside an episode that plays."""
    score = "" if one.score is None else f"{one.score.name} {one.score.mean:.2f} ± {one.score.ci95:.2f}"
    expert = "" if one.expert is None else f"; the expert {one.expert.mean:.2f}"
    edits = "".join(f"<li>{escape(in_words(record))}</li>" for record in run.trees.edits)
    above = (
        f'<p><a href="index.html">All runs</a></p><h1>{escape(one.name)}</h1><p>{escape(one.game)}, '
        f"{escape(one.algorithm)}: {escape(score)}{escape(expert)}</p>"
        + (f"<h2>Edited by hand</h2><ol>{edits}</ol>" if edits else "")
    )
    return copied_page(one.name, above, run)
