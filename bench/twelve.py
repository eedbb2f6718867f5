#!/usr/bin/env python3
"""Does twelve things twice, in bashd and in the tool that people love for it, and counts keys and seconds.

    bench/twelve.py --bashd target/release/bashd               prints the table
    bench/twelve.py --bashd target/release/bashd --write       writes it into docs/twelve.md

Both sides really run, in a shell in a tmux of its own with a home of its own. A key is a character that is typed, Enter and Ctrl with a letter included. The
seconds are those from the first key until what was asked for is on the screen; nobody thinks or slips. Each side is done several times, in turn, and the median counts.
Needs tmux, task-spooler (`tsp`), lazygit, jj, atuin, htop, asciinema, gh, uv, shellcheck and git; a tool that is missing is said so in the table.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "twelve.md"
MARK = "<!-- made by bench/twelve.py -->"
PATIENCE = 30
ENTER = "Enter"
# What is done before either side, then what is typed (text, named keys) and what the screen must show before it goes on, what then holds, and what clears up.
THINGS = [
    {
        "what": "start a command that goes on when the terminal is closed",
        "tool": "tmux",
        "theirs": [("tmux -L t new -d -s dev 'echo up; sleep 300'; tmux -L t ls", ENTER, "dev: 1 windows")],
        "ours": [("bashd run --background 'echo up; sleep 300'", ENTER, "job bg_1")],
        "after": "tmux -L t kill-server; bashd jobs kill bg_1",
    },
    {
        "what": "see what runs, and its last line",
        "tool": "tmux",
        "before": "tmux -L t new -d -s dev 'echo all is up; sleep 300'; bashd run --background 'echo all is up; sleep 300'",
        "theirs": [("tmux -L t ls; tmux -L t capture-pane -p -t dev", ENTER, r"dev: [\s\S]*\nall is up")],
        "ours": [("bashd jobs", ENTER, r"\| all is up")],
        "after": "tmux -L t kill-server; bashd jobs kill bg_1",
    },
    {
        "what": "go to a program's terminal, type at it, and leave it running",
        "tool": "tmux",
        "before": "tmux -L t new -d -s dev 'exec cat'; bashd run --background --pty 'exec cat'",
        "theirs": [("env -u TMUX tmux -L t attach", ENTER, r"\[dev\]"), ("hello", ENTER, r"hello\nhello"), ("", "C-b", ""), ("d", "", "detached")],
        "ours": [("bashd jobs attach bg_1", ENTER, "attached to bg_1"), ("hello", ENTER, r"hello\nhello"), ("", "C-] C-]", "detached: bg_1")],
        "after": "tmux -L t kill-server; bashd jobs kill bg_1",
    },
    {
        "what": "look at what a command did to files, and take it back",
        "tool": "lazygit",
        "before": "mkdir -p w/src .config/lazygit; echo 'disableStartupPopups: true' >.config/lazygit/config.yml; cd w; seq 9 >src/a; git init -q .; git add .; "
        "git -c user.name=me -c user.email=me@here commit -qm one; bashd run --effects undoable 'rm -rf src'",
        "theirs": [("lazygit", ENTER, r"D .*\ba\b"), ("d", "", "Discard"), ("", ENTER, "^(?![\\s\\S]*D .*\\ba\\b)"), ("q", "", r"\$\s*$")],
        "ours": [("bashd changes show", ENTER, "D src/a"), ("bashd undo", ENTER, "is undone")],
        "holds": "test -e src/a",
        "after": "cd",
    },
    {
        "what": "the same, by another tool",
        "tool": "jj",
        "before": "mkdir -p w/src; cd w; seq 9 >src/a; jj config set --user user.name me; jj config set --user user.email me@here; jj git init; jj commit -m one; "
        "bashd run --effects undoable 'rm -rf src'",
        "theirs": [("jj st", ENTER, r"D src/a"), ("jj restore", ENTER, "Added 1 files")],
        "ours": [("bashd changes show", ENTER, "D src/a"), ("bashd undo", ENTER, "is undone")],
        "holds": "test -e src/a",
        "after": "cd",
    },
    {
        "what": "wait for a background command, and get its exit status",
        "tool": "task-spooler",
        "program": "tsp",
        "theirs": [("tsp -n sh -c 'sleep .5; exit 3'; tsp -w; echo status $?", ENTER, "status 3")],
        "ours": [("bashd run --background 'sleep .5; exit 3'; bashd jobs wait bg_1", ENTER, "exit code 3")],
        "after": "tsp -K; bashd jobs rm bg_1",
    },
    {
        "what": "wait until a server answers",
        "tool": "bash and curl",
        "program": "curl",
        "before": "python3 -m http.server 18377 --bind 127.0.0.1 >/dev/null 2>&1 & bashd run --background 'sleep 60'",
        "theirs": [("until curl -sfo /dev/null http://127.0.0.1:18377; do sleep .1; done; echo it answers", ENTER, r"\nit answers")],
        "ours": [("bashd jobs wait bg_1 --http http://127.0.0.1:18377", ENTER, "bg_1: ")],
        "after": "kill %1; bashd jobs kill bg_1",
    },
    {
        "what": "find a command of last week by a word of it",
        "tool": "atuin",
        "before": "export ATUIN_SESSION=$(atuin uuid); a() { atuin history end --exit 0 $(atuin history start -- \"$1\"); }; a 'make deploy STAGE=blue'; for n in {1..40}; do a \"echo $n\"; done; "
        "bashd run 'true || make deploy STAGE=blue'; for n in {1..40}; do bashd run \"echo $n\"; done; eval \"$(atuin init bash)\"",
        "theirs": [("", "C-r", r"echo 40"), ("blue", "", r"make deploy STAGE=blue"), ("", "Tab", r"\$ make deploy STAGE=blue")],
        "ours": [("bashd log blue", ENTER, "true .. make deploy STAGE=blue")],
        "after": "",
    },
    {
        "what": "find a process that runs away, and end it with its children",
        "tool": "htop",
        "before": "bash -c 'exec -a runaway sleep 300' & bashd run 'sleep 301 & sleep 302' & sleep 2",
        "theirs": [("htop", ENTER, "F10"), ("", "F4", "Filter:"), ("runaway", ENTER, "runaway"), ("", "F9", "SIGTERM"), ("", ENTER, ""), ("q", "", r"\$\s*$")],
        "ours": [("bashd top", ENTER, "bashd top ·"), ("/302", ENTER, "302"), ("x", "", "end it"), ("y", "", "it was ended"), ("q", "", r"\$\s*$")],
        "after": "kill %1",
    },
    {
        "what": "find one of many that run, see what it writes, and end it",
        "tool": "k9s",
        # By its README: the filter, the log, back, kill without a question, quit. Nothing is run: it needs a cluster.
        "counted": [("k9s", ENTER), ("/runaway", ENTER), ("l", ""), ("", "Escape"), ("", "C-k"), (":q", ENTER)],
        "before": "for n in 1 2 3; do bashd run --background \"sleep 30$n\"; done; bashd run 'echo it runs away; exec -a runaway sleep 300' & sleep 2",
        "ours": [
            ("bashd top", ENTER, "bashd top ·"),
            ("/runaway", ENTER, "runaway"),
            ("", ENTER, r"\nit runs away"),
            ("", "Escape", "bashd top ·"),
            ("x", "", "end it"),
            ("y", "", "it was ended"),
            ("q", "", r"\$\s*$"),
        ],
        "after": "bashd jobs kill bg_1; bashd jobs kill bg_2; bashd jobs kill bg_3",
    },
    {
        "what": "keep a record of what a command printed, and look at it later",
        "tool": "asciinema",
        "theirs": [("asciinema rec -q -c 'seq 1 3' it.cast; asciinema cat it.cast", ENTER, r"3\n[\s\S]*\n3\n")],
        "ours": [("bashd run --background 'seq 1 3'; bashd jobs wait bg_1; bashd jobs output bg_1", ENTER, r"\n1\n2\n3\n")],
        "after": "rm -f it.cast; bashd jobs rm bg_1",
    },
    {
        "what": "be told what was meant by a slip",
        "tool": "gh",
        "theirs": [("gh isue list", ENTER, r"Did you mean this\?\n\s+issue")],
        "ours": [("bashd jbos list", ENTER, "jobs")],
        "after": "",
    },
    {
        "what": "get completions for the shell",
        "tool": "uv",
        "theirs": [('eval "$(uv generate-shell-completion bash)"; complete -p uv', ENTER, "complete .* uv")],
        "ours": [('eval "$(bashd completions bash)"; complete -p bashd', ENTER, "complete .* bashd")],
        "after": "",
    },
    {
        "what": "see what is wrong with a command before it runs",
        "tool": "shellcheck",
        "before": "printf '#!/bin/bash\\nrm -rf /usr\\n' > s.sh",
        "theirs": [("shellcheck s.sh", ENTER, "SC2114")],
        "ours": [("bashd check \"$(<s.sh)\"", ENTER, r"\^\^\^")],
        "after": "",
    },
]


class Shell:
    """A shell in a tmux of its own."""

    def __init__(self, home, path):
        self.socket = f"{home}/tmux"
        env = {"HOME": home, "PATH": path, "LANG": "C.UTF-8", "TERM": "xterm-256color", "TMUX_TMPDIR": home, "TMPDIR": home}
        words = ["new-session", "-d", "-x", "110", "-y", "40", "-c", home, "PS1='$ ' exec bash --norc --noprofile -i"]
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], env=env, check=True)
        self.tmux("set", "-g", "status", "off")
        self.wait(r"\$\s*$")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=False).stdout

    def wait(self, pattern):
        until = time.monotonic() + PATIENCE
        while not re.search(pattern, screen := self.tmux("capture-pane", "-p").rstrip()):
            if time.monotonic() > until:
                raise RuntimeError(f"{pattern!r} is not shown:\n{screen}")
            time.sleep(0.01)

    def quietly(self, line):
        """Runs a line that counts for nobody."""
        self.tmux("send-keys", "-l", f" {{ {line or ':'}; }} >/dev/null 2>&1; clear; echo it is rea''dy")
        self.tmux("send-keys", ENTER)
        self.wait("it is ready")
        self.tmux("send-keys", "-l", "clear")
        self.tmux("send-keys", ENTER)
        self.wait(r"^[^$]*\$\s*$")

    def forget(self):
        """Leaves what is typed; a tool that has just ended may take the first key."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self.tmux("send-keys", "C-c")
            time.sleep(0.05)
            if re.search(r"(^|\n)\$\s*$", self.tmux("capture-pane", "-p").rstrip()):
                return

    def do(self, steps):
        """The keys and seconds of these steps."""
        keys, begun = 0, time.monotonic()
        for text, named, wanted in steps:
            if text:
                self.tmux("send-keys", "-l", text)
            for key in named.split():
                self.tmux("send-keys", key)
            keys += len(text) + len(named.split())
            if wanted:
                self.wait(wanted)
        return keys, time.monotonic() - begun


