"""Files to documents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ragsieve.errors import InputError
from ragsieve.retrieve.files import read_documents


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a", "a.log"])
def test_a_text_file_is_a_document_as_it_is(tmp_path: Path, name: str) -> None:
    """Nothing of it is changed but a byte order mark; its id is its path."""
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf# B\xc3\xa9es\r\n\r\n")
    (document,) = read_documents([str(path)])

    assert (str(path), "# Bées\r\n\r\n") == (document.id, document.text)


def test_a_page_is_text_with_a_title(tmp_path: Path) -> None:
    """The ending may be written large."""
    path = tmp_path / "a.HTML"
    path.write_text("<title>T</title><p>Bees.</p>", encoding="utf-8")
    (document,) = read_documents([str(path)])

    assert ("T", "Bees.") == (document.title, document.text)


def test_jsonl_holds_a_document_a_line(tmp_path: Path) -> None:
    """Without an id, a document is known by its line; ids are kept, also the same again."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "id": "x"}\n\n{"text": "b"}\n{"text": "c", "id": "x"}')
    documents = read_documents([str(path)])

    assert ["x", f"{path}:3", "x"] == [document.id for document in documents]


def test_files_keep_their_order(tmp_path: Path) -> None:
    """Best first is the caller's word."""
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(name)

    assert ["b.txt", "a.txt"] == [
        d.text for d in read_documents([str(tmp_path / "b.txt"), str(tmp_path / "a.txt")])
    ]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"a\xff", "a.txt must be UTF-8, byte 1 is 0xff"),
        ("a.html", b"a\xff", "a.html must be UTF-8, byte 1 is 0xff"),
        ("a.jsonl", b'{"text": "a"}\n{"txt": "b"}', "a.jsonl line 2: a document must have a text"),
        ("a.jsonl", b"\xff", "a.jsonl line 1: not UTF-8"),
        ("a.jsonl", b"[]", "a.jsonl line 1: must be a JSON object"),
        ("a.jsonl", b'{"question": "q", "documents": []}', "line 1: .* pass it by --input"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    """With the line or the byte."""
    (tmp_path / name).write_bytes(data)

    with pytest.raises(InputError, match=reason):
        read_documents([str(tmp_path / name)])


@pytest.mark.parametrize(
    ("name", "reason"), [("none.txt", "No such file"), (".", "Is a directory"), ("\0", "null byte")]
)
def test_what_is_no_file_is_named(tmp_path: Path, name: str, reason: str) -> None:
    """Nothing, a folder, and what no file can be called."""
    with pytest.raises(InputError, match=f"cannot be read: .*{reason}"):
        read_documents([str(tmp_path / name)])


def test_standard_input_is_read_once() -> None:
    """The second time there would be nothing left."""
    with pytest.raises(InputError, match="got - twice"):
        read_documents(["-", "-"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Bees.", ("-", "", "Bees.")),
        ("", ("-", "", "")),
        ("\ufeff <!doctype html><title>T</title><p>Bees.", ("-", "T", "Bees.")),
        ("<3 bees", ("-", "", "<3 bees")),
        ('\ufeff{"text": "Bees.", "title": "T"}', ("standard input:1", "T", "Bees.")),
        ("{{Infobox bee}}", ("-", "", "{{Infobox bee}}")),
    ],
)
def test_standard_input_is_known_by_how_it_begins(
    given: str, expected: tuple[str, str, str]
) -> None:
    """An object begins JSONL, a tag HTML, all else is text."""
    code = (
        "from ragsieve.retrieve.files import read_documents as read;"
        "print(ascii([(d.id, d.title, d.text) for d in read('-')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=given.encode(), capture_output=True, check=True
    )

    assert ascii([expected]) == done.stdout.decode().strip()
