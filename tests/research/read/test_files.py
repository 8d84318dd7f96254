"""Files to documents."""

import gzip
import io
import json
import os
import re
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

import docx
import pytest
from pypdf import PdfWriter

from ragsieve.documents import site
from ragsieve.errors import InputError
from ragsieve.prompts import context
from ragsieve.read import office
from ragsieve.read.files import items_of, read_documents
from ragsieve.read.pdf import unbroken
from ragsieve.structure import outline
from ragsieve.structure.linearize import linearized
from ragsieve.types import Layout, Segment
from ragsieve_research.retrieve.pooled import Sources
from tests.office import BOMBS, CELL, pdf, word


def read(path, data):
    """Documents of a file that is written first."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_documents([str(path)])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a", "a.mdx", "a.vcf"])
def test_a_text_file_is_a_document_as_it_is(tmp_path, name, encoding):
    """Nothing of it is changed but a byte order mark, as Windows writes; its id is its path."""
    path = tmp_path / name
    (document,) = read(path, "# Bées\r\n\r\n".encode(encoding))

    assert (str(path), "# Bées\r\n\r\n") == (document.id, document.text)
    assert [document] == [*Sources([str(path)])]


def test_a_page_is_text_with_a_title(tmp_path):
    """In the charset that it declares; what does not fit is an error that names it."""
    (document,) = read(tmp_path / "a.XHTML", "<title>T</title><p>Bees.</p>")

    assert ("T", "Bees.") == (document.title, document.text)

    page, head = tmp_path / "a.html", b'<meta charset="ISO-8859-1"><p>'
    for declared in (head, b'<?xml version="1.0" encoding="iso-8859-1"?><p>'):
        (document,) = read(page, declared + "Bees\u2019 caf\u00e9".encode("cp1252"))

        assert "Bees\u2019 caf\u00e9" == document.text
    with pytest.raises(InputError, match="must be cp1252, as it declares; byte 30 is 0x81"):
        read(page, head + b"\x81")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<title>Fees</title><h1>Fees</h1><h1>Fees</h1><p>5 euros.", "5 euros."),
        ("<title>Fees</title><h1>Fees</h1><h2>Pool</h2><h2>Pool</h2><p>Five.", "## Pool\n\nFive."),
        (
            "<title>Town</title><h1>Fees</h1><p>Five.</p><h1>Fees</h1><p>Six.",
            "# Fees\n\nFive.\n\n# Fees\n\nSix.",
        ),
        ("<title>Fees</title><h1>Fees</h1>", "# Fees"),
    ],
)
def test_a_heading_of_a_page_stands_once(tmp_path, page, text):
    """Not below the title, or a heading, that says the same."""
    assert text == read(tmp_path / "a.html", page)[0].text


def test_what_is_read_of_several_files_names_its_file(tmp_path):
    """And the page there, on a line before it in the prompt; of one file nothing does."""
    (tmp_path / "a.md").write_text("Bees.")
    (tmp_path / "b.pdf").write_bytes(pdf("Cheese.", "Tea."))
    bees, *pages = read_documents([str(tmp_path)])
    (alone,) = read_documents([str(tmp_path / "a.md")])
    name = str(tmp_path / "b.pdf")

    assert f"[{tmp_path / 'a.md'}]\nBees." == context([Segment.whole(bees)])
    assert [f"{name}, page {n}" for n in (1, 2)] == [one.metadata["file"] for one in pages]
    assert pages == [*read_documents([name])]
    assert "Bees." == context([Segment.whole(alone)])
    hidden = replace(bees, layout=Layout(file_names="hidden"))
    assert "Bees." == context([Segment.whole(hidden)])


def test_jsonl_holds_a_document_a_line(tmp_path):
    """Packed or not; without an id it is known by its line."""
    path = tmp_path / "a.jsonl"
    documents = read(path, '{"text": "a", "id": "x"}\n\n{"text": "b"}\n{"text": "c", "id": "x"}')

    assert ["x", f"{path}:3", "x"] == [document.id for document in documents]

    path = tmp_path / "packed" / "a.ndjson.gz"
    path.parent.mkdir()
    documents = read(path, gzip.compress(b'{"text": "a", "id": 0}\n{"text": "b"}'))

    assert ["0", f"{path}:2"] == [document.id for document in documents]
    assert ["0", f"{path}:2"] == ids(Sources([str(path.parent)]))


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"a\xff", "a.txt must be UTF-8; byte 1 is 0xff"),
        ("a.bin", b"PK\xff", r"a.bin must be UTF-8, or end in one of .* \.mbox; byte 2 is 0xff"),
        ("a.xlsx", b"PK", "is not read: convert it, as by `soffice .*-to html a.xlsx`"),
        ("a.rtf", b"{", "is not read: convert it, as by `soffice .*-to docx a.rtf`"),
        ("a.ipynb", b"{}", "a.ipynb cannot be read as a notebook: cells is missing"),
        ("a.json", b'[{"question": "q", "documents": []}]', "item 1: .* pass it by --input"),
        ("a.pdf", b"%PDF-1.7 and no more", "a.pdf cannot be read as PDF: "),
        ("a.docx", b"PK", "a.docx cannot be read as a Word file: "),
        ("a.jsonl", b'{"text": "a"}\n{"text": ', "a.jsonl line 2: not JSON"),
        ("a.jsonl", b'{"question": "q", "documents": []}', "line 1: .* pass it by --input"),
    ],
)
def test_a_bad_file_is_named(tmp_path, name, data, reason):
    """With the line or the byte."""
    with pytest.raises(InputError, match=reason):
        read(tmp_path / name, data)


@pytest.mark.parametrize("name", ["z", "z.jsonl", "z.json", "z.pdf", "z.docx", "z.html"])
def test_what_may_have_no_end_is_read_up_to_a_bound(tmp_path, name):
    """Devices and pipes, by a link too; what is shorter is read as any file."""
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match=f"{name} must have at most 268,435,456 b"):
        read_documents([str(tmp_path / name)])

    os.mkfifo(pipe := tmp_path / "p.jsonl")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.write_text, '{"text": "Bees."}\n{"text": "Ants."}\n')

        assert ["Bees.", "Ants."] == [d.text for d in read_documents([str(pipe)])]


def test_documents_are_read_one_at_a_time_and_once(tmp_path):
    """The first is there though a later line is bad; standard input has nothing left."""
    with pytest.raises(InputError, match="got - twice"):
        read_documents(["-", "-"])
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": ')
    found = iter(Sources([str(tmp_path / "a.jsonl")]))

    assert "a" == next(found).text
    with pytest.raises(InputError, match=r"a.jsonl line 2: not JSON"):
        next(found)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Bees.", ("-", "", "Bees.")),
        ("", ("-", "", "")),
        ("\ufeff <!doctype html><title>T</title><p>Bees.", ("-", "T", "Bees.")),
        ("<3 bees", ("-", "", "<3 bees")),
        ('\ufeff{"text": "Bees.", "title": "T"}', ("standard input:1", "T", "Bees.")),
        ('{\n "hits": [{"a": 1.0}]\n}', ("standard input:1", "", '{\n "hits": [{"a": 1.0}]\n}')),
        ('[{"name": "Bee", "legs": 6}]', ("standard input:1", "", "name: Bee\nlegs: 6")),
        ('["Bees."]', ("standard input:1", "", "Bees.")),
        ('["Bees"] are here', ("-", "", '["Bees"] are here')),
        ("{{Infobox bee}}", ("-", "", "{{Infobox bee}}")),
        ("[1] Bees", ("-", "", "[1] Bees")),
    ],
)
def test_standard_input_is_known_by_how_it_begins(given, expected, monkeypatch):
    """JSON, a JSON object a line, HTML behind a tag; all else is text."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))

    assert [expected] == [(d.id, d.title, d.text) for d in read_documents("-")]


