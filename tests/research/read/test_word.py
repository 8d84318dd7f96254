"""Word files: the text that Word shows with all markup off."""

from io import BytesIO

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from ragsieve.errors import InputError
from ragsieve.read.office import docx_text

RUN = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"
CHAR = "<w:r><w:fldChar w:fldCharType='{}'/></w:r>"
SYMBOL = "<w:r><w:sym w:font='{}' w:char='{}'/></w:r>"
FORM = "<w:r><w:fldChar w:fldCharType='begin'><w:ffData>{}</w:ffData></w:fldChar></w:r>"
LIST = "<w:listEntry w:val='yes'/><w:listEntry w:val='no'/>"
ITEM = "<w:p><w:pPr><w:numPr><w:ilvl w:val='{}'/><w:numId w:val='{}'/></w:numPr></w:pPr>{}</w:p>"
LEVEL = (
    "<w:lvl w:ilvl='{}'><w:start w:val='1'/><w:numFmt w:val='{}'/>{}<w:lvlText w:val='{}'/></w:lvl>"
)


def read(*bodies, numbering=""):
    """The text of a file with these elements, and with lists of their own."""
    file, raw = docx.Document(), BytesIO()
    for body in bodies:
        named = body.replace(" ", f" {nsdecls('w')} ", 1) if "<w:p>" != body[:5] else body
        element = parse_xml(named.replace("<w:p>", f"<w:p {nsdecls('w')}>", 1))
        file.element.body.insert(-1, element)
    root = parse_xml(f"<w:numbering {nsdecls('w')}>{numbering}</w:numbering>")
    for one in root:
        where = 0 if one.tag.endswith("abstractNum") else len(file.part.numbering_part.element)
        file.part.numbering_part.element.insert(where, one)
    file.save(raw)
    return docx_text(raw.getvalue(), "a.docx")


@pytest.mark.parametrize(
    ("inner", "shown"),
    [
        (f"<w:ins w:id='1' w:author='A'>{RUN.format('two months')}</w:ins>", "two months"),
        ("<w:del w:id='1' w:author='A'><w:r><w:delText>old</w:delText></w:r></w:del>", ""),
        (f"<w:moveFrom w:id='1' w:author='A'>{RUN.format('old')}</w:moveFrom>", ""),
        (f"<w:moveTo w:id='1' w:author='A'>{RUN.format('new')}</w:moveTo>", "new"),
        (f"<w:sdt><w:sdtContent>{RUN.format('Ada')}</w:sdtContent></w:sdt>", "Ada"),
        ("<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>", ""),
        (f"<w:fldSimple w:instr=' REF x '>{RUN.format('4.2')}</w:fldSimple>", "4.2"),
        (f"<w:smartTag w:uri='u' w:element='e'>{RUN.format('Oslo')}</w:smartTag>", "Oslo"),
        ("<w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>5</w:t></w:r>", "⁵"),
        ("<w:r><w:rPr><w:strike/></w:rPr><w:t>12 euros</w:t></w:r>", "~~12 euros~~"),
        ("<w:r><w:rPr><w:dstrike/></w:rPr><w:t>12 euros</w:t></w:r>", "~~12 euros~~"),
        (SYMBOL.format("Symbol", "F0B3") + SYMBOL.format("Symbol", "F0E5"), "≥∑"),
        (SYMBOL.format("Wingdings", "F0FE"), "☑"),
        (SYMBOL.format("Webdings", "F0FE"), "\ufffd"),
        (SYMBOL.format("Arial", "00B5"), "µ"),
        (FORM.format("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>"), "☒"),
        (FORM.format("<w:checkBox><w:default w:val='0'/></w:checkBox>"), "☐"),
        (FORM.format(f"<w:ddList><w:result w:val='1'/>{LIST}</w:ddList>"), "no"),
        (
            f"{CHAR.format('begin')}<w:r><w:instrText>DATE</w:instrText></w:r>"
            f"{CHAR.format('separate')}{RUN.format('3 May')}{CHAR.format('end')}",
            "3 May",
        ),
    ],
)
def test_what_word_shows_of_a_line_is_in_the_text(inner, shown):
    """Insertions, controls, results of fields, tags, raised and struck; nothing that is deleted."""
    line = f"<w:p>{RUN.format('It is ')}{inner}{RUN.format(' here.')}</w:p>"

    assert f"It is {shown} here." == read(line)


@pytest.mark.parametrize("kind", ["text/html", "message/rfc822", "application/rtf"])
def test_a_page_in_a_file_is_read(kind):
    """As programs write a whole file, in a mail or not; of another kind it is an error."""
    head = b"MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n" * (kind[0] == "m")
    page = head + "<p>Six <b>€</b>.</p>".encode()
    file, raw = docx.Document(), BytesIO()
    name = file.part.relate_to(
        Part(PackURI("/word/a.bin"), kind, page, file.part.package),
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk",
    )
    file.element.body.insert(0, parse_xml(f"<w:altChunk {nsdecls('w', 'r')} r:id='{name}'/>"))
    file.save(raw)
    if kind == "application/rtf":
        with pytest.raises(InputError, match="has a part of the kind 'application/rtf'"):
            docx_text(raw.getvalue(), "a.docx")
    else:
        assert "Six **€**." == docx_text(raw.getvalue(), "a.docx")


