"""Questions over source code for the sentence pruner: what a docstring says, asked of its file.

Functions of permissively licensed packages that are installed here; the standard library is for
tests. The docstring's first sentence is the question, reworded; the function without it is the
evidence, among the rest of its file. Whole packages are held out.
"""

from __future__ import annotations

import ast
import importlib.metadata
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pruner_passages import content

Record = dict[str, Any]

LINES = (60, 600)  # of a file
EACH = 3  # functions of a file, at most
PERMISSIVE = re.compile(r"\b(?:MIT|BSD|Apache|ISC|PSF|Python Software Foundation)\b")
COPYLEFT = re.compile(r"\b[AL]?GPL|\bMPL|General Public")
ASKED = (  # by a verb in the third person, by the sentence, by its words
    "where is the code that {verbs}?", "which function {verbs}?", "how does it {verb}?",
    "what {verbs}?", "find the function that {verbs}", "I want to change how it {verbs}. Where?",
    "{sentence}", "function to {verb}", "where does it {verb}", "{words}", "{words}",
)  # fmt: skip


def packages() -> Iterator[tuple[str, list[Path]]]:
    """Installed packages under a permissive licence, with their modules."""
    for one in importlib.metadata.distributions():
        meta: Any = one.metadata  # a message of mails, too
        named = " ".join(
            [meta.get("License-Expression") or "", (meta.get("License") or "")[:200]]
            + [c for c in meta.get_all("Classifier") or [] if c.startswith("License")]
        )
        if PERMISSIVE.search(named) and not COPYLEFT.search(named):
            files = [f for f in one.files or [] if f.suffix == ".py" and "tests" not in f.parts]
            yield meta["Name"], [Path(str(one.locate_file(f))) for f in files]


def sources(chance: random.Random, most: int) -> Iterator[tuple[str, Record]]:
    """Package and question, at most so many of a package."""
    for name, files in packages():
        count = 0
        for file in chance.sample(files, len(files)):
            try:
                text = file.read_text("utf-8")
                tree = ast.parse(text) if LINES[0] <= text.count("\n") <= LINES[1] else None
            except (OSError, ValueError, SyntaxError):
                continue
            for record in asked(text, tree, file, chance) if tree else ():
                yield name, record
                count += 1
            if count >= most:
                break


def asked(text: str, tree: ast.Module, file: Path, chance: random.Random) -> Iterator[Record]:
    """Questions over a file."""
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    told = [n for n in nodes if _sentence(n) and (n.end_lineno or 0) - n.lineno > 4]
    for node in chance.sample(told, min(len(told), EACH)):
        draw = chance.random()
        if draw < 0.5:  # nobody's docstring says it
            hidden = [n for n in ast.walk(tree) if _docstring(n)]
        elif draw < 0.85:
            hidden = [node, *(n for n in nodes if _docstring(n) and chance.random() < 0.5)]
        else:
            hidden = []
        lines = text.splitlines(keepends=True)
        for one in hidden:
            doc = _docstring(one)
            if doc and doc.end_lineno and len(getattr(one, "body", ())) > 1:
                lines[doc.lineno - 1 : doc.end_lineno] = [""] * (doc.end_lineno - doc.lineno + 1)
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        start = sum(map(len, lines[: first - 1]))
        end = start + sum(map(len, lines[first - 1 : node.end_lineno]))
        name = "/".join(file.parts[-2:])
        document = {"id": name, "title": chance.choice(("", name)), "text": "".join(lines)}
        yield {
            "id": f"source:{name}:{node.name}",
            "question": wording(_sentence(node), chance),
            "answers": [],
            "documents": [{**document, "evidence": [[start, end]]}],
        }


def wording(sentence: str, chance: random.Random) -> str:
    """A docstring's first sentence as a question or a request."""
    first, _, rest = sentence.partition(" ")
    verb = first.lower()
    if verb.endswith("s") and not verb.endswith("ss"):
        verb = re.sub(r"(?:(?<=[sxz])|(?<=ch)|(?<=sh))es$|s$", "", verb) if len(verb) > 3 else verb
    verbs = verb + ("es" if re.search(r"(?:[sxz]|ch|sh)$", verb) else "s")
    verbs = re.sub(r"(?<=[^aeiou])ys$", "ies", verbs)
    found = re.findall(r"[\w.'-]*\w", sentence)
    said = {
        "verb": f"{verb} {rest}", "verbs": f"{verbs} {rest}", "sentence": sentence,
        "words": " ".join(w.lower() for w in found if content(w) and chance.random() < 0.8),
    }  # fmt: skip
    is_verb = re.fullmatch(r"[A-Z][a-z]{3,}(?<!ed)(?<!ing)(?<!This)", first)
    forms = ASKED if is_verb else [form for form in ASKED if "{verb" not in form]
    return chance.choice(forms).format(**said) if said["words"] else sentence


def _docstring(node: ast.AST) -> ast.Expr | None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    if isinstance(node, kinds) and ast.get_docstring(node):
        first = node.body[0]
        return first if isinstance(first, ast.Expr) else None
    return None


def _sentence(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The docstring's first sentence; empty where it says the name alone, or much."""
    doc = ast.get_docstring(node) or ""
    first = " ".join(re.split(r"(?<=[.!?:])\s|\n\n", doc.strip())[0].split()).rstrip(".:")
    fits = 5 <= len(first.split()) <= 25 and not re.search(r"[>{}]|:\w+:|``", first)
    return first if fits and node.name.lower() not in first.lower() else ""
