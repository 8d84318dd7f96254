"""Say which pinned packages have known advisories: 1 where one has.

    python tools/advisories.py                  # constraints.txt against tools/advisories.jsonl
    python tools/advisories.py --data FOLDER    # against records of osv.dev, a file each

`advisories.jsonl` holds records in the format of osv.dev, one a line, shortened to what is
compared, up to 2025. They were written by hand and not looked up in the database: the check needs
no network, and knows what it has been told. Whoever
has a network passes an export of osv.dev, or adds its records there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]


def records(data: Path) -> Iterator[Mapping[str, Any]]:
    """Records of a file of lines, or of a folder of files."""
    if data.is_dir():
        yield from (json.loads(path.read_text()) for path in sorted(data.rglob("*.json")))
    else:
        yield from map(json.loads, data.read_text().splitlines())


def pinned(lines: Iterable[str]) -> dict[str, Version]:
    """Versions of ``name==version``, by canonical name."""
    pins = [Requirement(line) for line in lines if "==" in line and not line.startswith("#")]
    return {canonicalize_name(pin.name): Version(next(iter(pin.specifier)).version) for pin in pins}


def affects(affected: Mapping[str, Any], version: Version) -> bool:
    """Whether a version is named, or lies in a range."""
    if str(version) in affected.get("versions", ()):
        return True
    for ranged in affected.get("ranges", ()):
        inside = False
        for event in ranged["events"] if ranged["type"] == "ECOSYSTEM" else ():
            ((kind, value),) = event.items()
            try:
                bound = Version(value)
            except InvalidVersion:
                continue
            if kind == "introduced" and version >= bound:
                inside = True
            elif (kind == "fixed" and version >= bound) or (
                kind == "last_affected" and version > bound
            ):
                inside = False
        if inside:
            return True
    return False


def found(known: Iterable[Mapping[str, Any]], pins: Mapping[str, Version]) -> list[str]:
    """A line for each advisory of a pin."""
    lines = []
    for record in known:
        for one in () if record.get("withdrawn") else record["affected"]:
            name = canonicalize_name(one.get("package", {}).get("name", ""))
            if name in pins and affects(one, pins[name]):
                lines.append(f"{record['id']}: {name} {pins[name]}")
    return sorted({*lines})


def main() -> int:
    """Print them."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("--data", type=Path, default=ROOT / "tools" / "advisories.jsonl")
    about.add_argument("--pins", type=Path, default=ROOT / "constraints.txt")
    options = about.parse_args()
    lines = found(records(options.data), pinned(options.pins.read_text().splitlines()))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