def ids(sources):
    return [document.id for document in sources]


def test_a_folder_is_read_with_all_below_it(tmp_path):
    """By name; hidden files and folders, and the one to leave out, are not looked at."""
    for name in ("b.rst", "a.TXT", "in/c.html", "in/.d.txt", ".git/e.txt", "index/f.txt", "g.xlsx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "Makefile").write_text("all:")
    told = []
    sources = Sources([str(tmp_path)], None, tmp_path / "index", told.append)

    assert [str(tmp_path / name) for name in ("a.TXT", "b.rst", "in/c.html")] == ids(sources)
    paths = [str(tmp_path / name) for name in ("in", "b.rst", "")]
    given = read_documents(paths, told.append)
    names = ("in/c.html", "b.rst", "a.TXT", "b.rst", "in/c.html", "index/f.txt")
    assert [str(tmp_path / name) for name in names] == [document.id for document in given]
    assert ["left out files of other kinds: 1 no ending, 1 .xlsx"] * 2 == told


def test_json_holds_one_document_or_many(tmp_path):
    """An array, or an object; numbers are ids; whatever the depth, a document or one line."""
    (tmp_path / "a.json").write_text('\ufeff[{"text": "Bees", "id": "b", "n": NaN}, {"text": "C"}]')
    (tmp_path / "b.json").write_text('{"body": "Cheese."}')
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]

    found = [(d.id, d.text) for d in read_documents(paths)]
    assert [("b", "Bees"), (f"{paths[0]}:2", "C"), (f"{paths[1]}:1", "Cheese.")] == found
    assert found == [(d.id, d.text) for d in Sources(paths)]

    for depth in (10, 500, 900, 100_000):
        try:
            text = read(tmp_path / "a.json", "[" * depth + "]" * depth)[0].text
        except InputError as error:
            text = str(error)

        whole = text == "[" * (depth - 1) + "]" * (depth - 1)
        assert whole or (depth > 500 and "nests too deep" in text)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.json", '{ "hits": [{"n": 1.0}] }\n', ['{ "hits": [{"n": 1.0}] }']),
        ("a.json", '{"documents": ["Bees."]}', ['{"documents": ["Bees."]}']),
        ("a.json", '[{"legs": 6, "n": 1}, {"n": []}]', ["legs: 6\nn: 1", '{"n": []}']),
        ("a.json", '["Bees.", 1, [2, 3], null]', ["Bees.", "1", "[2, 3]", "null"]),
        ("a.json", '"Bees."', ["Bees."]),
        ("a.json", "[]", []),
        ("a.jsonl", '["wax"]\n{"a": [1.0]}\n"Bees."', ['["wax"]', '{"a": [1.0]}', "Bees."]),
    ],
)
def test_any_json_is_documents(tmp_path, name, data, expected):
    """An API's reply is one, each item of an array is one; ids are of the file and the place."""
    path = tmp_path / name
    documents = read(path, data)

    assert expected == [document.text for document in documents]
    assert [f"{path}:{n}" for n in range(1, len(expected) + 1)] == [d.id for d in documents]
    assert [*documents] == [*Sources([str(path)])]


