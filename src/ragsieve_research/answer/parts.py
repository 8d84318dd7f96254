"""Answers: which are none, which are the same; schemas of replies in named parts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragsieve.text import contains_answer, normalise

UNANSWERED = "UNANSWERED"
"""The word that a model is asked to reply with where it has no answer."""

_SAID = re.compile(r"[\w'/]+")
_ANSWERS = {"no", "none", "nothing", "neither"}  # of some questions
_DENYING = """
n/a no not none nothing nor neither cannot unable lack lacks lacking fail fails impossible
insufficient inconclusive unknown unclear uncertain undetermined undecided unspecified
unanswerable unanswered unavailable unsure sorry differ disagree
"""
_SAYING = """
a an the this that these those there here it its it's i i'm i've am we they you my our your any
some all is are was were be been being do does did can could will would may might have has had
to of in on at for from by with within as about and or but so if since because enough sufficient
only either what which who whom whose when where why how however unfortunately explicitly
directly clearly definitely clear known sure certain given provided available mentioned stated
specified said found listed included contained described named identified determined established
inferred derived answered confirmed know say says state states mention mentions specify give
gives provide provides contain contains include includes tell tells name determine determines
answer answers find finds identify help assist agree need based above below following response
responses agent agents other others question questions asked consistent consensus agreement relevant
specific explicit direct further more indicate indicates
"""
_SOURCES = """
context document documents passage passages text texts source sources evidence information info data
detail details content excerpt excerpts article articles material
"""
SOURCES = frozenset(_SOURCES.split())
"""Words for what a model is asked to answer from."""
_DENIALS = frozenset(_DENYING.split())
_NO_CONTENT = _DENIALS.union(_SAYING.split(), SOURCES)  # of what a reply speaks that has no answer
_STEM = 5  # characters that words of one stem begin with
_SPOKEN = re.compile(r"[^.!?]*\b(?:I|we|you)\b", re.IGNORECASE)


def schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON schema of an object with these parts, all of them, in this order."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def plain(answer: str) -> str:
    """As answers are compared without a critic: but for case, space and outer punctuation."""
    return " ".join(answer.casefold().split()).strip(" .,;:!?\"'“”*_")


def agree(one: str, other: str) -> bool:
    """Whether answers are plainly the same, or one occurs in the other."""
    holds = contains_answer(one, [other]) or contains_answer(other, [one])
    return holds or plain(one) == plain(other)


def same_answers(answers: Sequence[str]) -> list[list[int]]:
    """Places of answers in groups that are plainly the same or short and long forms of one name.

    By first place. A short form of several long ones that differ stays by itself.
    """
    groups: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        groups.setdefault(plain(answer), []).append(place)
    texts = {one: answers[places[0]] for one, places in groups.items()}
    longer = {p: [q for q in groups if _is_short_form(texts[p], texts[q])] for p in groups}
    for short, longs in longer.items():
        chain = all(a == b or a in longer[b] or b in longer[a] for a in longs for b in longs)
        if longs and chain:
            groups[max(longs, key=len)] += groups.pop(short)
    return sorted(map(sorted, groups.values()))


def _is_short_form(one: str, other: str) -> bool:
    """Whether ``other`` is ``one`` and, behind a comma, up to two more names: "Paris, France".

    Any other longer form may name another thing, as "Mary Lincoln": that is the critic's to say.
    """
    short, long = normalise(one).split(), normalise(other).split()
    return 1 <= len(long) - len(short) <= 2 and plain(other).startswith(f"{plain(one)},")


def words(text: str) -> list[str]:
    """A text's words in lower case, without the mark of a possessive."""
    return [w.removesuffix("'s") for w in _SAID.findall(text.casefold().replace("’", "'"))]


def content_words(text: str) -> set[str]:
    """A text's words in lower case, without those that deny, speak of sources or say nothing."""
    return {word for word in words(text) if not word.endswith("n't")} - _NO_CONTENT


def is_answer(text: str, question: str = "", evidence: str | None = None) -> bool:
    """Whether a text can be an answer: not where it says, in whatever words, that there is none.

    It does where it has `UNANSWERED`, or denies something, but names nothing beside sources,
    knowledge and what the question names; and, where there is evidence to speak of, where it denies
    something for itself or its reader ("I can't …"), and the most of what it names is not in the
    evidence, as where it is empty. What is a name there is an answer ("Unavailable", a song).
    """
    said, known = words(text), {*words(evidence or "")}
    if UNANSWERED in text and UNANSWERED not in f"{question} {evidence}":
        return False
    denies = any(word in _DENIALS or word.endswith("n't") for word in said)
    if not denies or _is_name(text, evidence or ""):
        return bool(said)
    own = content_words(text) - {*words(question)}
    if evidence is not None and _SPOKEN.match(text):
        own = own & known if 2 * len(own & known) >= len(own) else set()
    return bool(own) or (len(said) == 1 and said[0] in _ANSWERS)


def refuses(text: str, question: str, evidence: str) -> bool:
    """Whether a text that is written from evidence is no answer, or a doubtful one about it."""
    doubted = in_doubt(text, question, evidence) and bool(SOURCES & {*words(text)})
    return doubted or not is_answer(text, question, evidence)


def _is_name(text: str, evidence: str) -> bool:
    """Whether a text is a title there, or is in quotes, or has a capital in a sentence."""
    name = re.escape(text.strip(" .\"'“”‘’*_"))
    found = rf"^{name}(?: \([^()\n]*\))?:|[\"“‘*_]{name}(?!\w)|\b[a-z]+,? {name}(?!\w)"
    return text[:1].isupper() and re.search(found, evidence, re.MULTILINE) is not None


def in_doubt(text: str, question: str, evidence: str) -> bool:
    """Whether an answer may say that there is none, in words that nobody foresaw.

    Of what it names beside the question the most does not occur in the evidence, or it names
    nothing at all; and it has no number, no name, is no yes or no, and no single word.
    """
    said, asked = _SAID.findall(text), {"i", *words(question)}
    names = [w for n, w in enumerate(said) if not w[0].islower() and (n or not w[0].isupper())]
    named = any(not {*words(word.split("'")[0])} <= asked for word in names)
    if named or len(said) < 2 or re.match(r"(?:yes|no)\b(?! \w)", text, re.IGNORECASE):
        return False
    own, known = content_words(text) - asked, {word[:_STEM] for word in words(evidence)}
    found = sum(word[:_STEM] in known for word in own)
    return 2 * found < len(own) if own else not content_words(text)