@pytest.mark.parametrize("kind", [WD_STYLE_TYPE.PARAGRAPH, WD_STYLE_TYPE.CHARACTER])
def test_what_a_style_hides_or_strikes_is_so(kind):
    """Also one that it is based on; not where the run says otherwise."""
    file, raw = docx.Document(), BytesIO()
    hidden, struck = (file.styles.add_style(name, kind) for name in ("Hidden", "Struck"))
    hidden.font.hidden = struck.font.strike = True
    inner = file.styles.add_style("Inner", kind)
    inner.base_style = struck
    for style in (hidden, inner):
        paragraph = file.add_paragraph(style=style if kind == WD_STYLE_TYPE.PARAGRAPH else None)
        said = None if kind == WD_STYLE_TYPE.PARAGRAPH else style
        paragraph.add_run("Top of Form", said)
        paragraph.add_run(" 1", said).font.hidden = paragraph.runs[1].font.strike = False
    file.save(raw)

    assert " 1\n\n~~Top of Form~~ 1" == docx_text(raw.getvalue(), "a.docx")


def test_what_stands_in_controls_and_inner_tables_is_in_the_text():
    """A paragraph, a row, and the cells of a table in a cell."""
    cells = "<w:tc><w:p>{}</w:p></w:tc><w:tc>{}<w:p/></w:tc>"
    inner = f"<w:tbl><w:tr>{cells.format(RUN.format('a'), '')}</w:tr></w:tbl>"
    row = f"<w:tr>{cells.format(RUN.format('fee|s'), '')}</w:tr>"
    table = (
        f"<w:tbl ><w:tr>{cells.format(RUN.format('outer'), inner)}</w:tr>"
        f"<w:sdt><w:sdtContent>{row}</w:sdtContent></w:sdt></w:tbl>"
    )
    control = f"<w:sdt ><w:sdtContent><w:p>{RUN.format('In it.')}</w:p></w:sdtContent></w:sdt>"

    assert "In it.\n\n| outer | a, |\n| fee\\|s |  |" == read(control, table)


def test_a_paragraph_whose_end_is_deleted_goes_on_in_the_next():
    """As Word shows it with all markup off; the last one stays."""
    end = "<w:pPr><w:rPr><w:del w:id='1' w:author='A'/></w:rPr></w:pPr>"
    first, next_ = RUN.format("The rent is "), RUN.format("712 euros.")

    assert "The rent is 712 euros.\n\nx" == read(
        f"<w:p>{end}{first}</w:p>", f"<w:p>{next_}</w:p>", f"<w:p>{end}{RUN.format('x')}</w:p>"
    )


def test_lists_have_the_numbers_that_word_shows():
    """By levels, decimal where it is legal, begun anew where it says so; one block a list."""
    levels = (
        LEVEL.format(0, "upperRoman", "", "Article %1."),
        LEVEL.format(1, "decimal", "<w:isLgl/>", "%1.%2"),
        LEVEL.format(2, "lowerLetter", "", "(%3)"),
    )
    numbering = (
        f"<w:abstractNum w:abstractNumId='90'>{''.join(levels)}</w:abstractNum>"
        "<w:num w:numId='91'><w:abstractNumId w:val='90'/></w:num>"
        "<w:num w:numId='92'><w:abstractNumId w:val='90'/><w:lvlOverride w:ilvl='0'>"
        "<w:startOverride w:val='7'/></w:lvlOverride></w:num>"
    )
    places = [(0, 91), (1, 91), (2, 91), (2, 91), (1, 91), (0, 91), (1, 91), (0, 92)]
    items = [ITEM.format(*place, RUN.format("x")) for place in places]
    first = "Article I. x\n   1.1 x\n      (a) x\n      (b) x\n   1.2 x\nArticle II. x\n   2.1 x"

    assert f"{first}\n\nArticle VII. x" == read(*items, numbering=numbering)


@pytest.mark.parametrize(("kind", "mark"), [("footnote", "[^1]"), ("endnote", "[^e1]")])
def test_notes_stand_at_the_end(kind, mark):
    """Each with its mark, those at the foot of a page and those behind the text."""
    file, raw = docx.Document(), BytesIO()
    line = f"<w:p {nsdecls('w')}>{RUN.format('Ten.')}<w:r><w:{kind}Reference w:id='1'/></w:r></w:p>"
    file.element.body.insert(0, parse_xml(line))
    note = f"<w:{kind} w:id='1'><w:p>{RUN.format('Of 1 May.')}</w:p></w:{kind}>"
    notes = f"<w:{kind}s {nsdecls('w')}>{note}</w:{kind}s>".encode()
    part = Part(PackURI(f"/word/{kind}s.xml"), "application/xml", notes, file.part.package)
    file.part.relate_to(part, getattr(RELATIONSHIP_TYPE, f"{kind}s".upper()))
    file.save(raw)

    assert f"Ten.{mark}\n\n{mark}: Of 1 May." == docx_text(raw.getvalue(), "a.docx")


def test_boxes_are_shown_and_blank_bullets_are_not():
    """As pandoc writes tasks, and a second paragraph of an item."""
    levels = {
        n: LEVEL.format(0, "bullet", "", sign) for n, sign in ((90, "☒"), (91, " "), (92, "•"))
    }
    numbering = "".join(
        f"<w:abstractNum w:abstractNumId='{n}'>{level}</w:abstractNum>"
        f"<w:num w:numId='{n}'><w:abstractNumId w:val='{n}'/></w:num>"
        for n, level in levels.items()
    )
    items = [ITEM.format(0, n, RUN.format("x")) for n in (90, 92, 91)]

    assert "- ☒ x\n\n- x\n   x" == read(*items, numbering=numbering)


def test_lists_of_styles_are_lists():
    """As python-docx and Word's own buttons make them; a text between two of them parts them."""
    file, raw = docx.Document(), BytesIO()
    for text, style in (("Open", "List Number"), ("Close", "List Number"), ("Wait.", None)):
        file.add_paragraph(text, style)
    file.add_paragraph("free", "List Bullet")
    file.save(raw)

    assert "1. Open\n2. Close\n\nWait.\n\n- free" == docx_text(raw.getvalue(), "a.docx")
