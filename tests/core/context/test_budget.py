"""What a budget keeps where the best segment does not fit: parts of it, or a warning."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

import ragsieve
from ragsieve import Document, ModelError, Pipeline, Query, Segment, System
from ragsieve.answer import Reader
from ragsieve.context.budget import LIMITS, ContextBudget, fit, fit_parts
from ragsieve.documents import site
from ragsieve.models.fake import ScriptedLLM
from ragsieve.structure import stands_alone
from ragsieve.structure.parts import parts
from ragsieve.text import adds_nothing, sentence_spans
from ragsieve.trace import step
from tests.timing import is_linear

HTML = "<table>\n<tr><th>Room</th><th>Low</th></tr>\n" + "\n".join(
    f"<tr>\n<td>{name}</td>\n<td>{fee}</td>\n</tr>"
    for name, fee in [("Single", 60), ("Double", 71)]
)
TABLE = "Rates\n\n| Room | Low | High |\n|---|---|---|\n| Single | 60 | 84 |\n| Double | 71 | 97 |"
STEPS = (
    "To rotate the key:\n\n1. Open the vault.\n2. Press Rotate\n   and wait.\n3. Restart the rest."
)
BULLETS = "You need:\n- a passport or a card\n- two photographs\n- the fee in cash"
CODE = "Run it:\n\n```python\nfrom larder import keep\n\nkeep(1)\n```"
PROSE = "## Keys\n\nKeys are strings of digits. The vault rotates them at night. Ask Ann about it."
RECORD = "Name: Ann Hale\nRoom: 14\nPhone: 0555 014\nBadge: green"
TICKET = '[{"id": 1, "fields": {"then": [1, 2, 3, 4], "warm": 1, "where": "in the north of it"}}]'
YAML = f"b:\n  x: y\n  db:\n    pool: 20\n    note: {'no ' * 24}\na:\n  pool: 3\n  x: 1"
GOODS = "name;price\na pot of black tea;2\na jug of cold milk;1\na bag of brown rice;5\n"
LYON = "- Lyon\n  - 9 seats\n  - led by Bo\n    since May"
SITES = LYON + "\n- Oslo site\n  - 7 seats\n  - led by Al"
ENTRY = "Failed\n  at a\n  job: x"
HOURS = "Hours\n  Pool\n    open from 7 to 21\n      but on Mondays"
TRIP = "- Lyon\n  - led by Bo since May\n    - as a trial for one year and no more"
CARD = "2: eth0: up\n    link 02\n        inet 192.0.2.2 on eth0\n            valid forever"
INDEX = "butter, 12\n  sour, 14\ncream, 20\n  sour, 22\n  thick, 25"
PANICS = "main at a.rs:1:\nno stock\ndb at b.rs:9:\ndeadlock"
NOTE = "[^1]: Free for us. Guests pay."
BRANCHES = "Open:\n" + "".join(f"- Site{n}\n  - at {n}\n  - {'x' * 80}\n" for n in range(10))
LONG = "The fee, which the council set in May, is due on the first day of each quarter of the year"
PLAIN = LONG.replace(",", "")


class Words(Reader):
    """Counts words."""

    def count(self, texts, /):
        """Of each text."""
        return [len(text.split()) for text in texts]


READER = Words(ScriptedLLM([]))


@pytest.mark.parametrize(
    ("text", "head", "body", "ordered"),
    [
        (STEPS, ["To rotate the key:"],
         ["1. Open the vault.", "2. Press Rotate\n   and wait.", "3. Restart the rest."], "steps"),
        (BULLETS, ["You need:"], BULLETS.split("\n")[1:], ""),
        (CODE, ["Run it:"], ["```python", "from larder import keep", "keep(1)", "```"], "code"),
        (PROSE, ["## Keys"], re.split(r"(?<=\.) ", PROSE[9:]), ""),
        (RECORD, [], RECORD.split("\n"), ""),
        (SITES, [], [LYON, SITES[len(LYON) + 1 :]], ""),
        (LYON, ["- Lyon"], ["  - 9 seats", "  - led by Bo\n    since May"], ""),
        (" 9. Wait.\n10. Go.", [], [" 9. Wait.", "10. Go."], "steps"),
        ("- a\n\t- b\n\t- c", ["- a"], ["\t- b", "\t- c"], ""),
        (ENTRY + "\n    at b", [ENTRY[:6]], ["  at a", "  job: x\n    at b"], ""),
        (INDEX, [], ["butter, 12\n  sour, 14", "cream, 20\n  sour, 22\n  thick, 25"], ""),
        (PANICS, [], ["main at a.rs:1:\nno stock", "db at b.rs:9:\ndeadlock"], ""),
        ("A:\nx\ny\nw\nv\n**T**\nz", ["A:"], ["x", "y", "w", "v", "**T**", "z"], ""),
        (NOTE, ["[^1]:"], ["Free for us.", "Guests pay."], ""),
        ("**Boys.** Two a day. No more.", ["**Boys.**"], ["Two a day.", "No more."], ""),
        ("**Boys** eat. **Girls.** run.", [], ["**Boys** eat.", "**Girls.** run."], ""),
        ("Pro\n: Costs 5. Has 9 GB.", ["Pro"], [": Costs 5.", "Has 9 GB."], ""),
        (LONG, [], [LONG], ""),
        ("# Title", [], ["# Title"], ""),
        ("", [], [], ""),
    ],
)  # fmt: skip
def test_a_text_has_parts(text, head, body, ordered):
    """What every other part needs, and the rest."""
    found = parts(text)

    assert (head, body, ordered) == (
        [text[slice(*span)] for span in found.head],
        [text[slice(*span)] for span in found.body],
        found.ordered,
    )


NODES = "\n".join(f"node-{n}: {'failed' if n == 7 else 'well'}" for n in range(12))
NOTED = "- Al: 3 EUR\n- Bo*: 4 EUR\n- Cy: 5 EUR\n\n* Not in July."
CUES = "\n\n".join(
    f"{n}\n00:00:{n:02},000 --> 00:00:{n + 1:02},000\n{said}"
    for n, said in enumerate(["Al stayed.", "Bo moved", "to Ulm.", "Cy left."], 1)
)


def kept(question, text, max_tokens, other=""):
    """Texts that stay of a best segment and a lesser one; a word is a token."""
    segments = [Segment.whole(Document("a", text)).scored("s", 1)]
    segments += [Segment.whole(Document("b", other)).scored("s", 0)] if other else []
    with step("s", segments) as record:
        budget = ContextBudget(max_tokens=max_tokens)
        finer, some = fit_parts(segments, budget, READER, Query(question))
        record.before, record.after = tuple(finer), tuple(some)
    return [s.text for s in some], record


@pytest.mark.parametrize(
    ("question", "text", "max_tokens", "expected"),
    [
        ("What is a double room?", TABLE, 21, ["Rates", "| Double | 71 | 97 |"]),
        ("What is a double room?", TABLE, 16, ["| Double | 71 | 97 |"]),
        ("Is there milk?", GOODS, 11, ["a jug of cold milk;1"]),
        ("Is it warm now?", '{"then": {"a": [1, 2, 3, 4, 5, 6, 7, 8]}, "now": {"warm": 1}}', 9,
         ['"now": {"warm": 1}}']),
        ("Is it warm now?", TICKET, 12, ['"warm": 1,']),
        ("How large is the pool of b?", YAML, 24, ["b:\n  x: y", "db:\n    pool: 20"]),
        ("How do I rotate a key?", STEPS, 9, ["To rotate the key:", "1. Open the vault."]),
        ("How do I pay the fee?", BULLETS, 8, ["You need:", "- the fee in cash"]),
        ("Who turns the vault?", PROSE, 9, ["## Keys", "The vault rotates them at night."]),
        ("What is her phone?", RECORD, 5, ["Phone: 0555 014"]),
        ("What is her phone?", RECORD, 6, ["Phone: 0555 014", "Keys are strings."]),
        ("Who led Lyon?", SITES, 11, [LYON]),
        ("Who led Lyon?", SITES, 8, ["- Lyon", "  - led by Bo\n    since May"]),
        ("When does Site3 open?", BRANCHES, 9, ["- Site3", "  - at 3"]),
        ("Who led Oslo?", "Sites:\n" + SITES, 9, ["Sites:", "- Oslo site", "  - led by Al"]),
        ("Which job?", ENTRY, 3, ["Failed", "  job: x"]),
        ("When is the pool open?", HOURS, 7, ["Hours", "  Pool", "    open from 7 to 21"]),
        ("Who led Lyon?", TRIP, 8, ["- Lyon", "  - led by Bo since May"]),
        ("What is the inet address of eth0?", CARD, 7,
         ["2: eth0: up", "        inet 192.0.2.2 on eth0"]),
        ("Is there thick cream?", INDEX, 4, ["cream, 20", "  thick, 25"]),
        ("Where was the deadlock?", PANICS, 4, ["db at b.rs:9:\ndeadlock"]),
        ("Do guests pay?", NOTE, 4, ["[^1]:", "Guests pay."]),
        ("Which node failed?", NODES, 3, ["node-7: failed"]),
        ("What does Bo pay?", NOTED, 9, ["- Bo*: 4 EUR", "* Not in July."]),
        ("Where is Bo now?", CUES, 4, ["2\n00:00:02,000 --> 00:00:03,000\nBo moved"]),
        ("How high is the fine?", "How high is the fine?\n20 cents a day.\nIt rained.\nSo.", 11,
         ["How high is the fine?", "20 cents a day."]),
        ("When is the fee due?", LONG, 9, ["is due on the first day of each quarter"]),
        ("When is the fee due?", LONG, 4, ["is due on the"]),
        ("When is the fee due?", "Please:\n- " + LONG + "\n- b", 5, ["is due on the first"]),
    ],
)  # fmt: skip
def test_the_best_is_cut_by_its_parts(question, text, max_tokens, expected):
    """With what they need, before a lesser segment that fits; the trace says so of all the text."""
    texts, record = kept(question, text, max_tokens, "Keys are strings.")
    told = " ".join(s.text for s in record.before if s.document.id == "a")

    assert expected == texts[: len(expected)]
    assert "".join(text.split()) == "".join(told.split())
    assert "parts are kept" in record.notes[0]
    assert not record.warnings
    assert {s.key for s in record.before} == {
        *(s.key for s in record.after),
        *(drop.segment.key for drop in record.dropped),
    }


@pytest.mark.parametrize("max_tokens", range(2, 14))
def test_what_is_said_in_a_cue_fits_without_its_times(max_tokens):
    texts, _ = kept("Where is Bo now?", CUES, max_tokens)

    assert any("Bo moved" in text for text in texts)


@pytest.mark.parametrize(
    ("text", "max_tokens", "rate", "expected"),
    [
        (SITES, 11, lambda parts: [0.5 * (s.text == "  - led by Al") for s in parts],
         [SITES[len(LYON) + 1 :]]),
        (STEPS, 9, lambda _: (0.9, 0.2, 0.8, 0.3), ["To rotate the key:", "1. Open the vault."]),
        (STEPS, 9, lambda _: (0.9, 0, 0.1, 0.9), ["To rotate the key:", "3. Restart the rest."]),
    ],
)  # fmt: skip
def test_parts_are_rated_by_the_scorer(text, max_tokens, rate, expected):
    """Items by the lines inside them, which a scorer of sentences knows better than all of them as
    one; steps are read from the first unless another is asked for."""
    best = [Segment.whole(Document("a", text)).scored("s", 1)]
    query, budget = Query("Which one is it?"), ContextBudget(max_tokens=max_tokens)

    assert expected == [s.text for s in fit_parts(best, budget, READER, query, rate=rate)[1]]


@pytest.mark.models
def test_a_budget_asks_the_scorer_of_the_system():
    """The row that answers is kept under its header, though no word of it is asked for."""
    rows = "name,price,stock\nkettle,24.90,12\ntoaster,31.00,0\nlamp,45.50,7\nchair,120.00,30\n"
    result = ragsieve.load("finefilter").with_budget(25)("Which seat can I buy?", [rows])

    assert result.text == "name,price,stock\nchair,120.00,30\n… 1 of 4 shown"
    assert (
        result.answerable == ragsieve.load("finefilter")("Which seat can I buy?", [rows]).answerable
    )


class Failing:
    """A scorer that cannot rate."""

    def __call__(self, query, segments, /):
        return [s.scored("s", 1) for s in segments]

    def rated(self, query, parts, /):
        """Never."""
        raise ModelError("it is away")


def test_a_scorer_that_fails_on_parts_loses_no_answer():
    """Where a stage may fail, the question's words decide, and the trace says so."""
    system = System(Pipeline(Failing()), READER).with_budget(5)
    result = system.lenient()("What is her phone?", [RECORD])

    assert result.text == "Phone: 0555 014"
    assert ["parts are not rated: ModelError: it is away"] == result.trace.warnings
    with pytest.raises(ModelError):
        system("What is her phone?", [RECORD])