def test_a_pdf_is_a_document_a_page(tmp_path):
    """A page without text keeps its number; a scan, or one with a password, is named."""
    path = tmp_path / "a.PDF"
    texts = ("Bees are here.", "", "Cheese is there.")
    found = [(d.id, d.text, d.metadata["page"]) for d in read(path, pdf(*texts))]

    assert [(f"{path}#page={n}", text, n) for n, text in enumerate(texts, 1)] == found
    assert [id_ for id_, *_ in found] == ids(Sources([str(path)]))

    with pytest.raises(InputError, match=r"a.pdf must hold text, got 2 pages without: scanned"):
        read(tmp_path / "a.pdf", pdf("", ""))

    writer = PdfWriter(clone_from=BytesIO(pdf("Bees.")))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(tmp_path / "b.pdf")
    with pytest.raises(InputError, match=r"b.pdf cannot be read as PDF: .*decrypted"):
        read_documents([str(tmp_path / "b.pdf")])


PRICES = """Prices of the depot
Tariff\tDay\tNight\tSunday
Bicycle\t4.50\t\t6.00
Trailer\t12.00\t9.00
Helmet\t\t\t3.00
Tandem\t15.00\t11.00\t18.50
Ask at the desk for all that is not in this list of prices."""


def test_what_is_filled_into_a_pdf_is_read(tmp_path):
    """Fields with their labels and values, ticked boxes, and text in boxes; nothing hidden."""
    writer = PdfWriter(clone_from=BytesIO(pdf("Form.")))
    for field in (
        {"/FT": "/Tx", "/T": "n", "/TU": "Full name", "/V": "Ada"},
        {"/FT": "/Tx", "/T": "old", "/V": "Eve", "/F": 2},
        {"/FT": "/Btn", "/T": "insured", "/AS": "/On"},
        {"/FT": "/Btn", "/T": "late", "/AS": "/Off"},
        {"/AS": "/paid", "/Parent": {"/FT": "/Btn", "/T": "state", "/Ff": 1 << 15}},
        {"/FT": "/Ch", "/T": "days", "/V": ["Mon", "Fri"]},
        {"/Subtype": "/FreeText", "/Contents": "Seen."},
    ):
        writer.add_annotation(0, {"/Subtype": "/Widget", "/Rect": [0, 0, 9, 9], **field})
    writer.write(tmp_path / "a.pdf")
    filled = "Full name: Ada\ninsured: ☒\nlate: ☐\nstate: paid\ndays: Mon, Fri\nSeen."

    assert f"Form.\n\n{filled}" == read_documents([str(tmp_path / "a.pdf")])[0].text


