"""What holds for every result, whatever went in."""

import json
import math

from .hostile import HOSTILE

SHORT = [name for name, text in HOSTILE.items() if len(text) <= 1000]
FACTS = [
    "Seals and Crofts sang Summer Breeze.",
    "Bees make honey. Cheese is made of milk.",
    "Ann Lee was born in Cork in 1972. She sang Breeze.",
    "- Rome is a city.\n- Lyon is, too.",
    "你好。他在巴黎唱歌。",
    "Who sang it? Nobody knows.",
]
QUESTIONS = ["Who sang Summer Breeze?", "Where was Ann Lee born?", "Is Rome a city?", "谁唱歌？"]


def holds(rule, truth, value=""):
    """Raise `AssertionError` where a rule does not hold, with the value that breaks it."""
    if not truth:
        raise AssertionError(f"{rule}: {value!r:.300}")


def draw_text(rng):
    """A fact, a hostile text, characters of any kind, or several of them."""
    kind = rng.randrange(6)
    if kind < 3:
        return rng.choice(FACTS)
    if kind == 3:
        return HOSTILE[rng.choice(SHORT)]
    if kind == 4:
        planes = ((0, 0x20), (0x20, 0x7F), (0x80, 0x2FF), (0x2000, 0x206F), (0xD800, 0xE000))
        span = [rng.choice([*planes, (0x4E00, 0x9FFF), (0x1F300, 0x1FAFF)]) for _ in range(9)]
        return "".join(chr(rng.randrange(*pair)) for pair in span)
    return rng.choice([" ", "\n", "\n\n", ""]).join(draw_text(rng) for _ in range(3))


ID = "id 5739: reply 9"


def draw_documents(rng, most=6):
    """None to ``most`` documents, some with a title, some with ids that repeat."""
    return [
        {
            "text": draw_text(rng),
            **({"title": draw_text(rng)} if rng.random() < 0.3 else {}),
            **({"id": rng.choice(["a", ID, "\ud800"])} if rng.random() < 0.2 else {}),
        }
        for _ in range(rng.randrange(most + 1))
    ]


def draw_question(rng):
    """Mostly a plain question; never a blank one, which is an error."""
    text = rng.choice(QUESTIONS) if rng.random() < 0.8 else draw_text(rng)
    return text if text.strip() else QUESTIONS[0]


def check_result(result, system, max_tokens):
    """Spans verbatim, budget kept, nothing larger than before, every drop with its reason."""
    check_spans([v.segment for v in result.verdicts], result)
    check_spans(result.kept, result)
    length = system.reader.count([result.text])[0]
    limit = math.inf if max_tokens is None else max_tokens
    holds("tokens are counted", length == result.tokens.after, (length, result.tokens))
    holds("the budget holds", length <= limit, (length, limit))
    holds("nothing grows", result.tokens.after <= result.tokens.before, result.tokens)
    for step in result.trace.steps:
        for dropped in step.dropped:
            score = dropped.segment.score if dropped.segment.scores else 0.0
            holds("a score is finite", math.isfinite(score), dropped)
            holds("a drop has its stage and reason", step.stage and dropped.reason.strip(), dropped)
        holds("a stage that failed says so in a line", "\n" not in step.error, step.error)
    json.dumps(result.to_dict(), allow_nan=False)
    holds("it can be shown", repr(result) and result._repr_html_() and result.rows is not None)


def check_spans(segments, result):
    """Each is a piece of a document that went in, or of a text that a model wrote from some."""
    known = {id(document) for document in result.documents}
    for segment in segments:
        document = segment.document
        same = document.text[segment.start : segment.end] == segment.text
        holds("a span is verbatim", same, segment)
        ours = id(document) in known or document in result.documents
        holds("a span is of a document", ours or document.written_by, segment)


def places(prompt):
    """All that a prompt says."""
    return "\n".join(message.content for message in prompt)