def test_a_blank_segment_has_no_parts():
    """What a model wrote may be one; it is kept or goes as a whole."""
    blank = Segment.whole(Document("a", " " * 40)).scored("s", 1)
    others = Segment.whole(Document("b", RECORD, title="a title of four words")).scored("s", 0)
    budget, query = ContextBudget(max_chars=30), Query("What is her phone?")
    _, some = fit_parts([blank, others], budget, READER, query, rate=lambda _: [])

    assert blank.key not in {s.key for s in some}


@pytest.mark.parametrize(
    ("text", "max_tokens", "kept_of_it", "warning"),
    [
        (TABLE, 1, [], "is left out"),
        (LONG, 3, [], "is left out"),
        ("Name: Ann Hale\n},\nBox: 14 to 16\n</v>", 1, [], "is left out"),
        (TABLE, 8, ["| Double | 71 | 97 |"], "heads of document"),
        (HTML, 3, ["<tr>\n<td>Double</td>\n<td>71</td>\n</tr>"], "heads of document"),
    ],
)
def test_where_the_best_is_left_out_or_alone_a_warning_says_so(
    text, max_tokens, kept_of_it, warning
):
    """A bracket or a tag says nothing; a row without the header that does not fit more."""
    texts, record = kept("What is a double room?", text, max_tokens, "" if kept_of_it else "Keys")

    assert (kept_of_it or ["Keys"]) == texts[-1:]
    assert warning in record.warnings[0 if kept_of_it else -1]


