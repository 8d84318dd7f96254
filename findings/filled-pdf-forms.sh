#!/usr/bin/env bash
# Guess: readers of PDFs give the text that a page shows, so also what somebody has filled into its form.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check pypdf==7.1.1 pdfplumber==0.11.10 pypdfium2==5.15.2 pymupdf==2.0 reportlab==5.1.0 2>/dev/null
cd "$d"; "$d/v/bin/python" - <<'P'
import importlib.metadata as m, pdfplumber, pymupdf, pypdfium2
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas
page = Canvas("blank.pdf")
page.drawString(50, 750, "Name")
page.drawString(50, 720, "Vegetarian")
page.acroForm.textfield(name="name", x=150, y=745, width=200, height=18)
page.acroForm.checkbox(name="vegetarian", x=150, y=715, size=16)
page.save()
filled = PdfWriter("blank.pdf")
filled.update_page_form_field_values(filled.pages[0], {"name": "Ann Lee", "vegetarian": "/Yes"})
filled.write("a.pdf")
for n in ("pypdf", "pdfplumber", "pypdfium2", "pymupdf"): print(n, m.version(n))
print("guess: Name, Ann Lee, Vegetarian and a tick, each value beside its label, from all")
of_pdfium = pypdfium2.PdfDocument("a.pdf"); of_pdfium.init_forms()
found = {"pypdf": PdfReader("a.pdf").pages[0].extract_text(),
         "pdfplumber": pdfplumber.open("a.pdf").pages[0].extract_text(),
         "pypdfium2, forms on": of_pdfium[0].get_textpage().get_text_range(),
         "pymupdf": pymupdf.open("a.pdf")[0].get_text()}
found = {name: text.split("\n") for name, text in found.items()}
found = {name: [line.strip() for line in lines if line.strip()] for name, lines in found.items()}
for name, lines in found.items(): print(name, lines)
assert all(found[name] == ["Name", "Vegetarian"] for name in list(found)[:3]), found
assert found["pymupdf"] == ["Name", "Vegetarian", "Ann Lee", "3"], found  # the tick: the letter of its font
P
