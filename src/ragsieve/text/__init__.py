"""Text as spans and as it is compared: sentences, languages, answer normalisation, safety."""

import codecs
import functools
import json
import re
import shutil
import string
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import sentencex

from ragsieve.text import boundaries as ends
from ragsieve.text.holding import LETTERS
from ragsieve.text.holding import contains_answer as contains_answer
from ragsieve.timeouts import check_wanted
from ragsieve.types import Span

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DASH = "[\u2010-\u2015\u2212-]"  # as typed: hyphens, dashes and minus signs
_RANGE = re.compile(rf"(?<=\d) ?{_DASH} ?(?=\d)")
_MINUS = re.compile(rf"(?<![\w)]){_DASH}(?=[^\w\s]?\.?\d)")
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INITIAL = re.compile(r"([A-Z]\s*)[^\S\x00-\x7f](?=\.)")
_COUNTED = rf"[{LETTERS}]|[^\s{LETTERS}]+"  # compiled where it is used, as it takes long
_ASKS = frozenset(["who", "whom", "whose", "what", "when", "where", "why", "how"])
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[⁰¹²³⁴-⁹]+|[^\W_⁰¹²³⁴-⁹]+")
_HIDDEN = str.maketrans("", "", "\u00ad\u200b\u200c\u200d\u2060\ufeff")  # soft hyphens and joints
_APOSTROPHES = str.maketrans("", "", "’‘ʼ`´")
_CHARSETS = ("iso-8859", "iso-2022", "latin", "windows-", "gb", "big5", "shift_jis", "euc-", "koi8")
_WINDOW = 4096  # characters; sentencex takes quadratic time in a paragraph's non-ASCII sentences
_MARKER = re.compile(r"^([ \t]*\d{1,3}(?:\.\d{1,3}){0,4})\.(?=[ \t])", re.MULTILINE)
_BLOCK = re.compile(
    r"\n+(?=[ \t]*(?:\n|[-*+•|>#]|\d+[.)][ \t]|\[\^[^\s\]]{1,30}\]:))"
    r"|(?<=[.!?])\n+(?=\[\d{1,3}\][ \t])"  # a footnote
)

_SAMPLE = 600  # characters in which a language shows
_MIN_CERTAIN = 0.3  # probability below which another language than English is not believed
_MAX_ENGLISH = 0.1  # probability of English from which on it is
_MIN_LETTERS = 8  # with fewer, a text in ASCII could be any language
_CAPITALS, _SMALL = re.compile("[A-Z]"), re.compile("[a-z]")
_LETTERS_RUN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_FUNCTION_WORDS = """
the of and that with from this these which were their they you your its what who when where why how
does would should into during because between
"""  # of few other languages: no "is", "for", "was", "are", "by"
_ENGLISH = frozenset(_FUNCTION_WORDS.split())
_OPENING = re.compile(
    r"(?:is|are|does|do|can|could|will) (?:it|i|we|they|there|s?he)\b", re.IGNORECASE
)
_MIN_ENGLISH = 0.12  # share of words that are among those
_THAI_CHARS = 100  # characters from which white space ends a Thai sentence
_THAI_SPACE = re.compile(r"(?<=[\u0e00-\u0e7f])\s+(?=[\u0e00-\u0e7f])")


def sentence_spans(text: str, *, language: str = "en", max_chars: int = 1000) -> list[Span]:
    """Character spans of the sentences of ``text``, in order, without white space around them.

    Lists, headings and table rows end at their line's end. Thai has no full stops: its sentences
    end at the first white space between Thai letters after 100 characters. A sentence over
    ``max_chars`` is cut at the last line break before the limit, else at white space, so that text
    without a sentence end stays usable.
    """
    spans: list[Span] = []
    size = max(_WINDOW, 2 * max_chars)
    shown = _SURROGATE.sub("\ufffd", text)  # sentencex takes UTF-8
    shown = _INITIAL.sub(r"\1 ", shown)  # sentencex panics at "C\u00a0."
    shown = _MARKER.sub(r"\1,", shown)  # so that the number of an item or a clause is no sentence
    shown = ends.shown(shown)
    split = functools.partial(_ends, language=language)
    for start, end in _blocks(text):
        while start < end:
            check_wanted()
            window = shown[start : min(end, start + size)]
            stops = ends.repaired(window, split(window), split)
            if start + len(window) < end:  # the last sentence may go on past the window
                if len(stops) > 1:
                    stops.pop()  # the next window starts with it
                else:
                    stops = [_last_space(window, 0, len(window) - 1)]
            for first, last in pairwise([0, *stops]):
                whole = (start + first, start + last)
                for span in _thai(text, *whole) if language == "th" else [whole]:
                    spans += _trimmed(text, *span, max_chars)
            start += stops[-1]
    return spans