def test_a_warning_names_the_heads_that_the_best_needs():
    """Its own length and that with them, and what it is kept without."""
    text = "[a section of many words]\nport = 1\n\n[cache]\nport = 2\nttl = 3"
    best = Segment(Document("a", text), text.index("port"), text.index("\n\n")).scored("s", 1)
    long = Segment(replace(best.document, title="Many words"), best.start, best.end, best.scores)
    with step("s", [best]) as record:
        assert [best] == fit_parts([best], ContextBudget(max_tokens=4), READER, Query("Port?"))[1]
        assert not fit_parts([long], ContextBudget(max_tokens=4), READER, Query("Port?"))[1]

    assert record.warnings[0].startswith("heads of document 'a' are left out")
    assert re.search(r"of 3 tokens, \d with title and heads, is left out", record.warnings[-1])


@pytest.mark.parametrize(
    ("text", "end", "short_of", "expected"),
    [
        ("\n\n".join(f"commit {n}a1f3\nAuthor: {LONG}\n\n    It rains." for n in (1, 2)),
         "\n\ncommit", 1, "It rains."),
        (f"    {PLAIN}\n", "\n", 2, PLAIN),
    ],
)  # fmt: skip
def test_of_what_is_a_little_too_long_a_part_is_kept_that_says_something(
    text, end, short_of, expected
):
    """Of a record a line without its heads; the words of a sentence behind a margin, as a cell on a
    line of its own has one."""
    best = Segment(Document("a", text), 0, text.index(end)).scored("s", 1)
    budget = ContextBudget(max_tokens=READER.count([best.text])[0] - short_of)
    _, some = fit_parts([best], budget, READER, Query("Who?"))

    assert expected.startswith(some[0].text)


