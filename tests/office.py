"""Files of an office, as bytes."""

import zipfile
import zlib
from io import BytesIO

import docx
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(*pages):
    """A PDF with a line of text a page, or with lines and cells in columns that tabs divide."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(600, 850)
        content = DecodedStreamObject()
        cells = (
            f"BT /F1 9 Tf {20 + 60 * column} {800 - 14 * row} Td ({cell}) Tj ET"
            for row, line in enumerate(text.split("\n"))
            for column, cell in enumerate(line.split("\t"))
            if cell or not text
        )
        content.set_data("\n".join(cells).encode())
        page[NameObject("/Contents")] = writer._add_object(content)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    packed = BytesIO()
    writer.write(packed)
    return packed.getvalue()


def word(changes=None, more=0):
    """A Word file with a table, its XML changed, and a part of so many null bytes."""
    document, changed = BytesIO(), BytesIO()
    file = docx.Document()
    file.add_table(rows=1, cols=1).cell(0, 0).text = "legs"
    file.save(document)
    with zipfile.ZipFile(document) as whole, zipfile.ZipFile(changed, "w", 8) as out:
        for name in whole.namelist():
            part = whole.read(name)
            for old, new in (changes or {}).items() if name == "word/document.xml" else ():
                part = part.replace(old.encode(), new.encode())
            out.writestr(name, part)
        if more:
            out.writestr("word/more.xml", bytes(more))
    return changed.getvalue()


def objects(*bodies):
    """A PDF of objects, the first its root."""
    data = bytearray(b"%PDF-1.5\n")
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, at = len(bodies) + 1, len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    return bytes(data + b"trailer <</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, at))


_ROOT = b"<</Type /Catalog /Pages 2 0 R>>"
_PAGES = b"<</Type /Pages /Kids [3 0 R] /Count 1>>"
_PAGE = b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources <<%s>>>>"
WIDE, CELL = '<w:gridSpan w:val="%d"/>', "<w:tc><w:tcPr>%s</w:tcPr><w:p/></w:tc>"
_ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
_XML = "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>"


def _stream(data, head=b""):
    return b"<<%s /Length %d>>\nstream\n%s\nendstream" % (head, len(data), data)


_DRAWN = b"/Type /XObject /Subtype /Form /Resources <</XObject <</F 5 0 R>>>>"
_ZEROS = zlib.compress(zlib.compress(bytes(10**8)))
_FILE = "file:///etc/passwd"
_TWICE = b"/Filter [/FlateDecode /FlateDecode]"
_FORM = _stream(b"/F Do /F Do", _DRAWN)
BOMBS = {  # the ending of a file's name, and what it holds
    "a cell as wide as 10^8": (
        ".docx",
        word({"<w:tcPr>": '<w:tcPr><w:gridSpan w:val="100000000"/>'}),
    ),
    "cells as wide as 10^8 and -10^8": (
        ".docx",
        word({"<w:tcPr>": f"<w:tcPr>{WIDE % -1e8}", "</w:tc>": f"</w:tc>{CELL % WIDE % 1e8}"}),
    ),
    "90 MB of text": (".docx", word({"<w:tcPr>": f"<w:tcPr>{WIDE % 90_000}", "legs": "x" * 1000})),
    "300 MB of zeros": (".docx", word(more=300_000_000)),
    "entities in entities": (
        ".docx",
        word({_XML: f'{_XML}<!DOCTYPE d [<!ENTITY e0 "x">{_ENTITIES}]>', "legs": "&e9;"}),
    ),
    "an entity that is a file": (
        ".docx",
        word({_XML: f'{_XML}<!DOCTYPE d [<!ENTITY x SYSTEM "{_FILE}">]>', "legs": "&x;"}),
    ),
    "elements in elements": (".docx", word({"<w:p>": "<w:p>" + "<w:sdt>" * 100_000})),
    "half a file": (".docx", word()[:9000]),
    "mails in mails": (".eml", b"Content-Type: message/rfc822\n\n" * 10_000),
    "pages that are their own parent": (
        ".pdf", objects(_ROOT, b"<</Type /Pages /Kids [2 0 R 2 0 R] /Count 2>>")
    ),
    "pages that are each other's": (
        ".pdf", objects(_ROOT, b"<</Type /Pages /Kids [3 0 R] /Count 9>>", _PAGES)
    ),
    "a form that draws itself": (
        ".pdf",
        objects(_ROOT, _PAGES, _PAGE % b"/XObject <</F 5 0 R>>", _stream(b"/F Do"), _FORM),
    ),
    "a length that is itself": (
        ".pdf",
        objects(_ROOT, _PAGES, _PAGE % b"", b"<</Length 4 0 R>>\nstream\nx\nendstream"),
    ),
    "a stream of zeros, twice packed": (
        ".pdf",
        objects(
            _ROOT, _PAGES, _PAGE % b"",
            _stream(_ZEROS, _TWICE),
        ),
    ),
    "half a pdf": (".pdf", pdf("Bees.")[:300]),
}  # fmt: skip