def _ends(text: str, language: str) -> list[int]:
    """Where sentencex ends the sentences of a text; at its end alone where it panics."""
    try:
        return [s["end_index"] for s in sentencex.get_sentence_boundaries(language, text)]
    except BaseException as error:  # a panic is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return [len(text)]


def _blocks(text: str) -> Iterable[Span]:
    start = 0
    for match in (*_BLOCK.finditer(text), None):
        end = match.end() if match else len(text)
        if not text[start:end].isspace():
            yield start, end
        start = end


def _thai(text: str, start: int, end: int) -> Iterable[Span]:
    """A Thai sentence cut at white space between Thai letters, each piece of 100 characters."""
    for space in _THAI_SPACE.finditer(text, start, end):
        if space.start() - start >= _THAI_CHARS:
            yield start, space.start()
            start = space.end()
    yield start, end


def _trimmed(text: str, start: int, end: int, max_chars: int) -> Iterable[Span]:
    while True:
        inner = text[start:end]
        start, end = end - len(inner.lstrip()), start + len(inner.rstrip())
        if end - start <= max_chars:
            break
        cut = _last_space(text, start, start + max_chars)
        yield from _trimmed(text, start, cut, max_chars)
        start = cut
    if start < end:
        yield start, end


def _last_space(text: str, start: int, end: int) -> int:
    """Place of the last line break behind ``start``, up to and with ``end``; else of white space.

    Else ``end``.
    """
    broken = text.rfind("\n", start + 1, end + 1)
    cut = broken if broken > start else max(text.rfind(s, start + 1, end + 1) for s in " \t")
    return cut if cut > start else end


def language(text: str, certain: float | None = None) -> str:
    """ISO 639-1 code of the language of ``text``; "en" where none is recognised.

    Its first 600 characters decide: by English function words, else by fastText's model of 176
    languages (``lid.176``, 1 MB, in the package), which is loaded when first needed. Languages
    without a code of two letters come with three. A few ASCII letters, what may be English with a
    probability of at least 0.1, and what has no other language's of ``certain`` (0.3 where None),
    are English.
    """
    return _language(safe(text[:_SAMPLE]), certain or _MIN_CERTAIN)


@functools.lru_cache(maxsize=4096)
def _language(text: str, certain: float) -> str:
    words = _LETTERS_RUN.findall(text)
    english = sum(word in _ENGLISH for word in map(str.lower, words))
    if not words or english >= _MIN_ENGLISH * len(words) or _OPENING.match(text):
        return "en"
    if text.isascii() and sum(map(len, words)) < _MIN_LETTERS:
        return "en"
    probabilities = _identifier()(text)
    best = max(probabilities, key=probabilities.__getitem__, default="en")
    unsure = probabilities.get(best, 0) < certain
    return "en" if unsure or probabilities.get("en", 0) >= _MAX_ENGLISH else best


@functools.cache
def _identifier() -> Callable[[str], dict[str, float]]:
    """The six most probable languages of a text, with their probabilities."""
    import fasttext

    file = Path(__file__).parents[1] / "weights" / "lid.176.ftz"
    try:
        model = fasttext.load_model(str(file))
    except ValueError:  # Windows opens no path beyond its code page
        with tempfile.TemporaryDirectory() as folder:
            model = fasttext.load_model(str(shutil.copy(file, folder)))

    def identify(text: str) -> dict[str, float]:
        line = text.replace("\n", " ")
        capitals, small = len(_CAPITALS.findall(line)), len(_SMALL.findall(line))
        if line.isupper() or (capitals > 4 * small and len(line) > 5):
            line = line.lower()
        labels, scores = model.predict(line, 6)
        found = zip(labels, scores, strict=True)
        return {name.removeprefix("__label__"): min(float(score), 1.0) for name, score in found}

    return identify


