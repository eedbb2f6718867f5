#!/usr/bin/env python3
"""Records what programs write to their terminal, and what tmux shows of it.

    ./record.py            all programs
    ./record.py vim less   these

For each program NAME.bytes holds what it wrote on a terminal of 80x24 while the keys below were
typed, and NAME.screen what tmux, an emulator of other people's, shows after the same bytes, with
the cursor in the first line. `tests/it/screens.rs` compares our screen with it.
"""

import fcntl, os, pty, re, select, signal, struct, subprocess, sys, tempfile, termios, time

COLUMNS, ROWS = 80, 24
HERE = os.path.dirname(os.path.abspath(__file__))

TEXT = "".join(f"line {n}: the quick brown fox jumps over the lazy dog\n" for n in range(1, 101))

# Name: (command, keys typed one after the other, variables)
PROGRAMS = {
    "vim": ("vim -u NONE -i NONE -N text", ["G", "o", "new line\x1b", "gg", "dd"], {}),
    "vim_split": ("vim -u NONE -i NONE -N text", [":split\r", "20j", ":set number\r"], {}),
    "vim_quit": ("vim -u NONE -i NONE -N text", ["iHello\x1b", ":q!\r"], {}),
    "less": ("less text", [" ", "/line 50\r"], {}),
    "less_end": ("less -N text", ["G", "k", "k"], {}),
    "more": ("more text", [" "], {}),
    "top": ("top -d 60 -p $$", [], {}),
    "htop": ("htop -d 100 -p $$", [], {}),
    "nano": ("nano text", ["typed in nano", "\x1b[B\x1b[B", "\x0b"], {}),
    "dialog_menu": ("dialog --menu Choose 12 40 4 a first b second c third", ["\x1b[B"], {}),
    "dialog_ascii": ("dialog --yesno 'Old line drawing' 8 40", [], {"TERM": "vt100", "LC_ALL": "C"}),
    "dialog_gauge": ("(for n in 10 60 90; do echo $n; sleep 0.1; done; sleep 9) | dialog --gauge Wait 8 40", [], {}),
    "python": ("python3 -q", ["1+1\r", "for i in range(3):\r", "  print(i)\r", "\r"], {}),
    "bash": ("bash --norc --noprofile -i", ["echo hello\r", "\x1b[A\x1b[D\x1b[D\x1b[D\x1b[DX", "\x01# \r"], {}),
    "git_log": ("git --no-optional-locks log --graph --oneline --color", [" "], {"PAGER": "less -R"}),
    "git_diff": ("git diff HEAD~3", ["j", "j"], {"GIT_PAGER": "less -R"}),
    "progress": ("""python3 -c "
import sys,time
for i in range(0,101,5):
    sys.stdout.write('\\r[' + '#'*(i//5) + '.'*(20-i//5) + '] %3d%%' % i); sys.stdout.flush()
print('\\ndone')" """, [], {}),
    "progress_many": ("""python3 -c "
import sys
print('a: 0\\nb: 0\\nc: 0')
for i in range(10):
    sys.stdout.write('\\x1b[3A'+''.join('\\x1b[2K%s: %d\\n' % (n, i*k) for k, n in enumerate('abc', 1)))" """, [], {}),
    "wide": ("printf '日本語 text\\r\\nemoji 😀 and 🎉\\r\\ncombining e\\xcc\\x81a\\xcc\\x88\\r\\n%s\\r\\n' \"$(printf '漢%.0s' $(seq 45))\"", [], {}),
    "colours": ("for i in $(seq 0 15); do tput setaf $i; printf 'colour %s ' $i; done; tput sgr0; echo; tput cup 10 30; tput bold; echo bold; tput rev; echo reverse", [], {}),
    "scroll_region": ("tput csr 5 10; tput cup 5 0; seq 1 20; tput csr 0 23; tput cup 20 0; echo end; tput cup 2 0; tput il 2; echo inserted; tput cup 6 0; tput dl 1", [], {}),
    "curses": ("""python3 -c "
import curses,time
def main(s):
    s.border(); s.addstr(2, 4, 'in a box', curses.A_REVERSE); s.hline(5, 1, curses.ACS_HLINE, 78)
    w = curses.newwin(6, 20, 8, 30); w.box(); w.addstr(1, 1, 'a window'); s.refresh(); w.refresh(); time.sleep(9)
curses.wrapper(main)" """, [], {}),
    "password": ("read -rsp 'Password: ' secret; echo; echo got ${#secret}", ["secret\r"], {}),
    "ls": ("ls -C --color=always", [], {}),
    "watch": ("watch -n 60 -t 'seq 1 5'", [], {}),
    "tmux": ("tmux -f /dev/null -L recorded new-session 'printf inside; cat' \\; set -g status-right '' \\; split-window 'echo below; cat'", ["typed\r"], {}),
    "stty_tabs": ("printf 'a\\tb\\tc\\r\\n\\tindent\\r\\n1234567890\\b\\b\\bXYZ\\r\\n'; tput hpa 40; echo forty", [], {}),
}


