"""Where splitters cut what readers of files write: rows, lists, notes, lines of a PDF.

    python benchmarks/compatibility.py sentences

Twenty texts of the shapes that the readers of ``file_readers.py`` put out. "‖" stands where a
person cuts, "¦" where one may. A text is right where all of the first are cut and nothing else is.
Each splitter has its setting for English, as no reader says which language it read.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from importlib import import_module

PINS = {
    "all": [
        "ROOT",
        *("sentencex==1.0.32", "pysbd==0.3.4", "spacy==3.8.18", "syntok==1.4.4"),
        *("blingfire==0.1.8", "sentence-splitter==1.4", "nltk==3.10.4"),
    ]
}
Split = Callable[[str], list[str]]

TEXTS = {
    "rows of Markdown": "| day | hall | at |¦\n| --- | --- | --- |‖\n| Mon | A | 9 |‖\n"
    "| Mon | B | 10 |",
    "rows with sentences": "| hall | note |¦\n| --- | --- |‖\n"
    "| A | Closed.¦ Ask Dr. Long. |‖\n| B | Open. |",
    "rows of a PDF": "Tariff             Day      Night     Weekend‖\n"
    "Bicycle            4.50               6.00‖\nCargo bicycle      12.00    9.00",
    "form of a PDF": "Tenant              Ada Long‖\nFlat                4 B‖\n"
    "Rent                712.00",
    "lines of a PDF": "The depot opened in 2019-2020 after two\nyears of building.‖ During the "
    "COVID-19\nclosure it stayed open for couriers only.‖ Visitors\nbring identification.",
    "heading of a PDF": "Prices‖\nThe depot opened in 2019 after two years of building.‖ "
    "It is open.",
    "heading of Markdown": "# Fees of 2026‖\n\nThe fee is 9 EUR.‖ It is due by the third.",
    "numbered list": "3. open‖\n4. close",
    "list of letters": "a) Bring a lock.‖\nb) Ask at the desk, e.g. by post.",
    "bullets": "- Bring a lock.‖\n- Do not park at the gate.‖\n- Ask",
    "clauses": "1.1 The rent is 712 euros.‖\n1.2 The notice is three months, cf. Sec. 573.‖\n"
    "1.3 Keys are at the desk.",
    "terms": "Fee: 9 EUR‖\n\nTime: 2 days",
    "note mark": "It is free.²‖ See below.",
    "footnote of Markdown": "Pay in time.[^9]‖ Else it is dear.‖\n\n[^9]: By the third.",
    "references": "It rained [1, p. 4].‖ Nobody sang (Long et al. 2019).‖ A hit.",
    "abbreviations": "See Fig. 3 and Sec. 4.2 for No. 7.‖ Dr. Long, M.Sc., answers at "
    "approx. 9 a.m.",
    "addresses": "Get v2.0.1 at https://example.org/a.b?c=1.‖ It needs Python 3.11.",
    "quotation": "He said: “It is closed.”‖ Nobody came.",
    "code": "Run it:‖\n\n```\na = 1\nb = 2\n```‖\n\nThen stop.",
    "Japanese": "東京に行く。‖駅は近い。‖切符は要らない。",
}


def splitters() -> dict[str, Split]:
    """Texts to pieces, in order, by name of the package."""
    ours = import_module("ragsieve.text").sentence_spans
    pysbd = import_module("pysbd").Segmenter(language="en", clean=False)
    nlp = import_module("spacy").blank("en")
    nlp.add_pipe("sentencizer")
    syntok = import_module("syntok.segmenter")
    fire = import_module("blingfire").text_to_sentences_and_offsets
    moses = import_module("sentence_splitter").SentenceSplitter(language="en")
    punkt = import_module("nltk.tokenize.punkt").PunktSentenceTokenizer()
    sentencex = import_module("sentencex")

    def by_syntok(text: str) -> list[str]:
        sentences = [one for paragraph in syntok.process(text) for one in paragraph]
        return ["".join(token.spacing + token.value for token in one) for one in sentences]

    return {
        "ragsieve": lambda text: [text[a:b] for a, b in ours(text)],
        "sentencex": lambda text: list(sentencex.segment("en", text)),
        "pysbd": pysbd.segment,
        "spacy": lambda text: [one.text for one in nlp(text).sents],
        "syntok": by_syntok,
        "blingfire": lambda text: [text[a:b] for a, b in fire(text)[1]],
        "sentence-splitter": moses.split,
        "nltk": punkt.tokenize,
    }


def cuts(pieces: list[str]) -> set[int]:
    """Characters before each cut, white space not counted."""
    ends, at = set(), 0
    for piece in pieces:
        at += len("".join(piece.split()))
        ends.add(at)
    return ends - {0, at}


def is_right(marked: str, pieces: list[str]) -> bool:
    """Whether what must be cut is, and nothing else that may not be."""
    must = cuts(marked.replace("¦", "").split("‖"))
    may = cuts(marked.replace("‖", "¦").split("¦"))
    return must <= cuts(pieces) <= may


def main() -> None:
    found = splitters()
    names = [f"{n} {importlib.metadata.version(n)}" if n != "ragsieve" else n for n in found]
    print(f"| text | {' | '.join(names)} |\n|---|{'---|' * len(found)}")
    right = dict.fromkeys(found, 0)
    for name, marked in TEXTS.items():
        text, marks = marked.replace("‖", "").replace("¦", ""), []
        for splitter, split in found.items():
            fine = is_right(marked, split(text))
            right[splitter] += fine
            marks.append("right" if fine else "wrong")
        print(f"| {name} | {' | '.join(marks)} |")
    print(f"| all | {' | '.join(f'{n} of {len(TEXTS)}' for n in right.values())} |")


if __name__ == "__main__":
    main()