def test_of_many_segments_that_fit_by_their_own_length_few_are_tried() -> None:
    """Each trial reads all that is kept; between two segments stand words of the reader's."""
    tried = []

    class Between(Reader):
        def context(self, segments, /):
            tried.append(len(segments))
            return " x y ".join(segment.text for segment in segments)

    some = [Segment(Document("a", "a " * 500), 2 * n, 2 * n + 1).scored("s", 1) for n in range(500)]

    assert 17 == len(fit(some, 50, Between(ScriptedLLM([]))))
    assert len(tried) < 100


@pytest.mark.slow
def test_a_segment_of_many_parts_is_cut_in_linear_time():
    def cut(parts):
        best = Segment.whole(Document("a", "[1] " * parts)).scored("s", 1)
        assert fit_parts([best], ContextBudget(max_tokens=50), READER, Query("Who?"))[1]

    assert is_linear(cut, 2_000)


TRACED = f"""2024-05-01 ERROR job 7 failed: {LONG}
Traceback (most recent call last):
  File "jobs.py", line 88, in run
    self.commit()
app.DeadlockError: tx 99120"""
MAIL = f"From: Ann\nTo: Ben\nSubject: {LONG}\nDate: Monday\n\nIt is 9 euros.\n\nBye."
CHAT = f"Ann: {LONG}\nBen: It is 9 euros.\nAnn: {LONG}\nBen: So.\n"
TERMS = "<h2>Fees</h2><dl><dt>Boat</dt><dd>It is 9.</dd><dt>Car</dt><dd>It is 4.</dd></dl>"


