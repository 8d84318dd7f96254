"""Commands on disks that are full somewhere in the middle, and again once there is space."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .campaign import Kind
from .commands import FAKES, documents, environment, here, questions
from .kills import WORK, Work, prepare_added, prepare_bench, prepare_training
from .laws import holds

APART = ("unshare", "--map-root-user", "--mount")
LARGE = "size=256m"

ASKED = ("ask", "-q", "Who sang song 7?", *FAKES, "--system", "top-sentences", "d.jsonl")
LESS = {
    "filter": lambda folder: questions(folder, 60),
    "bench": lambda folder: prepare_bench(folder, 20),
    "index build": lambda folder: documents(folder, "d.jsonl", 0, 150),
    "index add": lambda folder: prepare_added(folder, 150),
    "train": lambda folder: prepare_training(folder, 20),
}
WORKS = {name: WORK[name]._replace(prepare=prepare) for name, prepare in LESS.items()} | {
    "cache": Work(
        lambda folder: documents(folder, "d.jsonl", 0, 100),
        (*ASKED, "--cache", "c"),
        lambda folder: (folder / "c").exists(),
    ),
    "page": Work(
        lambda folder: documents(folder, "d.jsonl", 0, 100),
        (*ASKED, "--html", "p.html"),
        lambda folder: (folder / "p.html").read_text().rstrip().endswith("</html>"),
    ),
    "report": Work(
        lambda folder: (prepare_bench(folder, 20), here(*WORK["bench"].command)),
        ("report", "r"),
        lambda folder: (folder / "r/report.md").read_text()[-99:],
    ),
}


def mounted(disk, how):
    subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", disk], check=True)


def used(folder):
    """Bytes of all files, in whole pages, as a disk in memory counts them."""
    return sum(-(-file.stat().st_size // 4096) * 4096 for file in folder.rglob("*"))


def outcome(disk, work):
    """What the work leaves, and all names of files."""
    names = sorted(str(file.relative_to(disk)) for file in disk.rglob("*"))
    return work.result(disk), [name for name in names if not name.endswith(("-wal", "-shm"))]


def try_all(disk, value):
    """In a name space of mounts: each size, then the same command with space."""
    work, home, expected, needed = WORKS[value["work"]], Path.cwd(), None, 0
    for share in (None, *value["sizes"]):
        mounted(disk, LARGE)
        os.chdir(disk)
        work.prepare(disk)
        before = used(disk)
        if share is not None:
            size = before + int(share * needed) // 4096 * 4096 + 8192
            mounted(disk, f"remount,size={size}")
            here(*work.command)
            mounted(disk, f"remount,{LARGE}")
        ended = here(*work.command)
        holds("with space it ends well", ended.code == 0, (share, ended.err[-300:]))
        found = outcome(disk, work)
        holds("it is as on an empty disk", expected in (None, found), (share, found, expected))
        expected, needed = found, max(needed, 3 * (used(disk) - before))
        os.chdir(home)
        subprocess.run(["umount", "--lazy", disk], check=True)


def draw(rng):
    """A command, and sizes in shares of thrice what it writes: with the old one and a log."""
    return {"work": rng.choice([*WORKS]), "sizes": [round(rng.random(), 4) for _ in range(8)]}


def check(value, folder):
    """A full disk is one line; with space the command goes on, and leaves its result alone."""
    command = [*APART, sys.executable, "-m", __name__, str(folder)]
    ended = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        env=environment(),
        input=json.dumps(value),
        capture_output=True,
        text=True,
    )
    holds("no size of a disk harms", ended.returncode == 0, ended.stderr[-600:])
    return len(value["sizes"])


def missing():
    """Whether a disk in memory can be mounted in a name space of our own."""
    possible = shutil.which("unshare") and not subprocess.call([*APART, "true"], stderr=-3)
    return "" if possible else "there is no name space of mounts"


DISKS = Kind("disks", 400, 16, draw, check, missing)

if __name__ == "__main__":
    try_all(Path(sys.argv[1]), json.load(sys.stdin))
