"""Draw docs/images/rooms.svg: the rooms of the package and who imports whom, read from the code.

`python docs/draw_rooms.py` writes the picture; a test compares it with the code. A room is a package or a module
directly in `hydraviper`. Rooms stand in the order of the layers that import-linter holds (pyproject.toml), so every
dot lies right of the diagonal.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hydraviper"
OUT = ROOT / "docs" / "images" / "rooms.svg"
STEP, TOP, LEFT = 22, 92, 600  # pixels: a row's height, above the rows, left of the dots
LETTERS = 70  # of a room's description


def main() -> None:
    OUT.write_text(draw())


def draw() -> str:
    rows, about, imports = layers(), descriptions(), room_imports()
    rooms = [room for layer in rows for room in layer]
    width, height = LEFT + len(rooms) * STEP + 40, TOP + len(rooms) * STEP + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'role="img" aria-label="The rooms of hydraviper and the rooms that each imports">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for i, room in enumerate(rooms):
        turn = f"translate({LEFT + i * STEP + 14} {TOP - 8}) rotate(-55)"
        parts.append(f'<text transform="{turn}" font-size="11.5" fill="#1a1d21">{name(room)}</text>')
    parts += [row(k, room, about[room], rooms, imports[room]) for k, room in enumerate(rooms)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def layers() -> list[list[str]]:
    """The rows of rooms, highest first, as import-linter's contract has them."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [[room.strip() for room in layer.replace("|", ":").split(":")] for layer in contract["layers"]]


def files() -> dict[Path, str]:
    """The room of each source file."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        if parts != ("__init__.py",):
            found[path] = parts[0].removesuffix(".py")
    return found


def descriptions() -> dict[str, str]:
    """The first sentence of each room's docstring."""
    about = {}
    for path, room in files().items():
        if path.parent == SOURCE or (path.name == "__init__.py" and path.parent.parent == SOURCE):
            about[room] = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].replace("\n", " ")
    return about


def room_imports() -> dict[str, set[str]]:
    """The rooms that each room imports, imports inside functions included."""
    rooms = set(files().values())
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for path, room in files().items():
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                package, *inside = name.split(".")
                if package == "hydraviper" and inside and inside[0] in rooms - {room}:
                    found[room].add(inside[0])
    return found


def row(k: int, room: str, about: str, rooms: list[str], imports: set[str]) -> str:
    """A room's name, what it is for, and a dot under each room that it imports."""
    y = TOP + k * STEP
    words = textwrap.shorten(about.split(". ")[0].rstrip("."), LETTERS, placeholder=" …")
    cells = [f'<rect x="{LEFT + k * STEP}" y="{y}" width="{STEP}" height="{STEP}" fill="#d5dae1"/>']
    for i, other in enumerate(rooms):
        if other in imports:
            x = LEFT + i * STEP + STEP // 2
            cells.append(f'<circle cx="{x}" cy="{y + STEP // 2}" r="5" fill="#1d4ed8"/>')
    return (
        f"<g><title>{escape(about)}\nimports {', '.join(sorted(imports)) or 'nothing'}</title>"
        f'<text x="12" y="{y + 15}" font-size="12.5" font-weight="bold" fill="#1a1d21">{name(room)}</text>'
        f'<text x="112" y="{y + 15}" font-size="11.5" fill="#5b6470">{escape(words)}</text>'
        f'<path d="M12 {y + STEP}H{LEFT + len(rooms) * STEP}" stroke="#e7eaee"/>{"".join(cells)}</g>'
    )


def name(room: str) -> str:
    return f"{room}/" if (SOURCE / room).is_dir() else f"{room}.py"


if __name__ == "__main__":
    main()