def test_a_number_in_a_pdf_stays_in_its_column(tmp_path):
    """Also behind blank cells; two columns of prose are read one behind the other."""
    text = read(tmp_path / "a.pdf", pdf(PRICES))[0].text
    rows = [(row.start, row.end) for row in outline(text, small=True)[0].children]

    assert linearized(text, rows, small=True) == [
        "Tariff: Bicycle; Day: 4.50; Night: ; Sunday: 6.00",
        "Tariff: Trailer; Day: 12.00; Night: 9.00; Sunday:",
        "Tariff: Helmet; Day: ; Night: ; Sunday: 3.00",
        "Tariff: Tandem; Day: 15.00; Night: 11.00; Sunday: 18.50",
    ]

    small = "Kind\t2020\t2021\nlate\t10\t20\nlost\t\t500\nThe rest."  # no table by itself
    head, _, lost, _ = read(tmp_path / "c.pdf", pdf(small))[0].text.split("\n")
    assert head.index("2021") == lost.index("500")

    words = [f"word{n} goes on and on with" for n in range(20)]
    columns = "\n".join(f"{a}\t\t\t\t{b}" for a, b in zip(words[:10], words[10:], strict=True))

    assert "   " not in read(tmp_path / "b.pdf", pdf(columns))[0].text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Ask the recep-\ntion, please.", "Ask the reception,\nplease."),
        ("All short-\nterm guests pay.", "All short-term\nguests pay."),
        ("In 2019-\n2020 COVID-\n19 came.", "In 2019-2020\nCOVID-19\ncame."),
        ("The wood-\nlore is here: woodlore.", "The woodlore\nis here: woodlore."),
        ("A dash -\nlike this. No-\n", "A dash -\nlike this. No-\n"),
    ],
)
def test_a_word_that_a_line_divides_is_one(text, read):
    """In one word where it is one, and with its hyphen where its parts are."""
    assert [read] == unbroken([text])


def test_a_folder_below_that_cannot_be_read_is_left_out(tmp_path):
    """With a warning; where it is the folder named, or nobody is warned, an error."""
    for warn in (warned := list[str]()).append, None:
        folder = tmp_path / f"{warn is None}"
        (folder / "gone").mkdir(parents=True)
        (folder / "later").mkdir()
        for name in ("a.txt", "later/b.txt"):
            (folder / name).write_text(name)
        found = items_of(str(folder), warn)
        first = next(found)[2]
        (folder / "gone").rmdir()
        if warn:
            assert ["a.txt", "later/b.txt"] == [first.text, *(one.text for _, _, one in found)]
        else:
            with pytest.raises(InputError, match="gone cannot be read: No such file"):
                list(found)

    assert [f"left out: {tmp_path}/False/gone cannot be read: No such file or directory"] == warned


def test_a_word_file_is_read_in_order(tmp_path):
    """Headings of six levels at most, tables as Markdown; a cell stands in each of its rows."""
    file = docx.Document()
    file.add_heading("Insects", 2)
    file.add_paragraph("Bees are here.")
    table = file.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "legs", "six"
    file.add_paragraph("Cheese.", file.styles.add_style("Heading 100000000", 1))
    file.save(str(tmp_path / "a.docx"))
    (document,) = read_documents([str(tmp_path / "a.docx")])

    assert "## Insects\n\nBees are here.\n\n| legs | six |\n\n###### Cheese." == document.text

    more = f"<w:tr>{CELL % '<w:vMerge/>'}</w:tr>" * 1999
    rows = {"<w:tcPr>": '<w:tcPr><w:vMerge w:val="restart"/>', "</w:tr>": f"</w:tr>{more}"}
    (document,) = read(tmp_path / "a.docx", word(rows))

    assert ["| legs |"] * 2000 == document.text.split("\n")


