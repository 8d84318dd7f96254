"""Sentence ends that sentencex finds, and one small table of rules that repairs them.

`shown` hides apostrophes that are no quotes from it, `JOINS` takes back ends inside a sentence, and
`repaired` those in bold, and adds those behind a closing bracket and inside a long quotation.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

_SHORT = 8  # characters that a number or an abbreviation has with its white space, at most
_LONG = 200  # characters of a quotation from which what follows it does not count
SEEN = 80  # characters on both sides of an end that rules look at

_ABBREVIATIONS = (
    "approx|ca|cf|vs|al|resp|incl|excl|est|max|min|avg|dept|div|ref|refs|no|nr|nos|vol|vols|fig|figs"
    "|eq|eqs|tab|sec|ch|art|para|pp?|ff?|ed|eds|op|cit|ibid|temp|tel|ext|viz|bzw|evtl|ggf|vgl|inkl"
    "|zzgl|usw|env|av|bd|st|\\w*str|pag|pág|núm|num|n|blz|abs|abb|kap|ziff|app|ver|cap|cl|lgs|sez|рис|стр|см"
    "|табл|янв|авг|сент|окт|нояб|дек"
)
_TITLES = (
    "Mme|Mlle|MM|Mevr|Dhr|Sra|Srta|Sig|Dott|Avv|Av(?:da)?|Hr|Fa|Ft|Blvd|Ul|Kap|Ziff|App|[ИиУу][мл]"
    "|(?:in|ex)[ck]l"
)
_BEFORE_ORDINALS = "der|die|das|dem|den|des|am|im|vom|zum|beim|und|bis"
FIRM = [  # what stands before an end that is none even before a capital, and behind it
    (rf"\b(?:{_TITLES})\.", r"\s+[^\W\d_]"),  # Ft. Vancouver
    (rf"\b(?i:{_BEFORE_ORDINALS})\s+\d{{1,2}}\.", r"\s+[A-ZÄÖÜ]"),  # das 19. Jahrhundert
    (r"\b[ap]\.m\.", r"\s+(?:\w{3,6}day|[A-Z]{2,4}T)\b"),  # 5 p.m. Monday
    (r"\w{2}\.[-–]\w{2,6}\.", r"\s+\w"),  # Dr.-Ing. Holt
    (r"\.", r"~"),  # Fig.~3
]
JOINS = [  # what stands before an end that is none, and behind it
    (r"", r"\s*[&,;%)\]}/=+]"),  # Prod. & Dev.; (see Fig. [3]) well
    (r"", r"\s*[.!?…]+(?:\s|$)"),  # et al. [12].
    (r"[.!?…][\"'”’»]*", r"[*_\"'”’»]{1,3}(?:\s|$)"),  # *Is it far?* No.
    (r"[.!?…]", r"[\"”’»]\s+[a-zß-ÿ]"),  # "add FILE..." to include
    (rf"(?i:\b(?:{_ABBREVIATIONS})\.)", r"\s*[\da-zß-ÿ(\[§]"),  # approx. 4200; cf. the
    (r"\b[A-Z][a-z]{1,4}\.", r"\s*[a-zß-ÿ]"),  # Dev. is
    (r"\.\s*[\[(][^\[\]()]{1,30}[\])]", r"\s*[a-zß-ÿ(]"),  # et al. [12] found
    (r"(?:://|\bwww\.|\bmailto:)\S*[?!.]", r"\S"),  # https://a.org/f?Q=x
    (r"(?<!\w)!", r"\["),  # ![a picture](b.png)
    (r"\w[?!.]", r"[\w%-]+=[^\s=]"),  # f?Q=x
    (r"[^\W\d_]\.", r"\s+\d{1,3},\s"),  # Eye dam. 1, H318
    (r"\.", r"(?:[-‐–—]\w|[ºª])"),  # J.-C.; Mon.–Fri.; art. 5.º
    (r"\b[ALR]\.", r"\s+\d+-\d"),  # art. L. 221-18
    (r"[\u0e00-\u0eff]\.", r"\s*[\d\u0e00-\u0eff]"),  # พ.ศ. 2560
    (r"(?:^|\s)[\u0620-\u064a]\.", r"\s+[\u0620-\u064a]"),  # د. أحمد
    (r"[。！？][」』]", r"と"),  # 「行こう。」と彼は言った
]
_VOWELS = "aeiouyáéíóúàèùäöüаеёиоуыэюяαεηιουω"
_SHORTENED = rf"[^\s.!?]{{1,3}}|[a-zß-ÿ]{{4}}|(?i:[^\W\d_{_VOWELS}]{{5}})"  # p. m. abre; prod. of
SMALL = [  # the same where sentences begin with capitals
    (rf"(?:^|[\s.(])(?:{_SHORTENED})\.", r"\s+[a-zß-ÿа-яё]"),
    (r"\w!", r"\s+[a-zß-ÿа-яё]"),  # the band Wham! was big
    (r"\b[A-Z][a-zß-ÿ]{1,3}\.", r"\s*\d"),  # Qty. 4
]


@cache
def _rules(opens: bool, cased: bool) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    rules = FIRM if opens else [*FIRM, *JOINS, *(SMALL if cased else ())]
    return [(re.compile(f"(?:{before})$"), re.compile(behind)) for before, behind in rules]


_NO_SENTENCE = rf"(?i:\d{{1,3}}|\w|[^\W\d_{_VOWELS}]{{2,4}}|[^\x00-\u04ff\s]{{1,3}})\."
_ALONE = re.compile(_NO_SENTENCE)  # 2. Dr. Vgl.
_CASED = re.compile(r"\s{0,4}(?!I\b)[A-ZÀ-ÞА-ЯΑ-Ω]")
_OPENS = re.compile(r"(?<=\s)[A-ZÀ-ÞА-ЯΑ-Ω“„¿¡]")  # which no rule takes for the rest of one
_APOSTROPHE = re.compile(
    r"(?<!\w)['’‘](?=\d\ds?\b|[a-z]-|(?:[Tt]is|[Tt]was|em|til|cause|bout|round|n)\b)"  # '60s
    r"|(?<=s)['’](?=\s+[a-z])"  # the fans' club
    r"|''(?=\S)|(?<=\S)''"
)
_BOLD = re.compile(r"(?<![^\s(])\*\*(?=[^\s*])[^*]{0,200}$")
_CLOSES = re.compile(r"[^*]{0,200}(?<!\s)\*\*")
_REFERENCE = re.compile(r"(?<=[.!?\]])\[(?:\^[^\s\[\]]{1,30}|\d[\d,;–— -]{0,20}|[a-z])\]")
_RAISED = re.compile(r"(?<=[.!?])[¹²³⁰⁴-⁹†‡]{1,3}(?=\s|\Z)")  # read as closing quotes
_CLOSED = re.compile(
    r"(?<=[^\W\d_]{2}[.!?][)\]])\s+(?=[A-ZÀ-ÞА-ЯΑ-Ω“\"(\[])"
    r"|(?<=[.!?…])[\"'”’»]{2,}(?:\s*\n\s*|\s+(?=[A-ZÀ-ÞА-ЯΑ-Ω]))"  # """So it is."""
)
_QUOTED = re.compile(r"“[^“”]{60,}”|„[^„“]{60,}“|«[^«»]{60,}»|\"[^\"]{60,}\"")
_GOES_ON = re.compile(r"\s*[,;:/([–—\"”»“-]")  # “Why? – she asked. – It is

Split = Callable[[str], list[int]]


def shown(text: str) -> str:
    """The same length, with apostrophes that open or close no quotation as letters.

    References behind an end, such as ``[^a]``, are digits in brackets.
    """
    text = _REFERENCE.sub(lambda match: f"[{'0' * (len(match[0]) - 2)}]", text)
    text = _RAISED.sub(lambda match: "”" * len(match[0]), text)
    return _APOSTROPHE.sub(lambda match: "ʼ" * len(match[0]), text)


def repaired(text: str, ends: Sequence[int], split: Split) -> list[int]:
    """Ends of the sentences of ``text``, the last one included.

    Args:
        text: What was split.
        ends: Where sentencex ends its sentences.
        split: The same ends for a part of the text, for what stands in quotes.
    """
    starts = [0, *ends[:-1]]
    cased = 3 * sum(bool(_CASED.match(text, start)) for start in starts) >= len(starts)
    kept, start = [], 0
    for end in ends[:-1]:
        said = text[start:end]
        alone = len(said) < _SHORT and _ALONE.fullmatch(said.strip())
        bold = _CLOSES.match(text, end) and _BOLD.search(said)
        if not alone and not bold and not _inside(text, end, cased):
            kept.append(end)
            start = end
    return [*sorted({*kept, *_more(text, split)} - {ends[-1]}), ends[-1]]


def _inside(text: str, end: int, cased: bool) -> bool:
    """Whether a sentence goes on behind an end."""
    if text[max(0, end - 2) : end + 1].isspace():
        return False  # blank lines end what stands before them
    opens = _OPENS.match(text, end)
    before = text[max(0, end - SEEN) : end]
    stripped = before.rstrip()
    behind = before[len(stripped) :] + text[end : end + SEEN]

    long = opens and stripped[-_SHORT:].count(" ") == 0 and len(stripped) >= _SHORT
    if long and "." not in stripped[-_SHORT:-1]:  # a long word ends it
        return False
    rules = _rules(bool(opens), cased)
    return any(rest.match(behind) and join.search(stripped) for join, rest in rules)


def _more(text: str, split: Split) -> Iterator[int]:
    """Ends behind a bracket or several quotation marks, and of whole sentences in quotes."""
    for match in _CLOSED.finditer(text):
        yield match.end()
    for match in _QUOTED.finditer(text):
        inner = split(text[match.start() + 1 : match.end() - 1])
        short = len(match[0]) < _LONG and _GOES_ON.match(text, match.end())
        goes_on = short or text[match.end() :].lstrip()[:1].islower()
        if len(inner) > 1 and not goes_on:
            for end in (match.start() + 1 + end for end in inner[:-1]):
                stops = text[match.start() : end].rstrip().endswith((*".!?…。！？",))
                if stops and not _GOES_ON.match(text, end):
                    yield end
