"""What programs print is cut between lines; each part stands below those that it is under."""

import pytest

from ragsieve.split import Blocks
from ragsieve.structure import joined, parts_of
from ragsieve.structure.printed import regions
from ragsieve.types import Document, Query, Segment

NEWS = "".join(
    f"""pack (2.{n}) unstable; urgency=medium

  * The archiver writes names of files in Unicode from 2.{n} on and warns you if
    another name was given. It reads old archives as before.

    Old names are converted once. Nothing is renamed on the disk by 2.{n}.

"""
    for n in range(4)
)
HELP = """Usage: pack [OPTION...] [FILE]...

 Main operation mode:

  -c, --create               create a new archive
      --exclude-caches       exclude contents of directories containing
                             CACHEDIR.TAG, except for the tag file itself
  -x, --extract              extract files from an archive

 Overwrite control:

  -k, --keep-old-files       don't replace existing files when extracting
      --overwrite            overwrite existing files when extracting
"""
KEYS = """/srv/keys/ring.kbx
------------------
pub   rsa3072/4E55448EC627863B 2026-11-29 [SC] [expires: 2028-11-28]
      87CAA3C2A443554683170B6E4E55448EC627863B
uid                 [ultimate] Release Bot <release@example.org>

pub   ed25519/81D95F402C30A68F 2026-11-29 [SC] [expires: 2027-02-27]
      741BB30C0FE88539E117F37F81D95F402C30A68F
uid                 [ultimate] Backup Signing <backup@example.org>
"""
FRAMES = """fail: Web.Diagnostics.ExceptionHandler[1]
      An unhandled exception has occurred.
      System.InvalidOperationException: renewal 8841
         at Billing.Data.RenewalStore.SaveAsync(Renewal renewal) in /src/RenewalStore.cs:line 118
         at Billing.Services.RenewalService.RenewAsync(Int64 id) in /src/Renewal.cs:line 64
      --- End of inner exception stack trace ---
info: Web.Hosting.Diagnostics[2]
      Request finished 500
"""
PACKAGES = """curl:
  Installed: 7.88.1-10
  Candidate: 7.88.1-12
  Version table:
     7.88.1-12 500
        500 http://deb.example.org/debian bookworm/main amd64 Packages
 *** 7.88.1-10 100
        100 /var/lib/dpkg/status
openssl:
  Installed: 3.0.19-1
  Candidate: 3.0.22-1
  Version table:
     3.0.22-1 500
        500 http://deb.example.org/debian bookworm/main amd64 Packages
 *** 3.0.19-1 100
        100 /var/lib/dpkg/status
"""
CHECKED = """==15344== Invalid read of size 4
==15344==    at 0x109201: sum_qty (v.c:6)
==15344==    by 0x109280: main (v.c:8)
==15344==
==15344== 5 bytes in 1 blocks are definitely lost
==15344==    at 0x48417B4: malloc (vgpreload_memcheck.so)
==15344==    by 0x1091AE: load_order (v.c:5)
==15344==    by 0x109256: main (v.c:8)
==15344==
==15344== LEAK SUMMARY:
==15344==    definitely lost: 69 bytes in 2 blocks
"""


@pytest.mark.parametrize(
    ("text", "part", "shown"),
    [
        (NEWS, "by 2.3", "* The archiver writes names of files in Unicode from 2.3 on and warns"),
        (NEWS, "by 2.3", "if\n    another name was given."),
        (HELP, "--overwrite ", "…\n Overwrite control:\n\n  -k, --keep-old-files"),
        (
            HELP,
            "--exclude-caches ",
            "containing\n                             CACHEDIR.TAG, except",
        ),
        (KEYS, "Backup Signing", "pub   ed25519/81D95F402C30A68F 2026-11-29 [SC] [expires: 2027"),
        (FRAMES, "line 118", "ExceptionHandler[1]\n      An unhandled exception has occurred.\n"),
        (PACKAGES, "3.0.22-1\n", "openssl:\n  Installed: 3.0.19-1\n  Candidate: 3.0.22-1\n"),
        (CHECKED, "load_order", "5 bytes in 1 blocks are definitely lost\n==15344=="),
    ],
)
def test_a_part_stands_below_the_lines_it_is_under(text, part, shown):
    segments = Blocks()(Query("?"), [Segment.whole(Document("d", text))])
    (own,) = [s for s in segments if part in s.text]

    assert shown in joined(text, [(own.start, own.end)])


def test_any_line_that_others_are_under_may_answer():
    """A budget may keep it alone, and it is shown then."""
    text = f"1: a: up\n    link b\n      inet c\n        {'x' * 400}\n2: d: down\n    link e\n"
    (root,) = regions(text, [])
    head, body, _ = parts_of(text, 0, root.children[0].end)

    assert not head
    assert [text[slice(*part)] for part in body[:3]] == ["1: a: up", "link b", "inet c"]
    assert joined(text, body[:1]).startswith("1: a: up\n    …")


@pytest.mark.parametrize("text", [HELP, KEYS, FRAMES, PACKAGES, CHECKED, f"{'':310}far\n" * 8])
def test_no_line_is_cut(text):
    segments = Blocks()(Query("?"), [Segment.whole(Document("d", text))])
    lines = {line.strip() for line in text.split("\n")}
    assert all(line.strip() in lines for s in segments for line in s.text.split("\n"))


def test_what_runs_on_is_no_printed_text():
    """Whether its lines are wrapped or not, in any script."""
    prose = (
        "The bridge was built in 1885 and stands by the sea. Dogs are allowed on the lead.\n" * 9
    )
    wrapped = (
        "The bridge was built in\n1885 and stands by the\nsea. Dogs are allowed on\nthe lead.\n" * 9
    )
    without = "橋は一八八五年に海のそばに建てられた。犬は入ることができる。\n" * 20

    assert not [*regions(prose, []), *regions(wrapped, []), *regions(without, [])]
