"""F1 of sentence ends inside texts, by language: ours, sentencex alone, and pySBD where installed.

    pip download --no-deps --no-binary sentencex sentencex==0.6.1 && tar xzf sentencex-0.6.1.tar.gz
    python benchmarks/sentence_ends.py sentencex-0.6.1/test/unit

The texts are sentencex's own tests (MIT), most of them the Golden Rules of 28 languages.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import sentencex

from ragsieve.text import sentence_spans

Split = Callable[[str, str], list[str]]


def cases(file: Path) -> Iterator[tuple[str, set[int]]]:
    """Texts with the ends of their sentences."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Tuple | ast.List) or len(node.elts) != 2:
            continue
        try:
            text, sentences = ast.literal_eval(node)
        except (TypeError, ValueError):
            continue
        if isinstance(text, str) and isinstance(sentences, list) and sentences:
            yield text, ends(text, sentences)


def ends(text: str, sentences: list[str]) -> set[int]:
    """Where sentences end in a text, without the white space behind them."""
    at, found = 0, set()
    for sentence in filter(None, map(str.strip, sentences)):
        at = text.find(sentence, at) + len(sentence)
        found.add(at)
    return found


def ours(language: str, text: str) -> list[str]:
    """Sentences by ragsieve."""
    spans = sentence_spans(text, language=language, max_chars=len(text) + 1)
    return [text[start:end] for start, end in spans]


def pysbd(language: str, text: str) -> list[str]:
    """Sentences by pySBD."""
    from pysbd import Segmenter

    return [*Segmenter(language=language, clean=False).segment(text)]


def f1(split: Split, language: str, file: Path) -> str:
    """Of ends, the last one of each text aside; a dash where the language or library is missing."""
    right = wrong = missed = 0
    try:
        for text, expected in cases(file):
            inner = ends(text, split(language, text)) - {max(expected)}
            expected = expected - {max(expected)}
            right, wrong = right + len(inner & expected), wrong + len(inner - expected)
            missed += len(expected - inner)
    except (ImportError, ValueError):
        return "–"
    return f"{2 * right / (2 * right + wrong + missed):.3f}" if right + wrong + missed else "1.000"


if __name__ == "__main__":
    print("| language | texts | ragsieve | sentencex | pySBD |\n|---|---|---|---|---|")
    for file in sorted(Path(sys.argv[1]).glob("test_??.py")):
        language, number = file.stem[5:], len([*cases(file)])
        splits: list[Split] = [ours, lambda lang, text: [*sentencex.segment(lang, text)], pysbd]
        scores = [f1(split, language, file) for split in splits]
        print(f"| {language} | {number} | {' | '.join(scores)} |")