@pytest.mark.parametrize(
    ("text", "first", "shown"),
    [
        (MAIL, "It is", "It is 9 euros."),
        (TRACED, "2024", "app.DeadlockError: tx 99120"),
        (f"# {LONG}\n\nIt rains.\n\nIt is 9 euros.", "It is", "It is 9 euros."),
    ],
)
def test_what_tells_by_itself_goes_without_heads_that_do_not_fit(text, first, shown):
    """A mail's header or the entry above a traceback loses nobody the answer; a warning says so."""
    start = text.index(first)
    best = Segment(Document("a", text), start, text.index(shown) + len(shown)).scored("s", 1)
    with step("s", [best]) as record:
        query = Query(f"Who gave {shown.split()[-1]}?")
        _, some = fit_parts([best], ContextBudget(max_tokens=5), READER, query)

    assert READER.context(some).endswith(shown)
    assert ["heads of document 'a' are left out: the best of it does not fit below"] == (
        record.warnings
    )


@pytest.mark.parametrize(("score", "shown"), [(0.2, "It is big."), (0.9, "From: Cy")])
def test_where_nothing_scores_well_what_fits_fills_a_budget(score, shown):
    """And not a part of the best without the heads that it needs, alone of its document."""
    mails = [f"From: {a}\nTo: Ben\nSubject: {LONG}\n\nIt came.\n" for a in ("Ann", "Cy")]
    text = "It is big.\n\n" + "\n--\n".join(mails)
    best = Segment(Document("a", text), text.index("From: Cy"), text.rindex("\n\n"))
    some = [best.scored("s", score), Segment(best.document, 0, 10).scored("s", 0.1)]
    kept = fit_parts(some, ContextBudget(max_tokens=4), READER, Query("And then?"))[1]

    assert shown == kept[0].text


@pytest.mark.parametrize("text", [f"{MAIL}\n\nBen wrote:\n> It is 5.\n> So.", CHAT, TERMS])
def test_who_speaks_and_what_is_described_does_not_go(text):
    assert not stands_alone(text, text.index("It is"))


def test_a_stage_cuts_nothing():
    """A selector returns a subset: it warns."""
    best = Segment.whole(Document("a", RECORD)).scored("s", 1)
    with step("s", [best]) as record:
        assert [] == fit([best], 4, READER)

    assert [
        "the best segment, of 10 tokens, is left out: max_tokens=4 is too little"
    ] == record.warnings


LIMIT = st.none() | st.integers(0, 60)
SENTENCE = st.sampled_from(["Ada wrote it.", "It rained on all of the town.", "Who?", PROSE, TABLE])


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.lists(SENTENCE, max_size=4).map("\n\n".join), max_size=3),
    limits=st.tuples(LIMIT, LIMIT.map(lambda n: n and 5 * n), LIMIT, LIMIT),
    seed=st.randoms(use_true_random=False),
)
def test_every_limit_holds(texts, limits, seed):
    """Of the whole and of each document, in tokens and characters; whatever went has a reason."""
    documents = [Document(str(n), text, title="T" * n) for n, text in enumerate(texts)]
    segments = [
        Segment(d, start, end).scored("s", seed.randrange(4))
        for d in documents
        for start, end in sentence_spans(d.text)
    ]
    budget = ContextBudget(**dict(zip(LIMITS, limits, strict=False)))
    with step("s", segments) as record:
        finer, some = fit_parts(segments, budget, READER, Query("Who wrote it?"))
        record.before, record.after = tuple(finer), tuple(some)
    groups = [some, *([s for s in some if s.document is d] for d in documents)]
    for n, text in enumerate(map(READER.context, groups)):
        for size, limit in zip((len(text.split()), len(text)), limits[2 * (n > 0) :], strict=False):
            assert limit is None or size <= limit

    assert {s.key for s in finer} == {s.key for s in some} | {
        drop.segment.key for drop in record.dropped
    }
    assert all(re.search("pass max_|heads do not fit", drop.reason) for drop in record.dropped)


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("Who drew the tower? who drew it", "Who drew it, the tower?", True),
        ("Who drew the tower? Koechlin.", "Who drew the tower?", False),
        ("Rome is the capital.", "Is Rome the capital?", False),
        ("Name: Bo", "Who is Bo?", False),
        ("The tower is older.", "Which is older, the tower or the bridge?", False),
        ("", "Who drew it?", False),
    ],
)
def test_what_adds_nothing_comes_last(text, question, expected):
    """A budget is for what may answer, whatever the scores are."""
    segments = [Segment.whole(Document("a", text or "…")).scored("s", 1)]
    segments += [Segment.whole(Document("b", "Koechlin drew it in 1884.")).scored("s", 0)]
    _, some = fit_parts(segments, ContextBudget(max_tokens=6), READER, Query(question))

    assert adds_nothing(text, question) is expected
    assert [segments[expected]] == some[:1]


