#!/usr/bin/env python3
"""Paints screens of the console as PNGs: one for each stop of its tour.

    docs/pictures/paint.py            walks the tour (a test of bashd-cli) and writes docs/pictures/*.png
    docs/pictures/paint.py --from D   paints the screens (*.ansi) that are in a directory

Needs tmux, Pillow and the font DejaVu Sans Mono; `uv run --with pillow docs/pictures/paint.py` has Pillow.
"""

import argparse
import os
import re
import subprocess
import tempfile
import unicodedata
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from record import BACKGROUND, Style

HERE = Path(__file__).resolve().parent
TEST = "a_tour_with_real_programs_shows_what_was_recorded"
FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono{}.ttf"
SIZE, MARGIN = 15, 12


def walk(folder):
    """Has the tour write its screens into a folder."""
    words = ["cargo", "nextest", "run", "--locked", "--workspace", "-E", f"test({TEST})"]
    subprocess.run(words, cwd=HERE, env=os.environ | {"BASHD_TOUR_TO": folder}, check=True)


def mixed(one, other, part):
    """A colour between two."""
    values = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (one, other)]
    return "#" + "".join(f"{round(a * part + b * (1 - part)):02x}" for a, b in zip(*values))


def cells(text, style):
    """The characters of a row with their columns and styles. A style goes on in the next row."""
    column = 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if part.startswith("\x1b"):
            style.apply(part[2:-1])
            continue
        for character in part:
            fore, back = style.seen()
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            yield column, character, mixed(fore, back or BACKGROUND, 0.65) if style.dim else fore, back, style.bold, width
            column += width


def paint(screen):
    """One screen as a picture."""
    plain, bold = (ImageFont.truetype(FONTS.format(kind), SIZE) for kind in ("", "-Bold"))
    width, height = plain.getlength("M"), SIZE + 4
    style = Style()
    rows = [list(cells(row, style)) for row in screen.rstrip("\n").split("\n")]
    columns = max(sum(cell[5] for cell in row) for row in rows)
    picture = Image.new("RGB", (round(columns * width) + 2 * MARGIN, len(rows) * height + 2 * MARGIN), BACKGROUND)
    draw = ImageDraw.Draw(picture)
    for number, row in enumerate(rows):
        y = MARGIN + number * height
        for column, _, _, back, _, wide in row:
            if back:
                x = MARGIN + column * width
                draw.rectangle([round(x), y, round(x + wide * width) - 1, y + height - 1], fill=back)
        for column, character, fore, _, is_bold, _ in row:
            if "─" <= character <= "┼" and character in "─│┌┐└┘├┤┬┴┼":
                line(draw, character, (MARGIN + column * width, y, width, height), fore)
            elif character != " ":
                draw.text((MARGIN + column * width, y), character, font=bold if is_bold else plain, fill=fore)
    return picture.quantize(128, method=Image.Quantize.MAXCOVERAGE)


def line(draw, character, box, colour):
    """A piece of a frame, from edge to edge of its cell: a font leaves gaps between rows."""
    x, y, width, height = box
    middle, centre = x + width / 2, y + height / 2
    for letters, end in (("─┌└├┬┴┼", (x + width, centre)), ("─┐┘┤┬┴┼", (x, centre)), ("│└┘├┤┴┼", (middle, y)), ("│┌┐├┤┬┼", (middle, y + height))):
        if character in letters:
            draw.line([(middle, centre), end], fill=colour)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=Path, help="a directory of screens")
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bashd-tour-") as folder:
        if given.source is None:
            walk(folder)
        for path in sorted((given.source or Path(folder)).glob("*.ansi")):
            target = given.out / f"{path.stem}.png"
            paint(path.read_text()).save(target, optimize=True)
            print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
