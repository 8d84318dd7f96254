"""What readers of files keep of Word files, pages and PDFs that real programs wrote.

    python benchmarks/compatibility.py files
    python benchmarks/file_readers.py --keep FOLDER   # in this environment; leaves the files there

A shape is kept where all that the page shows is in the text, in order, and nothing that it does not
show. Files of LibreOffice are made where ``soffice`` is installed; other rows say what wrote them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from importlib import import_module
from io import StringIO
from pathlib import Path

from file_shapes import Shape, pages, pdf_files, word_files

PINS = {
    "all": [
        "ROOT[documents,html]",
        *("markitdown[docx,pdf]==0.1.9", "pymupdf4llm==1.28.2", "trafilatura==2.3.1"),
        *("mammoth==1.13.0", "docx2txt==0.9", "lxml_html_clean==0.4.6", "html2text==2025.4.15"),
        *("pdfplumber==0.11.10", "fpdf2==2.8.9", "reportlab==5.1.0", "typst==0.15.2"),
        *("weasyprint==70.0", "pypandoc_binary==1.17"),
    ]
}


def readers() -> dict[str, dict[str, Callable[[Path], str]]]:
    """What reads files of each ending."""
    from ragsieve.read.files import read_documents

    names = ("docx2txt", "html2text", "mammoth", "pdfplumber", "pymupdf4llm", "trafilatura")
    docx2txt, html2text, mammoth, pdfplumber, pymupdf4llm, trafilatura = map(import_module, names)

    def ours(path: Path) -> str:
        return "\n\n".join(document.text for document in read_documents([str(path)]))

    def plumber(path: Path) -> str:
        with pdfplumber.open(path) as file:
            return "\n".join(page.extract_text() or "" for page in file.pages)

    def extracted(path: Path) -> str:
        return trafilatura.extract(path.read_text("utf-8"), output_format="markdown") or ""

    def by_markitdown(path: Path) -> str:
        return str(import_module("markitdown").MarkItDown().convert(str(path)).text_content)

    shared = {"ragsieve": ours, "markitdown": by_markitdown}
    return {
        ".docx": {
            **shared,
            "mammoth": lambda path: mammoth.convert_to_markdown(path.open("rb")).value,
            "docx2txt": lambda path: docx2txt.process(str(path)),
        },
        ".html": {
            **shared,
            "html2text": lambda path: html2text.html2text(path.read_text("utf-8")),
            "trafilatura": extracted,
        },
        ".pdf": {
            **shared,
            "pymupdf4llm": lambda path: pymupdf4llm.to_markdown(str(path)),
            "pdfplumber": plumber,
        },
    }


def is_kept(shape: Shape, text: str) -> bool:
    """Whether a text has what a page shows."""
    if any(one in text for one in shape.gone):
        return False
    if callable(shape.shown):
        return shape.shown(text)
    said, at = " ".join(text.replace("\\", "").replace("*", "").split()), 0
    for one in shape.shown:
        if (found := said.find(one, at)) < 0:
            return False
        at = found + len(one)
    return True


def tables(folder: Path) -> None:
    """Print a table for each ending."""
    (folder / "office").mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)
    for make, (ending, by) in zip((word_files, pages, pdf_files), readers().items(), strict=True):
        shapes = [*make(folder)]
        names = [
            f"{name} {importlib.metadata.version(name)}" if name != "ragsieve" else name
            for name in by
        ]
        print(f"\n| `{ending}` | {' | '.join(names)} |\n|---|{'---|' * len(by)}")
        kept = dict.fromkeys(by, 0)
        for shape in shapes:
            marks = []
            for name, read in by.items():
                with redirect_stderr(StringIO()):
                    fine = is_kept(shape, read(folder / shape.file))
                kept[name] += fine
                marks.append("kept" if fine else "lost")
            print(f"| {shape.name} | {' | '.join(marks)} |")
        print(f"| all | {' | '.join(f'{n} of {len(shapes)}' for n in kept.values())} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("environment", nargs="?", help="as the runner calls it: all")
    parser.add_argument("--keep", type=Path, help="where the files stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables(options.keep or Path(folder))


if __name__ == "__main__":
    main()
