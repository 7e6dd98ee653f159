"""Draw the rooms of the package and the imports between them: ``python -m tests.house.rooms_picture``.

Each room is above all rooms that it imports. An arrow that follows from two others is left out, as in a Hasse
diagram. A test compares docs/rooms.svg with the imports.
"""

from __future__ import annotations

from pathlib import Path

from tests.house.test_imports import BELOW

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "rooms.svg"

WIDTH, HEIGHT, BOX, GAP = 920, 84, (132, 36), 24

#: What each room is for, in three or four words.
WORDS = {
    "kernel": "checks certificates",
    "core": "claims, data, verdicts",
    "distributions": "exact distributions",
    "coins": "randomness of programs",
    "certify": "finds certificates",
    "prover": "proves programs",
    "blackbox": "samples functions",
    "replay": "replays programs",
    "suite": "kinds of rows",
    "report": "reads and shows reports",
    "run": "runs suites",
    "verify": "checks reports",
    "cli": "command line",
    "pytest_plugin": "pytest",
}


def floors() -> list[list[str]]:
    """Return the rooms by floor, from the bottom up."""
    level: dict[str, int] = {}
    while len(level) < len(BELOW):
        for room, below in BELOW.items():
            if room not in level and below <= level.keys():
                level[room] = 1 + max((level[other] for other in below), default=-1)
    return [[room for room in BELOW if level[room] == floor] for floor in range(max(level.values()) + 1)]


def arrows() -> list[tuple[str, str]]:
    """Return the imports that do not follow from two others."""
    return [
        (room, other)
        for room, below in BELOW.items()
        for other in sorted(below)
        if not any(other in BELOW[between] for between in below)
    ]


def picture() -> str:
    """Return the drawing as SVG."""
    rows = floors()
    height = HEIGHT * len(rows)
    places: dict[str, tuple[float, float]] = {}
    for floor, rooms in enumerate(rows):
        for place, room in enumerate(rooms):
            x = WIDTH / 2 + (place - (len(rooms) - 1) / 2) * (BOX[0] + GAP)
            places[room] = (x, height - HEIGHT * (floor + 0.5))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#607d8b"/></marker></defs>',
    ]
    for room, other in arrows():
        (x1, y1), (x2, y2) = places[room], places[other]
        lines.append(
            f'<line x1="{x1:.0f}" y1="{y1 + BOX[1] / 2:.0f}" x2="{x2:.0f}" y2="{y2 - BOX[1] / 2:.0f}" '
            'stroke="#607d8b" marker-end="url(#tip)"/>'
        )
    for room, (x, y) in places.items():
        lines += [
            f'<rect x="{x - BOX[0] / 2:.0f}" y="{y - BOX[1] / 2:.0f}" width="{BOX[0]}" height="{BOX[1]}" '
            'rx="5" fill="#e0f2f1" stroke="#00796b"/>',
            f'<text x="{x:.0f}" y="{y - 2:.0f}" text-anchor="middle" font-size="13" fill="#222222">'
            f"{room}</text>",
            f'<text x="{x:.0f}" y="{y + 12:.0f}" text-anchor="middle" font-size="9.5" fill="#444444">'
            f"{WORDS[room]}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