def once(thing, which, path):
    """The keys and seconds of one side, in a home of its own."""
    with tempfile.TemporaryDirectory(prefix="bashd-twelve-", ignore_cleanup_errors=True) as home:
        shell = Shell(home, path)
        try:
            shell.quietly(thing.get("before", ""))
            done = shell.do(thing[which])
            shell.forget()
            shell.quietly(f"{thing.get('holds', 'true')} && touch ~/holds; {thing['after'] or ':'}")
            if not Path(home, "holds").exists():
                raise RuntimeError(f"{thing['what']}, {which}: it was not done")
            return done
        finally:
            shell.tmux("kill-server")


def both(thing, path, times):
    """Keys and seconds of both sides, in turn, so that both meet the same machine."""
    program = thing.get("program", thing["tool"])
    sides = ["ours", "theirs"] if "theirs" in thing and shutil.which(program, path=path) else ["ours"]
    if len(sides) == 1:
        print(f"{program} is missing", file=sys.stderr)
    done = {which: [] for which in sides}
    for _ in range(times):
        for which in sides:
            done[which].append(once(thing, which, path))
    return {which: (rounds[0][0], statistics.median(took for _, took in rounds)) for which, rounds in done.items()}


def table(path, times, only):
    rows = ["| thing | tool | keys there | keys in bashd | seconds there | seconds in bashd |", "|---|---|--:|--:|--:|--:|"]
    for thing in THINGS:
        if only and only not in thing["what"]:
            continue
        done = both(thing, path, times)
        ours, theirs = done["ours"], done.get("theirs")
        counted = sum(len(text) + len(named.split()) for text, named in thing.get("counted", [])) or "-"
        cells = [str(theirs[0] if theirs else counted), str(ours[0]), f"{theirs[1]:.2f}" if theirs else "-", f"{ours[1]:.2f}"]
        rows.append(f"| {thing['what']} | {thing['tool']} | {' | '.join(cells)} |")
        print(rows[-1], file=sys.stderr)
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bashd", type=Path, required=True, help="the program")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", help="only things with this text")
    parser.add_argument("--write", action="store_true", help="write the table into docs/twelve.md")
    given = parser.parse_args()
    path = f"{given.bashd.resolve().parent}:{os.environ['PATH']}"
    made = table(path, given.times, given.only)
    if given.write:
        before, _, rest = PAGE.read_text().partition(MARK)
        after = rest.split(MARK, 1)[1]
        PAGE.write_text(f"{before}{MARK}\n\n{made}\n\n{MARK}{after}")
    else:
        print(made)


if __name__ == "__main__":
    main()
