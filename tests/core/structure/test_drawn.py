"""Trees that are drawn with lines: what lies in what is told by their branches."""

import pytest

from ragsieve import load
from ragsieve.structure import joined
from ragsieve.structure.drawn import undrawn

CARGO = "api v0.3.1\n" + "".join(
    f"├── {name} v{n}.1\n│   ├── {name}-core v0.{n}\n│   └── {name}-derive v{n}.9 (proc-macro)\n"
    f"│       └── {below} v2.{n}\n"
    for n, (name, below) in enumerate(
        [("axum", "syn"), ("clap", "heck"), ("serde", "quote"), ("sqlx", "dotenvy")]
    )
)
FOLDERS = "site\n" + "".join(
    f"|-- {name}\n|   |-- {name}.html\n|   `-- assets\n|       |-- {name}.css\n"
    for name in ("about", "blog", "contact", "events", "imprint", "shop", "team")
)
GRADLE = "compileClasspath\n" + "".join(
    f"+--- com.{name}:core:1.{n}\n|    +--- org.{name}:tool:2.{n}\n|    |    \\--- deep:{name}:3\n"
    for n, name in enumerate(["alfa", "bravo", "delta", "echo", "golf", "hotel"])
)
SPACED = CARGO.replace("│   ", "│\xa0\xa0 ")  # as `tree` prints it
DISKS = """NAME              SIZE TYPE  FSTYPE  MOUNTPOINTS  MODEL
sda             238.5G disk                       TALVIK SSD
├─sda1              1G part  vfat    /boot/efi
└─sda3          235.4G part  xfs     /var
sdb               3.6T disk                       NORDRE NAS
└─sdb1            3.6T part  ext4    /srv/backup
sdd               5.5T disk                       HELMER HX6000
├─sdd1            512M part  vfat
└─sdd2            5.5T part  luks
  └─pics          5.5T crypt btrfs   /srv/photos
sr0             1024M  rom                        OptiRead BD
"""


@pytest.mark.parametrize(
    ("text", "part", "shown"),
    [
        (CARGO, "dotenvy v2.3", "├── sqlx v3.1\n…\n│   └── sqlx-derive"),
        (CARGO, "dotenvy v2.3", "│   └── sqlx-derive v3.9 (proc-macro)\n│       └── dotenvy v2.3"),
        (SPACED, "dotenvy v2.3", "├── sqlx v3.1\n…\n│\xa0\xa0 └── sqlx-derive"),
        (FOLDERS, "events.css", "|-- events\n|   |-- events.html\n|   `-- assets\n|       |-- e"),
        (
            GRADLE,
            "deep:echo:3",
            "+--- com.echo:core:1.3\n|    +--- org.echo:tool:2.3\n|    |    \\",
        ),
        (
            DISKS,
            "pics ",
            "sdd               5.5T disk                       HELMER HX6000\n…\n└─sdd2",
        ),
    ],
)
def test_a_part_stands_below_what_it_branches_from(text, part, shown):
    start = text.index(part)

    assert shown in joined(text, [(start, text.index("\n", start))])


def test_a_condition_on_a_row_brings_what_holds_it():
    shown = load("finefilter")("Which physical disk carries /srv/photos?", [DISKS]).text

    assert "sdd  " in shown and "/srv/photos" in shown and "sdb" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "`--all` lists all.\n`--brief` is short.\n",
        " - name: a\n+- name: b\n+- name: c\n",
        "+-----+-----+\n| a   | b   |\n+-----+-----+\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
    ],
)
def test_other_signs_are_no_branches(text):
    assert undrawn(text) is text


def test_the_deepest_tree_is_read_to_its_end():
    rows = [f"{' ' * n}└─disk{n}{' ' * (500 - n)}{n}G  disk" for n in range(450)]
    text = "\n".join([f"NAME{' ' * 505}SIZE  TYPE", f"root{' ' * 505}1G    disk", *rows])
    start = text.index("disk449")

    assert "└─disk449" in joined(text, [(start, len(text))])
