#!/usr/bin/env bash
# Guess: pypdf's layout mode sets text by where the page has it, so two tables that look alike read
# alike. Seen: cells that are drawn in one text object (BT … ET), each at its own place (Tm), are
# set behind each other, and those behind a blank cell leave their column; cells in objects of
# their own stand below their names.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check pypdf==7.1.1 2>/dev/null
cd "$d"; v/bin/python - <<'P'
from io import BytesIO
import pypdf
ROWS = [["Tariff", "Day", "Night", "Weekend"], ["Tandem", "15.00", "11.00", "18.50"], ["Child seat", "", "", "3.00"]]

def layout(together):
    cells = [[f"1 0 0 1 {72 + 90 * x} {700 - 20 * y} Tm ({t}) Tj" for x, t in enumerate(r) if t] for y, r in enumerate(ROWS)]
    groups = [" ".join(row) for row in cells] if together else [cell for row in cells for cell in row]
    drawn = "\n".join(f"BT /F 11 Tf {group} ET" for group in groups).encode()
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
               b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
               b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
               b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"]
    data, places = b"%PDF-1.4\n", []
    for n, one in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj%s\nendobj\n" % (n, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (table, len(data))
    return pypdf.PdfReader(BytesIO(data + end)).pages[0].extract_text(extraction_mode="layout")

print("pypdf", pypdf.__version__)
drift = {}
for together in (False, True):
    text = layout(together)
    print(text, "\n")
    head, *rows = text.splitlines()
    under = [line.index(cell) - head.index(name) for line, row in zip(rows, ROWS[1:]) for name, cell in zip(ROWS[0], row) if cell]
    drift[together] = under
print("guess: 0 characters between each cell and its name, in both; seen:", drift)
expected = {False: [0, 0, 0, 0, 0, 0], True: [0, -5, -6, -7, 0, 3]}
raise SystemExit(drift != expected)
P