def counted(number: int, noun: str) -> str:
    """A number of things in words: "1 model call", "1,540 questions"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def safe(text: str) -> str:
    """``text`` with control characters and lone surrogates as U+FFFD, each character in its place.

    What models, terminals and servers are given: such characters can hide or reorder what a person
    sees, end a string early, or cannot be encoded at all.
    """
    return _UNSAFE.sub("\ufffd", text)


def json_text(value: Any, **options: Any) -> str:
    """JSON in ASCII that any reader takes: lone surrogates, which strict ones refuse, are U+FFFD.

    Args:
        value: JSON values.
        options: Of `json.dumps`.

    Raises:
        TypeError, ValueError: As `json.dumps`.
    """
    line = json.dumps(value, **options)
    if "\\ud" not in line:
        return line
    shown = _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))
    return json.dumps(json.loads(shown), **options)


def json_value(text: str | bytes, otherwise: Any = None) -> Any:
    """The value of JSON that anybody wrote; ``otherwise`` of what is none, or nests too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def legacy_charset(label: str) -> str:
    """The codec of a declared character set that is none of Unicode's; empty for all others."""
    label = label.strip().lower()
    try:
        return codecs.lookup(label).name if label.startswith(_CHARSETS) else ""
    except LookupError:
        return ""


def words(text: str) -> list[str]:
    """Lower-cased runs of letters and digits, a soft hyphen inside or not; Chinese by character.

    Raised digits, as of notes, are words of their own; others are as they are typed, CO₂ as CO2.
    """
    found = _WORD.findall(unicodedata.normalize("NFC", text.lower().translate(_HIDDEN)))
    return unicodedata.normalize("NFKC", " ".join(found)).split()


def stemmed(text: str) -> str:
    """Words in small letters without the plural's ``s``, joined by spaces."""
    return " ".join(w[:-1] if w.endswith("s") and len(w) > 3 else w for w in words(text))


class _Punctuation(dict[int, int | str | None]):
    """What a character becomes, found once for each.

    Punctuation and invisible signs go; long dashes, and the full stop and comma of scripts without
    spaces, are spaces.
    """

    def __missing__(self, code: int) -> int | str | None:
        punctuation = unicodedata.category(chr(code)).startswith(("P", "Cf"))
        self[code] = (" " if chr(code) in "—―、。" else None) if punctuation else code
        return self[code]


_PUNCTUATION = _Punctuation(str.maketrans("", "", f"{string.punctuation}\u2212"))  # minus, too


def normalise(text: str) -> str:
    """Text as answers are compared: NFKC, lower case, no punctuation, no articles, single spaces.

    Articles stay where there is no other word. Dashes and minus signs between numbers go alike; any
    of them before a number that nothing precedes is its minus sign.

    Source: SQuAD's evaluation, with Unicode NFKC before it (FineFilter's decided reading).
    Differs: Punctuation is all of Unicode's, beside SQuAD's, which is ASCII's; a minus sign stays.
    """
    text = _RANGE.sub("", unicodedata.normalize("NFKC", text).lower())
    text = "-".join(part.translate(_PUNCTUATION) for part in _MINUS.split(text))
    return " ".join((_ARTICLES.sub(" ", text).strip() or text).split())


def visible_answers(answers: Iterable[str]) -> list[str]:
    """Those whose place in a text one can see: neither blank nor yes or no."""
    return [answer for answer in answers if normalise(answer) not in ("", "yes", "no")]


def word_counts(text: str) -> Counter[str]:
    """Count of each word of the normalised text.

    In scripts written without spaces each character is a word, else words were whole sentences.
    """
    return Counter(re.findall(_COUNTED, normalise(text)))


def repeats(text: str, question: str) -> bool:
    """Whether a text says little but the question.

    It then has at least 60% of the question's different words and three of them, these are half of
    its own, and it has all of them, or "what" or the like, or adds no number and no word of three
    letters, one in other scripts. An answer in the question's words does none of that.
    """
    asked, said = word_counts(question).keys(), word_counts(text).keys()
    same = len(asked & said)
    if same < max(3, 0.6 * len(asked)) or 2 * same < len(said):
        return False
    adds = (len(word) > 2 or not word.isalpha() or not word.isascii() for word in said - asked)
    return asked <= said or bool(asked & said & _ASKS) or not any(adds)


def adds_nothing(text: str, question: str) -> bool:
    """Whether a text has no word that the question does not have, and so cannot answer it.

    Never of a question that can be answered by its own words: without "who", "what" and their like,
    or with "or".
    """
    asked, said = {*words(question)}, {*words(text)}
    return bool(asked & _ASKS) and "or" not in asked and bool(said) and said <= asked


def begins(text: str, phrases: Iterable[str]) -> bool:
    """Whether the normalised text begins with one of some normalised phrases."""
    start = normalise(text.translate(_APOSTROPHES)) + " "
    return any(start.startswith(f"{phrase} ") for phrase in phrases)
