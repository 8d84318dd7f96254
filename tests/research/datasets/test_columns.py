"""The hub's columns to our schema, on rows of the hub's layouts with facts of our own."""

import json

import pytest

from ragsieve.errors import InputError
from ragsieve.run.questions import parse_record
from ragsieve_research.datasets import DATASETS
from ragsieve_research.datasets.columns import asqa, hotpotqa, musique, nq_open, popqa, triviaqa

HOTPOTQA = {
    "id": "h1",
    "question": "Into which sea does the river of Vienna flow?",
    "answer": "Black Sea",
    "type": "bridge",
    "level": "easy",
    "supporting_facts": {"title": ["Vienna", "Danube", "Danube"], "sent_id": [0, 1, 7]},
    "context": {
        "title": ["Rhine", "Vienna", "Danube"],
        "sentences": [
            ["The Rhine rises in the Alps."],
            ["Vienna lies on the Danube.", " It is a capital."],
            ["The Danube is long.", " It flows into the Black Sea."],
        ],
    },
}
MUSIQUE = {
    "question": "Into which sea does the river of Vienna flow?",
    "answer": "Black Sea",
    "answer_aliases": ["the Black Sea", "Black Sea"],
    "answerable": True,
    "paragraphs": [
        {"idx": n, "title": "Danube", "paragraph_text": "Black Sea.", "is_supporting": n > 0}
        for n in range(2)
    ],
}
TRIVIAQA = {
    "question_id": "tc_1",
    "question": "Which metal has the symbol W?",
    "answer": {"value": "Tungsten", "aliases": ["Wolfram", "Tungsten"]},
    "entity_pages": {"title": ["Tungsten"], "wiki_context": ["Tungsten is a metal."]},
    "search_results": {
        "title": ["Metals"],
        "url": ["http://example.org/metals"],
        "search_context": ["W stands for wolfram."],
    },
}
NQ = {"question": "which metal has the symbol w", "answer": ["Tungsten", "Wolfram"]}
POPQA = {"question": "In what city was Marie Curie born?", "prop": "place of birth", "s_pop": 1000}
POPQA |= {"id": 42, "subj": "Marie Curie", "possible_answers": '["Warsaw", "Warszawa"]'}
ASQA = {
    "ambiguous_question": "Where is Valencia?",
    "sample_id": -5,
    "qa_pairs": [
        {"question": "Where is the port?", "short_answers": ["Spain"]},
        {"question": "Where is the capital of Carabobo?", "short_answers": ["Venezuela", "Spain"]},
    ],
    "annotations": [{"knowledge": [], "long_answer": "One is in Spain, one in Venezuela."}],
}
ROWS = {hotpotqa: HOTPOTQA, musique: MUSIQUE, triviaqa: TRIVIAQA}
ROWS |= {nq_open: NQ, popqa: POPQA, asqa: ASQA}


def test_paragraphs_of_sentences_become_documents():
    """Gold sentences lie in their paragraph; a number past its end marks the paragraph only."""
    record = hotpotqa(HOTPOTQA)
    rhine, vienna, danube = record["documents"]

    assert "Vienna lies on the Danube. It is a capital." == vienna["text"]
    assert [False, True, True] == [d["is_positive"] for d in record["documents"]]
    assert "supporting_sentences" not in rhine
    assert ["Vienna lies on the Danube."] == vienna["supporting_sentences"]
    assert ["It flows into the Black Sea."] == danube["supporting_sentences"]
    assert {"type": "bridge", "level": "easy", "supporting_titles": ["Vienna", "Danube"]} == record[
        "metadata"
    ]


@pytest.mark.parametrize(
    "left",
    [
        {},
        {"answer": None, "supporting_facts": {"title": [], "sent_id": []}},
        {"answer": "", "supporting_facts": []},
    ],
)
def test_a_test_split_has_questions_without_answers_and_labels(left):
    """Whether its keys are missing, null or empty."""
    hidden = {k: v for k, v in HOTPOTQA.items() if k not in ("answer", "supporting_facts")}
    record = hotpotqa({**hidden, **left})

    assert [] == record["answers"]
    assert not any("is_positive" in document for document in record["documents"])


def test_an_answer_of_hotpotqa_under_another_key_is_named():
    """It is no question without an answer."""
    with pytest.raises(InputError, match="--fields answers=gold_answer reads those"):
        hotpotqa({**HOTPOTQA, "answer": None, "gold_answer": "Black Sea"})


def test_musique_and_triviaqa_keep_what_they_say():
    """Aliases, unanswerable questions, pages of both kinds."""
    record = musique(MUSIQUE)

    assert ["Black Sea", "the Black Sea"] == record["answers"]
    assert [(0, False), (1, True)] == [(d["id"], d["is_positive"]) for d in record["documents"]]
    assert [] == musique({**MUSIQUE, "answerable": False})["answers"]

    example = parse_record(json.dumps(triviaqa(TRIVIAQA)).encode())

    assert ("Tungsten", "Wolfram") == example.answers
    assert [("Tungsten", ""), ("Metals", "http://example.org/metals")] == [
        (d.title, d.source) for d in example.documents
    ]


def test_sets_without_passages_have_no_documents():
    """Answers come as a list, as JSON in a string, and one list for each reading."""
    records = [nq_open(NQ), popqa(POPQA), asqa(ASQA)]

    assert [[], [], []] == [record["documents"] for record in records]
    assert [["Tungsten", "Wolfram"], ["Warsaw", "Warszawa"], ["Spain", "Venezuela"]] == [
        record["answers"] for record in records
    ]
    assert ["", "popqa-42", "asqa--5"] == [record["id"] for record in records]
    assert ["Venezuela", "Spain"] == records[2]["metadata"]["qa_pairs"][1]["short_answers"]


@pytest.mark.parametrize("name", [name for name, entry in DATASETS.items() if entry.hub])
def test_every_layout_of_the_table_is_ours_in_the_end(name):
    """Each row becomes an example, with documents where promised."""
    hub = DATASETS[name].hub
    example = parse_record(json.dumps(hub.convert(ROWS[hub.convert])).encode())

    assert hub.passages == bool(example.documents)
    assert example.answers
