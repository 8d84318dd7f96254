"""Word files, pages and PDFs by real programs, each with one thing that a reader may lose."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Check = tuple[str, ...] | Callable[[str], bool]
Source = tuple[str, Check, tuple[str, ...]]


class Shape(NamedTuple):
    """A file with one thing to read.

    Args:
        name: What it has, and what wrote it.
        file: Its name.
        shown: Strings that the text must have, in order, or what tells whether it is right.
        gone: Strings that it must not have.
    """

    name: str
    file: str
    shown: Check
    gone: tuple[str, ...] = ()


def numbered(marks: str) -> Callable[[str], bool]:
    """Whether the items of a list of two have these numbers."""
    items = rf"(?m)^\s*{marks[0]}\\?[.)]\s+open\s+{marks[1]}\\?[.)]\s+close"
    return lambda text: bool(re.search(items, text))


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RUN = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'.format
BEGIN, END = ('<w:r><w:fldChar w:fldCharType="{}"/></w:r>'.format(k) for k in ("begin", "end"))  # noqa: UP032
CELL = "<w:tc><w:tcPr/><w:p>{}</w:p>{}</w:tc>".format
WORD: dict[str, Source] = {  # elements of a body that python-docx writes as they are
    "tracked insertion": (
        f"<w:p>{RUN('It is ')}<w:ins w:id='1' w:author='A'>{RUN('two months')}</w:ins>"
        f"{RUN('.')}</w:p>",
        ("It is two months.",), (),
    ),
    "tracked deletion": (
        f"<w:p>{RUN('It is ')}<w:del w:id='1' w:author='A'><w:r><w:delText>old</w:delText></w:r>"
        f"</w:del>{RUN('new.')}</w:p>",
        ("It is new.",), ("old",),
    ),
    "moved text": (
        f"<w:p><w:moveFrom w:id='1' w:author='A'>{RUN('Hall A')}</w:moveFrom>{RUN('It is in ')}"
        f"<w:moveTo w:id='2' w:author='A'>{RUN('Hall B')}</w:moveTo></w:p>",
        ("It is in Hall B",), ("Hall A",),
    ),
    "deleted end of a paragraph": (
        "<w:p><w:pPr><w:rPr><w:del w:id='1' w:author='A'/></w:rPr></w:pPr>"
        f"{RUN('The rent is ')}</w:p><w:p>{RUN('712 euros.')}</w:p>",
        lambda text: "The rent is 712 euros." in text.replace("\\", ""), (),
    ),
    "content control in a line": (
        f"<w:p>{RUN('The tenant is ')}<w:sdt><w:sdtContent>{RUN('Ada Long')}</w:sdtContent></w:sdt>"
        f"{RUN('.')}</w:p>",
        ("The tenant is Ada Long.",), (),
    ),
    "content control around paragraphs": (
        f"<w:sdt><w:sdtContent><w:p>{RUN('Keys are at the desk.')}</w:p></w:sdtContent></w:sdt>",
        ("Keys are at the desk.",), (),
    ),
    "simple field": (
        f"<w:p>{RUN('See section ')}<w:fldSimple w:instr=' REF x '>{RUN('4.2')}</w:fldSimple>"
        f"{RUN('.')}</w:p>",
        ("See section 4.2.",), (),
    ),
    "complex field": (
        f"<w:p>{RUN('Due on ')}{BEGIN}<w:r><w:instrText>DATE</w:instrText></w:r>"
        f"<w:r><w:fldChar w:fldCharType='separate'/></w:r>{RUN('4 May')}{END}{RUN('.')}</w:p>",
        ("Due on 4 May.",), ("DATE",),
    ),
    "table in a cell": (
        f"<w:tbl><w:tblPr/><w:tblGrid/><w:tr>{CELL(RUN('Fees'), '')}"
        f"<w:tc><w:tcPr/><w:tbl><w:tblPr/><w:tblGrid/><w:tr>{CELL(RUN('late'), '')}"
        f"{CELL(RUN('9 EUR'), '')}</w:tr></w:tbl><w:p/></w:tc></w:tr></w:tbl>",
        ("Fees", "late", "9 EUR"), (),
    ),
    "hidden text": (
        f"<w:p>{RUN('It is open')}<w:r><w:rPr><w:vanish/></w:rPr><w:t> draft note</w:t></w:r>"
        f"{RUN('.')}</w:p>",
        ("It is open.",), ("draft note",),
    ),
    "power": (
        f"<w:p>{RUN('10')}<w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>5</w:t></w:r>"
        f"{RUN(' cells')}</w:p>",
        lambda text: not re.search(r"\b105 cells", text), (),
    ),
    "struck price": (
        f"<w:p><w:r><w:rPr><w:strike/></w:rPr><w:t>80 EUR</w:t></w:r>{RUN(' 60 EUR')}</w:p>",
        lambda text: bool(re.search(r"(~~|<s>|<del>)\s*80 EUR", text)) and "60 EUR" in text, (),
    ),
    "hyphen that does not break": (
        f"<w:p>{RUN('In 2019')}<w:r><w:noBreakHyphen/></w:r>{RUN('2020.')}</w:p>",
        lambda text: bool(re.search("2019[-\u2010\u2011]2020", text)), (),
    ),
    "cell over two columns": (
        f"<w:tbl><w:tblPr/><w:tblGrid/><w:tr>{CELL(RUN('hall'), '')}{CELL(RUN('am'), '')}"
        f"{CELL(RUN('pm'), '')}</w:tr><w:tr>{CELL(RUN('A'), '')}<w:tc><w:tcPr>"
        f"<w:gridSpan w:val='2'/></w:tcPr><w:p>{RUN('closed')}</w:p></w:tc></w:tr></w:tbl>",
        lambda text: bool(re.search(r"A\W+closed\W+closed", text)), (),
    ),
}  # fmt: skip
PANDOC: dict[str, Source] = {  # Markdown that pandoc writes as a Word file
    "numbers of a list, pandoc": ("3. open\n4. close\n", numbered("34"), ()),
    "letters of a list, pandoc": ("a) open\nb) close\n", numbered("ab"), ()),
    "footnote, pandoc": (
        "Pay in time.[^1] Else it is dear.\n\n[^1]: By the third.\n",
        lambda text: "By the third" in text and "time.1 Else" not in text.replace("\\", ""), (),
    ),
    "fraction, pandoc": ("Add $\\frac{1}{2}$ litre.\n", lambda text: "12 litre" not in text
                         and bool(re.search(r"1.{0,6}2.{0,4}litre", text)), ()),
    "link, pandoc": ("Ask the [desk](https://desk.example).\n", ("Ask the", "desk"), ()),
    "merged heading, pandoc": ("# Fees\n\n## Late\n\n9 EUR\n", ("Fees", "Late", "9 EUR"), ()),
}  # fmt: skip
HTML: dict[str, Source] = {
    "power": ("<p>10<sup>5</sup> cells</p>", lambda t: not re.search(r"\b105 cells", t), ()),
    "note mark": ("<p>It is free.<sup>2</sup> See below.</p>",
                  lambda t: "free.2 See" not in t and "free. See" not in t, ()),
    "note mark in a cell": ("<table><tr><th>n<th>price<tr><td>A<td>12<sup>1</sup></table>",
                            lambda t: not re.search(r"\b121\b", t), ()),
    "index": ("<p>CO<sub>2</sub> and x<sub>1</sub></p>", lambda t: "CO 2" not in t, ()),
    "ruby": ("<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>に行く</p>",
             lambda t: "東京とうきょう" not in t, ()),
    "struck price": ("<p><del>80 EUR</del> 60 EUR</p>",
                     lambda t: "60 EUR" in t and ("80" not in t or "~~80" in t), ()),
    "list from 4": ("<ol start=4><li>open<li>close</ol>", numbered("45"), ()),
    "list reversed": ("<ol reversed><li>open<li>close</ol>", numbered("21"), ()),
    "list of letters": ("<ol type=a><li>open<li>close</ol>", numbered("ab"), ()),
    "rowspan": ("<table><tr><th>day<th>hall<th>at<tr><td rowspan=2>Mon<td>A<td>9<tr><td>B<td>10"
                "</table>", lambda t: bool(re.search(r"Mon\W+B\W+10", t)), ()),
    "colspan": ("<table><tr><th>n<th>am<th>pm<tr><td>A<td colspan=2>closed<tr><td>B<td>1<td>2"
                "</table>", lambda t: bool(re.search(r"A\W+closed\W+closed", t)), ()),
    "details": ("<details><summary>Fee</summary>9 EUR</details>", ("Fee", "9 EUR"), ()),
    "terms": ("<dl><dt>Fee<dd>9 EUR<dt>Time<dd>2 days</dl>", ("Fee", "9 EUR", "2 days"), ()),
    "break in a cell": ("<table><tr><th>hall<th>at<tr><td>A<td>9:00<br>10:00</table>",
                        lambda t: "9:0010:00" not in t and "10:00" in t, ()),
    "soft hyphen": ("<p>Personal&shy;abteilung</p>", ("Personalabteilung",), ()),
    "place to break": ("<p>max<wbr>_<wbr>tokens</p>",
                       lambda t: "max_tokens" in t.replace("\\", ""), ()),
    "caption": ("<table><caption>Fees of 2026</caption><tr><th>n<th>fee<tr><td>A<td>9</table>",
                ("Fees of 2026", "A", "9"), ()),
    "code": ("<pre>a = 1\n    b = 2</pre>", lambda t: "\n    b = 2" in t, ()),
    "hidden": ("<p hidden>secret</p><p>open to all</p>", ("open to all",), ("secret",)),
    "script": ("<script>x = 'secret'</script><p>open to all</p>", ("open to all",), ("secret",)),
}  # fmt: skip
ROWS = [
    ["Tariff", "Day", "Night", "Weekend", "Deposit"], ["Bicycle", "4.50", "", "6.00", "20"],
    ["Cargo bicycle", "12.00", "9.00", "", "60"], ["Child seat", "", "", "3.00", ""],
    ["Tandem", "15.00", "11.00", "18.50", "45"], ["Trailer", "7.00", "", "", "30"],
]  # fmt: skip
PROSE = (
    "The depot opened in 2019-2020 after two years of building. During the COVID-19 closure it "
    "stayed open for couriers only. Visitors bring identification, because the reception cannot "
    "look anybody up. Long-term parking is charged from the first started hour; short-term "
    "customers pay nothing for thirty minutes. Complaints about the surveillance equipment are "
    "handled by the administration, which answers within fourteen days. "
)


def in_columns(text: str) -> bool:
    """Whether each number of the table stands under its name, in cells or at its place."""
    lines = [line for line in text.splitlines() if line.strip()]
    header = next((line for line in lines if "Weekend" in line and "Night" in line), "")
    return bool(header) and all(
        _under(header, next((x for x in lines if row[0].split()[0] in x and x != header), ""), row)
        for row in ROWS[1:]
    )


def _under(header: str, line: str, row: list[str]) -> bool:
    if "|" in header:
        cells = [re.sub(r"<br>|\*", " ", cell).strip() for cell in line.strip().split("|")[1:-1]]
        return [*map(_plain, cells[1:])] == [*map(_plain, row[1:])]
    centres = {name: header.index(name) + len(name) / 2 for name in ROWS[0]}
    at = len(row[0])
    for name, value in zip(ROWS[0][1:], row[1:], strict=True):
        if value:
            if (at := line.find(_plain(value), at)) < 0:
                return False
            place = at + len(_plain(value)) / 2
            if min(centres, key=lambda own: abs(centres[own] - place)) != name:
                return False
    return True


def _plain(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def words_whole(text: str) -> bool:
    """Whether no word of the prose is divided, and none is glued."""
    said = " ".join(text.replace("*", "").split())
    return all(" ".join(PROSE.split(". ")[n].split()) in said for n in range(5))


def in_order(text: str) -> bool:
    """Whether two columns are read one behind the other."""
    said = " ".join(text.replace("-\n", "").split())
    places = [said.find(f"Paragraph {n}:") for n in range(8)]
    return -1 not in places and places == sorted(places) and "first started hour" in said


def word_files(folder: Path) -> Iterator[Shape]:
    """Word files by python-docx and pandoc."""
    import docx

    pypandoc = import_module("pypandoc")
    from docx.oxml import parse_xml

    for name, (xml, shown, gone) in WORD.items():
        file, path = docx.Document(), folder / f"{name.replace(' ', '-')}.docx"
        for part in parse_xml(f"<w:body {W}>{xml}</w:body>"):
            file.element.body.insert(len(file.element.body) - 1, part)
        file.save(str(path))
        yield Shape(name, path.name, shown, gone)
    for name, (markdown, shown, gone) in PANDOC.items():
        path = folder / f"{name.replace(' ', '-')}.docx"
        pypandoc.convert_text(markdown, "docx", "markdown+fancy_lists", outputfile=str(path))
        yield Shape(name, path.name, shown, gone)


def pages(folder: Path) -> Iterator[Shape]:
    """Pages with one thing each, among other text."""
    for name, (html, shown, gone) in HTML.items():
        path = folder / f"{name.replace(' ', '-')}.html"
        more = "<p>The depot is open on all days but Sunday, and nobody needs a ticket.</p>"
        body = f"<article><h1>Depot</h1>{more * 3}{html}{more}</article>"
        path.write_text(f"<!doctype html><meta charset=utf-8><title>Depot</title>{body}", "utf-8")
        yield Shape(name, path.name, shown, gone)


def pdf_files(folder: Path) -> Iterator[Shape]:
    """A table with blank cells, prose in lines, two columns and a form."""
    typst = import_module("typst")
    platypus = import_module("reportlab.platypus")
    weasyprint = import_module("weasyprint")

    style = import_module("reportlab.lib.styles").getSampleStyleSheet()["BodyText"]
    grid: list[Any] = [platypus.Table(ROWS, style=[("GRID", (0, 0), (-1, -1), 0.5, "black")])]
    story = [platypus.Paragraph("Prices", style), *grid, platypus.Paragraph(PROSE, style)]
    platypus.SimpleDocTemplate(str(folder / "reportlab.pdf")).build(story)
    file = import_module("fpdf").FPDF()
    file.add_page()
    file.set_font("Helvetica", size=11)
    with file.table() as table:
        for row in ROWS:
            cells = table.row()
            for cell in row:
                cells.cell(cell)
    file.multi_cell(0, 6, PROSE)
    file.output(str(folder / "fpdf2.pdf"))
    cells = ", ".join(f"[{cell}]" for row in ROWS for cell in row)
    numbered = "\n\n".join(f"Paragraph {n}: {PROSE}" for n in range(8))
    narrow = "#set page(width: 9cm)\n#set par(justify: true)\n#set text(hyphenate: true)\n"
    for name, text in {
        "typst": f"= Prices\n{PROSE}\n\n#table(columns: 5, {cells})\n\n{PROSE}",
        "typst-lines": f"{narrow}{PROSE}\n\n{PROSE}",
        "typst-columns": f"#set page(columns: 2)\n#set par(justify: true)\n{numbered}",
    }.items():
        typst.compile(text.encode(), output=str(folder / f"{name}.pdf"))
    rows = "".join(f"<tr>{''.join(f'<td>{cell}' for cell in row)}" for row in ROWS)
    weasyprint.HTML(string=f"<p>{PROSE}<table border=1 width=100%>{rows}</table>").write_pdf(
        str(folder / "weasyprint.pdf")
    )
    pairs = [("Tenant", "Ada Long"), ("Flat", "4 B"), ("Rent", "712.00"), ("Notice", "3 months")]
    form = "".join(
        f"<div style='display:flex'><div style='width:40%'>{a}</div>{b}</div>" for a, b in pairs
    )
    weasyprint.HTML(string=f"{form}<p>{PROSE}").write_pdf(str(folder / "form.pdf"))
    for name in ("reportlab", "fpdf2", "typst", "weasyprint"):
        yield Shape(f"table with blank cells, {name}", f"{name}.pdf", in_columns)
    yield Shape("words that lines divide, typst", "typst-lines.pdf", words_whole)
    yield Shape("two columns of prose, typst", "typst-columns.pdf", in_order)
    canvas = import_module("reportlab.pdfgen.canvas").Canvas(str(folder / "turned.pdf"))
    for n, names in enumerate(ROWS):
        for m, cell in enumerate(names):
            canvas.drawString(60 + 90 * m, 700 - 20 * n, cell)
    canvas.rotate(90)
    canvas.drawString(300, -30, "Prices without tax")
    canvas.save()
    yield Shape("turned text beside a table, reportlab", "turned.pdf", ("Prices without tax",))
    yield Shape("form, weasyprint", "form.pdf", tuple(one for pair in pairs for one in pair))
    if shutil.which("soffice"):
        yield from _of_office(folder)


def _of_office(folder: Path) -> Iterator[Shape]:
    """The table by LibreOffice, as a text and as a sheet."""
    import docx

    file = docx.Document()
    file.add_paragraph(PROSE)
    table = file.add_table(len(ROWS), len(ROWS[0]), style="Table Grid")
    for n, row in enumerate(ROWS):
        for m, cell in enumerate(row):
            table.cell(n, m).text = cell
    file.save(str(folder / "office" / "writer.docx"))
    sheet = "\n".join(",".join(row) for row in ROWS)
    (folder / "office" / "calc.csv").write_text(sheet)
    for name, source in {"writer": "writer.docx", "calc": "calc.csv"}.items():
        convert = ["soffice", "--headless", "--convert-to", "pdf", "--outdir", str(folder)]
        subprocess.run(
            [*convert, str(folder / "office" / source)],
            check=True,
            capture_output=True,
            timeout=180,
        )
        yield Shape(f"table with blank cells, LibreOffice {name}", f"{name}.pdf", in_columns)
