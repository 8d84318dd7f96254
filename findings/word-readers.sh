#!/usr/bin/env bash
# Guess: a kept Word reader gives what Word shows with markup off: results of fields, moved text once, numbers of lists.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check mammoth==1.13.0 docx2python==3.7.1 python-docx==1.2.0 2>/dev/null
cd "$d"; "$d/v/bin/python" - <<'P'
import importlib.metadata as m, docx, mammoth
from docx.oxml import parse_xml
from docx2python import docx2python
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
run = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'.format
d = docx.Document()
for inner in (
    run("See ") + f'<w:fldSimple w:instr=" REF x ">{run("section 4.2")}</w:fldSimple>' + run(" below."),
    run("Moved: ") + f'<w:moveFrom w:id="4" w:author="A">{run("old place")}</w:moveFrom><w:moveTo w:id="5" w:author="A">{run("new place")}</w:moveTo>' + run("."),
):
    d.element.body.insert(len(d.element.body) - 1, parse_xml(f"<w:p {W}>{inner}</w:p>"))
d.add_paragraph("Open", style="List Number"); d.add_paragraph("Close", style="List Number")
d.save("a.docx")
for n in ("mammoth", "docx2python", "python-docx"): print(n, m.version(n))
print("guess: 'See section 4.2 below.', 'Moved: new place.', '1. Open', '2. Close' from each")
found = {"mammoth": mammoth.extract_raw_text(open("a.docx", "rb")).value.split("\n\n")[:4],
         "docx2python": [t for t in docx2python("a.docx").text.split("\n\n") if t.strip()],
         "python-docx": [p.text for p in docx.Document("a.docx").paragraphs]}
for k, v in found.items(): print(k, v)
assert found["mammoth"] == ["See  below.", "Moved: new place.", "Open", "Close"], found
assert found["docx2python"] == ["See section 4.2 below.", "Moved: old placenew place.", "Open", "Close"], found
assert found["python-docx"] == ["See  below.", "Moved: .", "Open", "Close"], found
P
