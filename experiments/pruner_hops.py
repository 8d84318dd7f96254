"""Questions that need several passages for the bundled sentence pruner, made of simpler ones.

Public sets of such questions with passages are small. Two questions whose evidence is marked make
one: asked at once, or with the answer of the first replaced, in the second, by what the first asks
for, as in MuSiQue (arXiv 2108.00573, section 3).
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

Record = dict[str, Any]

MOST = 6  # bridges over one answer
DOCUMENTS = 3  # of each question that its company gets, at most
JOINED = ("{a}? {b}?", "{a} and {b}?", "{a}, and {b}?", "{a}? Also, {b}?", "{a}? And {b}?")
PHRASES = (  # a question, and what it asks for
    (r"(?:What|Which) (?:is|was) the (?:full |other )?name of (the .+|[A-Z].+)", r"\1"),
    (r"(?:What|Which) (?:is|was) (the .+)", r"\1"),
    (r"Who (?:is|was) (the .+)", r"\1"),
    (r"Who ((?!else|did|do|does)[a-z]+ .+)", r"the person who \1"),
    (r"(?:What|Which) ((?:[a-z]+ ){1,3}?)((?:was|is|were|are|has|had|[a-z]+ed|won|became|wrote|"
     r"holds?|owns?|led|makes?|made|contains?|has|gave) .+)", r"the \1that \2"),
)  # fmt: skip


def joined(records: Sequence[Record], chance: random.Random, count: int) -> Iterator[Record]:
    """Two questions asked at once, half of them about the same article."""
    groups = defaultdict(list)
    for record in records:
        groups[record["documents"][0]["title"]].append(record)
    pairs = [some for some in groups.values() if len(some) > 1]
    for number in range(count):
        pool = chance.choice(pairs) if pairs and chance.random() < 0.5 else records
        a, b = chance.sample(pool, 2)
        first, second = (one["question"].rstrip("? ") for one in (a, b))
        if chance.random() < 0.7:
            second = second[:1].lower() + second[1:]
        question = chance.choice(JOINED).format(a=first, b=second)
        yield _both(f"joined:{number}", question, a, b, chance)


def bridges(records: Sequence[Record], chance: random.Random) -> Iterator[Record]:
    """Questions in which the answer of another one is replaced by what that one asks for."""
    named = defaultdict(list)
    for record in records:
        for answer in record["answers"][:1]:
            if len(answer) > 4 and answer[0].isupper() and (phrase := _phrase(record["question"])):
                named[answer].append((phrase, record))
    for number, second in enumerate(records):
        question = second["question"]
        for answer in _names(question):
            if not (some := named.get(answer)) or answer in second["answers"]:
                continue
            phrase, first = some.pop(chance.randrange(len(some)))
            named[answer] = some[:MOST]
            if first["documents"][0]["text"] != second["documents"][0]["text"]:
                asked = re.sub(rf"(?:\b[Tt]he |\ban? )?{re.escape(answer)}", phrase, question)
                yield _both(f"bridge:{number}", asked, second, first, chance)
                break


def _phrase(question: str) -> str:
    """What a question asks for, as a noun; empty where its form is another one."""
    for form, phrase in PHRASES:
        if found := re.fullmatch(form, question.rstrip("? ")):
            return found.expand(phrase)
    return ""


def _names(question: str) -> Iterator[str]:
    """Names of at most five words, the longest first, that are not part of a longer one."""
    words = [m.span() for m in re.finditer(r"[\w'.-]*\w", question)]
    capital = [question[start].isupper() for start, _ in words] + [False]
    for size in range(min(5, len(words) - 1), 0, -1):
        for start in range(1, len(words) - size + 1):
            end = start + size
            if capital[start] and not capital[end] and (start == 1 or not capital[start - 1]):
                yield question[words[start][0] : words[end - 1][1]].removesuffix("'s")


def _both(id: str, question: str, a: Record, b: Record, chance: random.Random) -> Record:
    """A record of ``a``'s answers, with documents of both; each passage once, with all evidence."""
    documents: dict[str, Record] = {}
    for one in (a, b):
        good = [d for d in one["documents"] if d["evidence"]]
        for document in [*good, *(d for d in one["documents"] if not d["evidence"])][:DOCUMENTS]:
            known = documents.setdefault(document["id"], {**document, "evidence": []})
            known["evidence"] = [*known["evidence"], *document["evidence"]]
    mixed = chance.sample([*documents.values()], len(documents))
    return {"id": id, "question": question, "answers": a["answers"], "documents": mixed}