def test_an_entry_read_as_a_row_is_cut_by_its_lines_where_it_does_not_fit():
    """Below its first line: a row on one line is not."""
    text = "".join(
        f"{n}: eth{n}: up\n    link/ether 02:fc::0{n} and ten more\n      inet 192.0.2.{n}\n"
        for n in range(4)
    )

    assert kept("What is inet of eth2?", text, 7)[0] == ["2: eth2: up", "      inet 192.0.2.2"]


def test_a_long_line_of_what_was_printed_is_cut_around_what_was_asked():
    """Below the line that heads it, as npm prints what a package needs."""
    needs = ", ".join(f"part-{n}: ^{n}.0" for n in range(40))
    text = f"pack@5.3.0 | MIT\n\ndist\n.size: 9\n\nneeds:\n{needs}\n\ntags:\nlatest: 5.3.0\n"

    (best,) = kept("Which version of part-20 does it need?", text, 9)[0][-1:]
    assert "part-20: ^20.0" in best


def test_items_with_others_inside_are_told_apart_by_the_words_of_the_question():
    """Where their scores are nearly the same."""
    document, spans = Document("a", SITES), [(0, len(LYON), 0.5), (len(LYON) + 1, len(SITES), 0.51)]
    segments = [Segment(document, a, b).scored("s", score) for a, b, score in spans]
    _, some = fit_parts(segments, ContextBudget(max_tokens=11), READER, Query("Who led Lyon?"))

    assert segments[:1] == some


@pytest.mark.parametrize(
    ("max_share", "expected"), [(None, "aaa"), (1, "aaa"), (0.5, "abc"), (0, "")]
)
def test_no_site_takes_more_than_its_share(max_share, expected):
    """Others' documents have what it may not take."""
    urls = ["http://www.a.org", "https://a.org/2", "http://b.a.org", "http://b.org", "http://c.uk"]
    documents = [Document(str(n), "Keys are old.", source=url) for n, url in enumerate(urls)]
    scored = [Segment.whole(d).scored("s", -n) for n, d in enumerate(documents)]
    system = System(lambda *_: scored, READER).at(max_tokens=9, max_share=max_share)
    result = system("What is it?", documents)

    assert expected == "".join(site(s.document)[0] for s in result.kept)


def test_a_share_is_of_a_budget():
    """Of 100 words .57 are 57; where no budget is given, a warning says that it does nothing."""
    documents = [Document(str(n), "Keys are old.", source="a.org") for n in range(20)]
    scored = [Segment.whole(d).scored("s", -n) for n, d in enumerate(documents)]
    system = System(lambda *_: scored, READER).at(max_share=0.57)
    result = system("What is it?", documents)

    assert 19 == len(system.with_budget(100)("What is it?", documents).kept)
    assert 20 == len(result.kept)
    told = "max_share is a share of max_tokens or max_chars, of which none is given"
    assert [told] == [warning for one in result.trace.steps for warning in one.warnings]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (Document("x", "", source="https://News.bbc.co.uk:80/a"), "bbc.co.uk"),
        (Document("x", "", metadata={"url": "http://a.b.example.org./x"}), "example.org"),
        (Document("x", "", source="http://10.0.0.1/x"), "10.0.0.1"),
        (Document("x", "", source="http://[::1/x"), "http://[::1/x"),
        (Document("x", "", source="notes/a.md"), "notes/a.md"),
        (Document("x", "", metadata={"source": 3}), "#x"),
    ],
)
def test_a_document_has_a_site(document, expected):
    """A domain, a source, or itself."""
    assert expected == site(document)