def prepare(directory):
    with open(os.path.join(directory, "text"), "w") as file:
        file.write(TEXT)
    for name in ("dir", "script.sh", "picture.png", "archive.tar", "notes"):
        path = os.path.join(directory, name)
        os.mkdir(path) if name == "dir" else open(path, "w").close()
    os.chmod(os.path.join(directory, "script.sh"), 0o755)
    git = lambda *words: subprocess.run(
        ["git", "-c", "user.name=Kim", "-c", "user.email=kim@example.org", *words],
        cwd=directory, check=True, stdout=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": directory,
             "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"})
    git("init", "-q", "-b", "main")
    for number in range(40):
        with open(os.path.join(directory, "text"), "a") as file:
            file.write(f"change {number}\n")
        git("add", ".")
        git("commit", "-qm", f"Change number {number} of the text")


def record(command, keys, variables, directory):
    environment = {"PATH": os.environ["PATH"], "HOME": directory, "TERM": "xterm-256color",
                   "LC_ALL": "C.UTF-8", "PS1": "$ ", "LESSHISTFILE": "-", **variables}
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(directory)
        os.execvpe("bash", ["bash", "-c", command], environment)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.kill(pid, signal.SIGWINCH)
    output = read_until_silent(master, 0.8)
    for key in keys:
        os.write(master, key.encode())
        output += read_until_silent(master, 0.4)
    os.kill(pid, signal.SIGKILL)
    os.close(master)
    os.waitpid(pid, 0)
    return output


def read_until_silent(master, silence):
    output = b""
    while select.select([master], [], [], silence)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    return output


def shown_by_tmux(path):
    tmux = ["tmux", "-f", "/dev/null", "-L", f"oracle{os.getpid()}"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    run = lambda *words: subprocess.run([*tmux, *words], check=True, capture_output=True, text=True, env=environment).stdout
    run("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS + 1), f"stty raw -echo; cat '{path}'; sleep 60")
    run("set", "-g", "status", "off")
    run("resize-window", "-x", str(COLUMNS), "-y", str(ROWS))
    # The pane has its size now: show the bytes again from the start.
    run("respawn-pane", "-k", f"stty raw -echo; cat '{path}'; sleep 60")
    time.sleep(0.7)
    rows = plain(run("capture-pane", "-p", "-e")).split("\n")[:ROWS]
    place = run("display-message", "-p", "#{cursor_x} #{cursor_y} #{alternate_on}").strip()
    run("kill-server")
    return place + "\n" + "\n".join(row.rstrip() for row in rows).rstrip("\n") + "\n"


DRAWN = dict(zip("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"))


def plain(rows):
    """tmux tells line drawing characters as letters between two control characters."""
    text, drawing = "", False
    for character in re.sub("\x1b\\[[0-9;:]*m", "", rows):
        if character in "\x0e\x0f":
            drawing = character == "\x0e"
        else:
            text += DRAWN.get(character, character) if drawing else character
    return text


def main():
    names = sys.argv[1:] or list(PROGRAMS)
    for name in names:
        command, keys, variables = PROGRAMS[name]
        with tempfile.TemporaryDirectory(prefix="screen-") as directory:
            prepare(directory)
            output = record(command, keys, variables, directory).replace(directory.encode(), b"/tmp/place")
        path = os.path.join(HERE, name + ".bytes")
        with open(path, "wb") as file:
            file.write(output)
        with open(os.path.join(HERE, name + ".screen"), "w") as file:
            file.write(shown_by_tmux(path))
        print(name, len(output))
    subprocess.run(["tmux", "-L", "recorded", "kill-server"], stderr=subprocess.DEVNULL)


main()
