#!/usr/bin/env python3
"""Records ten seconds of the real console into an SVG that moves, through tmux.

    docs/pictures/record.py --bashd target/release/bashd          writes docs/pictures/console.svg

Everything happens in a home of its own. What is typed is `TOUR` below; a step goes on when the screen shows what it waits for. Needs tmux.
"""

import argparse
import re
import subprocess
import tempfile
import time
from html import escape
from pathlib import Path

COLUMNS, ROWS = 88, 24
CELL, LINE, SIZE = 8.4, 18, 14
# What is typed, what the screen must show before it goes on, and how long the picture stays there, in seconds.
TOUR = [
    ("", "", 0.8),
    ("!seq 1 30000 | tail -n 3; echo oops >&2; exit 3", "exit 3", 0.7),
    ("Enter", "failed", 1.6),
    ('{"command": "echo working; sleep 60", "timeout": 1}', "working", 0.7),
    ("Enter", "timed out", 1.8),
    ('{"command": "git push --force origin main"}', "force", 0.7),
    ("Enter", "d denies", 2.2),
    ("d", "denied", 1.2),
    ("/log seq", "/log seq", 0.4),
    ("Enter", "tail -n 3", 1.6),
]
# The sixteen colours of a dark terminal.
PALETTE = "#15171c #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #abb2bf #5c6370 #ff7b86 #b5e890 #ffd68a #7cc4ff #de8ff5 #6fd7e3 #ffffff".split()
BACKGROUND, FOREGROUND = "#15171c", "#c8ccd4"


def colour(number):
    """A colour of 256."""
    if number < 16:
        return PALETTE[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    number -= 16
    steps = [0, 95, 135, 175, 215, 255]
    return "#" + "".join(f"{steps[one]:02x}" for one in (number // 36, number // 6 % 6, number % 6))


class Style:
    """What escape sequences have set."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.fore, self.back, self.bold, self.dim, self.reverse = None, None, False, False, False

    def apply(self, codes):
        codes = iter([int(code or 0) for code in codes.split(";")])
        for code in codes:
            if code == 0:
                self.reset()
            elif code in (1, 2, 7):
                setattr(self, {1: "bold", 2: "dim", 7: "reverse"}[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code == 27:
                self.reverse = False
            elif code in (38, 48):
                value = colour(next(codes)) if next(codes) == 5 else "#%02x%02x%02x" % (next(codes), next(codes), next(codes))
                setattr(self, "fore" if code == 38 else "back", value)
            elif code in (39, 49):
                setattr(self, "fore" if code == 39 else "back", None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.fore = PALETTE[code % 10 + (8 if code >= 90 else 0)]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.back = PALETTE[code % 10 + (8 if code >= 100 else 0)]

    def seen(self):
        fore, back = self.fore or FOREGROUND, self.back
        return (back or BACKGROUND, fore) if self.reverse else (fore, back)


def row(text, y, style):
    """One row of the screen as SVG. A style goes on in the next row."""
    column, found = 0, []
    for part in re.split(r"(\x1b\[[0-9;]*m)", text.rstrip("\n")):
        if part.startswith("\x1b"):
            style.apply(part[2:-1])
            continue
        if not part:
            continue
        fore, back = style.seen()
        x, width = column * CELL, len(part) * CELL
        column += len(part)
        if back:
            found.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE}" fill="{back}"/>')
        if part.strip():
            extra = (' font-weight="bold"' if style.bold else "") + (' opacity=".65"' if style.dim else "")
            words = f'x="{x:.1f}" y="{y + 13.5}" textLength="{width:.1f}" fill="{fore}"{extra}'
            found.append(f"<text {words}>{escape(part)}</text>")
    return "".join(found)


def svg(frames):
    """Frames with their seconds as one picture, which begins again at its end."""
    whole = sum(seconds for _, seconds in frames)
    width, height = COLUMNS * CELL + 24, ROWS * LINE + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">']
    out.append("<title>Ten seconds of bashd console: a command that fails, one that takes too long, one that the guard asks about, and the log</title>")
    out.append(f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>')
    out.append(f'<g transform="translate(12 12)" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="{SIZE}" xml:space="preserve">')
    begun = 0.0
    for index, (screen, seconds) in enumerate(frames):
        # Where nothing moves, the last frame stays.
        shown = "inline" if index == len(frames) - 1 else "none"
        out.append(f'<g display="{shown}">')
        style = Style()
        out.append("".join(row(line, number * LINE, style) for number, line in enumerate(screen.split("\n")[:ROWS])))
        first, last = begun / whole, (begun + seconds) / whole
        times, values = [(0, "none"), (first, "inline"), (last, "none")], {}
        for at, value in times:
            values[min(at, 1)] = value
        keys = sorted(values)
        out.append(
            f'<animate attributeName="display" dur="{whole:.2f}s" repeatCount="indefinite" calcMode="discrete" '
            f'keyTimes="{";".join(f"{key:.4f}".rstrip("0").rstrip(".") for key in keys)}" values="{";".join(values[key] for key in keys)}"/></g>'
        )
        begun += seconds
    return "\n".join([*out, "</g></svg>", ""])


class Console:
    """The console in a tmux of its own."""

    def __init__(self, bashd, home):
        self.socket = str(Path(home) / "tmux")
        workspace = Path(home) / "project"
        workspace.mkdir()
        environment = {"HOME": home, "PATH": f"{Path(bashd).parent}:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        words = ["new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(workspace), f"{bashd} console"]
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], env=environment, check=True)
        self.tmux("set-option", "-g", "status", "off")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=True).stdout

    def screen(self):
        return self.tmux("capture-pane", "-e", "-p", "-N")

    def wait(self, text):
        until = time.monotonic() + 20
        while text not in re.sub(r"\x1b\[[0-9;]*m", "", self.screen()):
            if time.monotonic() > until:
                raise SystemExit(f"the console does not show {text!r}:\n{self.screen()}")
            time.sleep(0.02)


def settled(console):
    """The screen, once it no longer changes."""
    before = None
    for _ in range(50):
        now = console.screen()
        if now == before:
            break
        before = now
        time.sleep(0.1)
    return now


def record(bashd):
    with tempfile.TemporaryDirectory(prefix="bashd-picture-", ignore_cleanup_errors=True) as home:
        console = Console(bashd, home)
        frames = []
        try:
            time.sleep(0.5)
            for keys, wanted, seconds in TOUR:
                if keys in ("", "Enter"):
                    if keys:
                        console.tmux("send-keys", keys)
                else:
                    # As a person types, in a few steps.
                    for at in range(0, len(keys), 12):
                        console.tmux("send-keys", "-l", keys[at : at + 12])
                        time.sleep(0.05)
                        frames.append((console.screen(), 0.09))
                console.wait(wanted)
                frames.append((settled(console), seconds))
        finally:
            subprocess.run(["tmux", "-S", console.socket, "kill-server"], check=False)
        return frames


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bashd", type=Path, required=True, help="the program")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "console.svg")
    given = parser.parse_args()
    given.out.write_text(svg(record(str(given.bashd.resolve()))))
    print(f"{given.out}: {given.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
