"""A run as JSON values."""

import json

import pytest

from ragsieve import Document, Pipeline, Query, Segment, System, answer, select, split
from ragsieve.inspector import view
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM, echo
from ragsieve.trace import log_event
from ragsieve_research.retrieve.route import Named, Only, Routed
from ragsieve_research.systems.pruningrag import pruningrag
from ragsieve_research.systems.recomp import recomp_abstractive

QUESTION = "Who sang Summer Breeze?"


def sieve(*stages):
    return System(Pipeline(*stages), answer.Reader(echo()))


def text_of(values, segment):
    """The text of a segment as a browser cuts it, by UTF-16 units."""
    document, start, end, _ = values["segments"][segment]
    units = values["documents"][document]["text"].encode("utf-16-le")
    return units[2 * start : 2 * end].decode("utf-16-le")


def test_every_finest_span_has_a_fate():
    """Kept with its place in the context, or dropped by a stage of the list for a reason."""
    made = sieve(split.Sentences(), select.TopK(2), select.Order("ends"))
    values = view(made(QUESTION, ["One. Two. Three."]), "first")

    assert ["One.", "Two."] == [text_of(values, n) for n in values["kept"]]
    assert [None, None, 1] == [span["step"] for span in values["spans"]]
    assert "rank 3 is past k=2" == values["spans"][2]["reason"]
    assert "TopK(k=2)" == values["steps"][1]["stage"]
    assert ("first", QUESTION) == (values["name"], values["question"])


@pytest.mark.parametrize(
    "text",
    [
        "One. Two. Three. It rained.\n\nFour. It snowed.",
        "| berth | depth |\n|---|---|\n" + "".join(f"| berth {n} | {n} m |\n" for n in range(30)),
        json.dumps({"berths": [{"name": f"B{n}", "text": "x y " * 9} for n in range(9)], "n": 9}),
        "".join(f"berth_{n}:\n  crane: type {n}\n  depth: {n}\n" for n in range(9)),
    ],
)
def test_the_page_shows_what_the_generator_reads(text):
    """Joined as in the result, each span of it known by its number."""

    def every_third(query, segments):
        return list(segments[1::3])

    result = sieve(split.Blocks(), every_third)(QUESTION, [text])
    values = view(result)
    ((_, pieces),) = values["read"]

    assert result.text == "".join(piece for _, piece in pieces)
    assert values["kept"] == [segment for segment, _ in pieces if segment is not None]


def test_places_count_as_a_browser_counts():
    """An astral character is two units of UTF-16."""
    made = sieve(split.Sentences(), select.TopK(1))
    values = view(made(QUESTION, ["𝔖𝔢𝔞𝔩𝔰 sang 🎵 it. Crofts 🎸 sang, too. So."]))
    texts = [text_of(values, span["segment"]) for span in values["spans"]]

    assert ["𝔖𝔢𝔞𝔩𝔰 sang 🎵 it.", "Crofts 🎸 sang, too.", "So."] == texts


def test_hostile_values_become_json():
    """Control characters, lone surrogates and what is no JSON value, wherever they stand."""

    def odd(query, segments):
        log_event(
            "told \x1b[31m", "odd\ud800", value=float("nan"), thing=object, inner=({"\x00": 1},)
        )
        return list(segments)

    documents = [{"id": "a\x07", "title": "\u202eevil", "text": "x\ud800y\x00z"}, "", "\ud800"]
    values = view(sieve(odd)(Query("Who\x1b?"), documents))
    text = json.dumps(values, ensure_ascii=False, allow_nan=False)

    assert json.loads(text.encode("utf-8")) == values
    assert not {"\x00", "\x07", "\x1b", "\u202e", "\ud800"} & {*text}
    assert "x\ufffdy\ufffdz" == values["documents"][0]["text"]


def test_what_a_model_wrote_says_so():
    """With the spans that it was written from, verbatim."""
    made = recomp_abstractive(ScriptedLLM(lambda prompt: "Seals sang it."))
    values = view(made(QUESTION, ["Seals sang Summer Breeze. Bees hum."]))
    (written,) = [d for d in values["documents"] if d["written_by"]]

    assert ["Seals sang Summer Breeze.", "Bees hum."] == [p[3] for p in written["parents"]]
    assert [0, 0] == [p[0] for p in written["parents"]]
    assert "Seals sang it." == text_of(values, values["kept"][0])


def test_sources_and_their_documents_are_told():
    """What was asked, what was left out and why, and which document is from which."""

    def found(query):
        return [Segment.whole(Document("0", "Seals sang Summer Breeze."))]

    def broken(query):
        raise OSError("no route to host")

    sources = (Named("web", "", found), Named("shop", "", broken), Named("old", "", found))
    llm = ScriptedLLM(lambda prompt: "Answer: Seals", can=frozenset({"complete"}))
    made = pruningrag(llm, HashingEmbedder(), source=Routed(sources, Only(("web", "shop"))))
    values = view(made.ask(QUESTION))
    told = {e.get("name", "router"): e for e in values["steps"][0]["events"]}

    assert "web" == values["documents"][0]["asked"]
    assert ["old"] == told["router"]["left"]
    assert "OSError: no route to host" == told["shop"]["error"]
    assert "Seals" == values["answer"]


def test_tokens_are_the_readers_or_estimated():
    """Counted by the reader where it is given; else by length, as long as the context's mean."""
    made = sieve(split.Sentences())
    result = made(QUESTION, [{"title": "A song", "text": "One two three. Four."}])
    counted = view(result, reader=made.reader)
    guessed = view(result)

    assert [4.0, 2.0] == [s[3] for s in counted["segments"][:2]]
    assert 3.0 == counted["documents"][0]["title_tokens"]
    assert 9 == result.tokens.after
    per_character = 9 / (len("One two three.") + len("Four.") + len("A song: "))
    assert [round(n * per_character, 1) for n in (14, 5)] == [s[3] for s in guessed["segments"][:2]]


def test_equal_ids_are_different_documents():
    """Each has its own text and spans; no documents are a view, too."""
    values = view(sieve()(QUESTION, [{"id": "d", "text": "One."}, {"id": "d", "text": "Two."}]))

    assert ["One.", "Two."] == [text_of(values, n) for n in values["kept"]]
    assert 1 == len(values["notes"])

    values = view(sieve()(QUESTION, []))

    assert ([], [], []) == (values["documents"], values["spans"], values["steps"])