def test_a_mail_is_its_header_and_its_texts(tmp_path):
    """Decoded, also what is attached as a mail; a name cannot add a line; no header is needed."""
    told, mail = EmailMessage(), EmailMessage()
    told["From"], told["Subject"] = "zoë@b.c", "Café"
    told.set_content("<h1>Keys</h1><p>Under the mat.", subtype="html", charset="iso-8859-1")
    mail["To"] = "Bo <bo@b.c>"
    mail.set_content("鍵は机の上。", charset="iso-2022-jp", cte="base64")
    mail.add_attachment(told)
    mail.add_attachment("1,2\r\n", filename="a.txt")
    mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    (tmp_path / "a.eml").write_bytes(bytes(mail).replace(b"Bo", b"=?utf-8?q?Bo=0AFrom:_boss?="))
    (tmp_path / "b.EML").write_bytes(b"no header\r\nhere")
    blank = EmailMessage()  # its plain text, as newsletters have it
    blank.set_content(" \n")
    blank.add_alternative("<p>By the door.", subtype="html")
    (tmp_path / "c.eml").write_bytes(bytes(blank))
    texts = [document.text for document in read_documents([str(tmp_path)])]

    said = "From: zoë@b.c\nSubject: Café\n\n# Keys\n\nUnder the mat."
    files = "Attachment: a.txt\n\n1,2\n\nAttachment: a.pdf"
    whole = f"To: Bo From: boss <bo@b.c>\n\n鍵は机の上。\n\n{said}\n\n{files}"
    assert [whole, "no header\nhere", "By the door."] == texts


def test_a_file_of_mails_is_a_document_a_mail(tmp_path):
    """Cut where a mail begins, not at a line of one that begins with the same word."""
    mails = [f"Subject: {n}\n\nOn Monday.\n\nFrom now on at 10:30, or later.\n" for n in "ab"]
    begin = "From - Tue Apr 23 09:00:00 2024\n"
    (tmp_path / "a.mbox").write_text("".join(f"{begin}{mail}\n" for mail in mails))
    documents = read_documents([str(tmp_path)])

    assert [f"{tmp_path / 'a.mbox'}#mail={n}" for n in (1, 2)] == [d.id for d in documents]
    assert [mail.strip() for mail in mails] == [document.text for document in documents]


def test_a_notebook_is_its_cells(tmp_path):
    """In order, with what they put out as text; keys of JSON and pictures are left out."""
    outputs = [
        {"output_type": "stream", "text": ["0.91\n"]},
        {"data": {"image/png": "iVBO", "text/plain": "<Figure>"}, "metadata": {}},
        {"data": {"text/markdown": ["*F1*: ", "0.9"], "text/plain": ["<M object>"]}},
        {"data": {"text/html": "<p>Of <b>9</b>.</p>", "text/plain": ["<H object>"]}},
        {"ename": "KeyError", "evalue": "'f1'", "traceback": ["\x1b[31m"]},
    ]
    text = {"cell_type": "markdown", "source": ["# Runs\n", "Of May."], "metadata": {}}
    code = {"cell_type": "code", "source": "score(run)", "outputs": outputs}
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 4, "cells": [text, code]}))
    shown = "score(run)", "0.91", "<Figure>", "*F1*: 0.9", "Of **9**.", "KeyError: 'f1'"
    fences = "".join(f"\n\n```\n{t}\n```" for t in shown)

    assert f"# Runs\nOf May.{fences}" == read_documents([str(tmp_path)])[0].text


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_line_or_little_text(name, tmp_path):
    """In little time, and not in this process."""
    ending, raw = BOMBS[name]
    path = tmp_path / f"a{ending}"
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        said = "".join(document.text for document in read(path, raw))
    except InputError as error:
        said = str(error)
        assert said.startswith(str(path))
        assert "\n" not in said

    assert len(said) < 500
    assert "root:" not in said
    assert time.monotonic() - began < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB


def test_what_cannot_be_read_of_a_folder_is_left_out(tmp_path):
    """A pipe that nobody writes to, what never ends, what is no text; named, it is an error."""
    os.mkfifo(tmp_path / "a.txt")
    (tmp_path / "b.txt").symlink_to("/dev/zero")
    (tmp_path / "c.txt").write_text("Bees.")
    (tmp_path / "d.log").write_bytes(b"a\xff")
    told = []
    reason = f"{tmp_path / 'd.log'} must be UTF-8; byte 1 is 0xff"

    assert ["Bees."] == [d.text for d in read_documents([str(tmp_path)], told.append)]
    assert [f"left out: {reason}", "left out files of other kinds: 2 .txt"] == told
    for name in (tmp_path, tmp_path / "d.log"):
        with pytest.raises(InputError, match=re.escape(reason)):
            read_documents([str(name)], None if name == tmp_path else told.append)


def test_a_file_has_its_seconds(tmp_path, monkeypatch):
    """Then it is given up, and the next one is read."""
    path = tmp_path / "a.pdf"
    monkeypatch.setattr(office, "MAX_SECONDS", 0.05)
    with pytest.raises(InputError, match=r"a.pdf cannot be read as PDF: it takes over 0.05 s"):
        read(path, pdf(*["Bees."] * 2000))
    monkeypatch.undo()

    assert ["Bees."] == [document.text for document in read(path, pdf("Bees."))]


def question(id_, *documents):
    return json.dumps({"id": id_, "question": "Who?", "documents": documents})


def test_documents_of_questions_are_pooled(tmp_path):
    """Equal title and text come once, under the first one's name; labels stay behind. A file or a
    data set is no site: agents of different documents have a vote each."""
    bees = {"id": "x", "title": "T", "text": "Bees.", "is_positive": True, "url": "u", "rank": 3}
    rows = [
        question("q1", bees, {"text": "Cheese."}),
        question("q2", {"title": "T", "text": "Bees."}, {"title": "S", "text": "Bees."}),
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    sources = Sources([str(tmp_path / "a.jsonl")])
    found = list(sources)

    assert ["q1/x", "q1/1", "q2/1"] == [document.id for document in found]
    about = {"dataset": str(tmp_path / "a.jsonl"), "url": "u"}
    assert (about, "u", 0) == (dict(found[0].metadata), found[0].source, found[0].rank)
    assert 3 == len({site(document) for document in found})
    assert 1 == sources.repeated


def test_ids_of_questions_are_told_apart(tmp_path):
    """By line where missing or taken by another file; two documents of one id are named."""
    one, two = str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")
    rows = [question("q1", {"text": "Bees."}), question("q1", {"text": "Wax."})]
    Path(one).write_text(question("q1", {"text": "Goats."}, {"text": "Hens."}))
    Path(two).write_text("\n".join(rows))

    assert ["q1/0", "q1/1", f"{two}:1/0", f"{two}:2/0"] == ids(Sources([one, two]))

    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text('\n{"id": "x", "text": "a"}\n{"id": "x", "text": "a"}')
    two.write_text('{"id": "y", "text": "b"}\n{"id": "x", "text": "b"}')

    assert ["x", "x"] == ids(Sources([str(one)]))
    with pytest.raises(InputError, match=r"two.jsonl line 2: documents must have unique ids, got"):
        list(Sources([str(tmp_path)]))

    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "Who?", "documents": ["Bees."]}')

    assert [f"{path}:1/0"] == ids(Sources([str(path)]))


def test_a_data_set_is_a_source():
    """By its name; the bundled one has 12 questions with 5 to 8 documents each."""
    found = list(Sources(["sample"]))

    assert 12 * 5 <= len(found) <= 12 * 8
    assert 12 == len({document.id.partition("/")[0] for document in found})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["none.txt"], "a source must be a file, a folder or a data set's name, got 'none.txt'"),
        (["\0"], "a source must be a file"),
        (["-", "-"], "got - twice"),
    ],
)
def test_a_source_that_is_not_there_is_named_before_any_is_read(names, message):
    """The first document would be read by then."""
    with pytest.raises(InputError, match=message):
        Sources(["sample", *names])
