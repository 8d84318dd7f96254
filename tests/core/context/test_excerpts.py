"""Excerpts: what is kept of documents, the best first, within budgets of characters and tokens."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

import ragsieve
from ragsieve import InputError
from ragsieve.adapter import kept
from ragsieve.inspector import view
from ragsieve.types import Document, Layout

QUESTION = "Who sang Summer Breeze?"
SONG = {
    "id": "song",
    "title": "Song",
    "url": "https://song.example",
    "text": "Seals sang Summer Breeze. Crofts sang, too. It rained. Who sang it in Rome?",
}
TABLE = "| who | what |\n|---|---|\n" + "\n".join(f"| singer {n} | sang {n} |" for n in range(40))


def system(**options):
    """The default filter with a fake pruner, which goes by the question's words."""
    return ragsieve.load("finefilter", "fake:echo", pruner="fake:pruner", options=options)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (
            {},
            [("song", ["Seals sang Summer Breeze.", "Who sang it in Rome?"], [[0, 25], [55, 75]])],
        ),
        ({"max_chars": 25}, [("song", ["Seals sang Summer Breeze."], [[0, 25]])]),
        ({"max_chars_per_document": 25}, [("song", ["Seals sang Summer Breeze."], [[0, 25]])]),
        ({"max_tokens": 5}, [("song", ["Seals sang Summer Breeze."], [[0, 25]])]),
        ({"max_chars": 0}, []),
    ],
)
def test_excerpts_come_best_first(limits, expected):
    """Of the documents and of each; titles do not count."""
    found = system(min_score=0.5).at(**limits).excerpts(QUESTION, ["It rained in Rome.", SONG])
    values = [one.to_dict() for one in found]

    assert expected == [(v["id"], v["excerpts"], v["places"]) for v in values]
    assert ["https://song.example"] * len(values) == [v["url"] for v in values]
    assert all(v["scores"] == sorted(v["scores"], reverse=True) for v in values)


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(st.sampled_from([SONG["text"], TABLE, "Nobody sang.", ""]), max_size=4),
    max_chars=st.integers(0, 300),
)
def test_a_budget_is_of_all_excerpts(texts, max_chars):
    """Whatever the documents are: headers that go with rows count, too."""
    found = system(min_score=0.0).at(max_chars=max_chars).excerpts(QUESTION, texts)
    shown = [excerpt.text for one in found for excerpt in one.excerpts]

    assert len("\n".join(shown)) <= max_chars
    assert all(text.strip() for text in shown)


def test_what_lies_together_is_one_excerpt():
    """Sentences that follow each other, and the rows of a table under its header."""
    (song, table) = system(min_score=0.2).excerpts(QUESTION, [SONG, TABLE])

    assert "Seals sang Summer Breeze. Crofts sang, too." == song.excerpts[0].text
    assert 1 == len(table.excerpts)
    assert table.excerpts[0].text.startswith("| who | what |\n|---|---|\n| singer 0 |")


def test_each_reader_shows_the_layout():
    """Context, excerpts, frameworks and the inspector, of documents and of what a source finds."""
    text = json.dumps({"page": 1, "songs": [{"id": n, "who": f"singer {n}"} for n in range(40)]})
    own = Document("own", text, layout=Layout("[cut]", "paths"))
    usual = replace(system(min_keep=2, min_score=0.99, distinct=False), layout=Layout("~~"))
    for sieve, documents in (
        (usual, [own, text]),
        (usual.with_source(lambda question, k: [own, text]), None),
    ):
        result = sieve("Who is singer 7?", documents)
        assert 'songs[7].who: "singer 7"\nsongs: [cut] 1 of 40 rows' in result.text
        assert '"~~ 1 of 40 rows"' in result.text
        excerpts = [
            e.text for one in sieve.excerpts("Who is singer 7?", documents) for e in one.excerpts
        ]
        read = ["".join(piece for _, piece in pieces) for _, pieces in view(result)["read"]]
        texts = sorted(one.text for one in kept(result, range(2)))
        assert texts == sorted(excerpts) == sorted(read)


@pytest.mark.parametrize("mark", ["", " …", "a\nb", 'a"', "{}", "<!--", "x" * 21, None])
def test_a_mark_breaks_no_format(mark):
    with pytest.raises(InputError, match=r"mark must be 1 to 20 characters .* got"):
        Layout(mark)
