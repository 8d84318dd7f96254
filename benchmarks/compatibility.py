"""What libraries and servers do where two meet: the tables of docs/reference/compatibility.md.

    python benchmarks/compatibility.py                    # every part, on the terminal
    python benchmarks/compatibility.py sentences rerank   # two of them
    python benchmarks/compatibility.py --write docs/reference/compatibility.md

A part is a script beside this one. It runs in an environment of its own, made in a temporary folder
with the versions that it pins, so a package index is needed. With ``--write``, a date and
the tables take the place of what stands between the page's marks (``<!-- files -->`` and
``<!-- end -->``).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

PARTS = {
    "files": "file_readers",
    "rerank": "rerank_stacks",
    "schemas": "constrained_output",
    "sentences": "sentence_splitters",
}
ROOT = Path(__file__).parents[1]


def tables(script: str) -> str:
    """What a part prints, in each of its environments."""
    pins: Mapping[str, Sequence[str]] = import_module(script).PINS
    return "".join(in_environment(script, name, own) for name, own in pins.items()).strip()


def in_environment(script: str, name: str, pins: Sequence[str]) -> str:
    """What a part prints in one environment."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        install = [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            *(pin.replace("ROOT", str(ROOT)) for pin in pins),
        ]
        subprocess.run(install, check=True, stdout=sys.stderr)
        command = [python, str(Path(__file__).with_name(f"{script}.py")), name]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def written(page: str, name: str, lines: str) -> str:
    """The page with these lines between the marks of a part."""
    between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    page, n = between.subn(lambda found: f"{found[1]}{lines}\n{found[2]}", page)
    if n != 1:
        raise SystemExit(f"the page must have <!-- {name} --> and <!-- end --> once, got {n}")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all where none is named")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into this page")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"parts must be of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
    for name in options.parts or PARTS:
        lines = tables(PARTS[name])
        print(lines, flush=True)
        if options.write:
            lines = f"{datetime.now(UTC):Made on %-d %B %Y.}\n\n{lines}"
            page = written(options.write.read_text("utf-8"), name, lines)
            options.write.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
