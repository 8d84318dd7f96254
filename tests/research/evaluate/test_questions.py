"""The questions of a run, as they are written down."""

import json

import msgspec
import pytest

from ragsieve import InputError
from ragsieve_research.evaluate.config import BenchSystem, Config, Data
from ragsieve_research.evaluate.noise import FALSE as FALSE_KEYS, Noise
from ragsieve_research.evaluate.questions import chosen, write
from tests.named import write_rows

FALSE = [{"id": "p0", "text": "Sung by the Bees."}, "Sung by the Ants."]
OWN = ["Sung by Seals.", "A light wind.", "A song of 1972."]


def file(folder, *metadata):
    """A data set with false documents: a question for each metadata."""
    rows = [
        {"id": f"q{n}", "question": "Who sang Summer Breeze?", "documents": OWN, "metadata": more}
        for n, more in enumerate(metadata)
    ]
    return Data(name=str(write_rows(folder / "own.jsonl", rows)), poisoned=True)


def asked(data, folder=None, **options):
    """The questions that a run with these options asks."""
    config = Config(systems=[BenchSystem(name="all")], data=[data], **options)
    return list(chosen(data, None, config, folder))


def texts(example):
    return [document.text for document in example.documents]


def places(data, seed):
    """Where the false documents stand, by question."""
    examples = asked(data, seed=seed)
    return [
        tuple(n for n, text in enumerate(texts(example)) if text not in OWN) for example in examples
    ]


@pytest.mark.parametrize("key", ["poisoned_documents", "counterfactual_documents"])
def test_false_documents_stand_among_the_others(tmp_path, key):
    """3 and 2 are 5; the question's own keep their order, and no word is changed."""
    (example,) = asked(file(tmp_path, {key: FALSE}))

    assert 5 == len(example.documents)
    assert OWN == [text for text in texts(example) if text in OWN]
    assert {"Sung by the Bees.", "Sung by the Ants."} == {*texts(example)} - {*OWN}


def test_documents_without_an_order_are_ranked_by_words(tmp_path):
    """Where the table says so, or the run; for all systems, before the first ones are taken."""
    rows = [
        {"id": "q", "question": "Who sang Summer Breeze?", "documents": [*OWN, "Summer Breeze."]}
    ]
    for name in ("hotpotqa", "nq"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(rows[0]))
    given = ["Sung by Seals.", "A light wind."]
    cases = [
        (Data(name="hotpotqa", documents=2), ["Summer Breeze.", "Sung by Seals."]),
        (Data(name="hotpotqa", documents=2, rank="given"), given),
        (Data(name="nq", documents=2), given),
        (Data(name="nq", documents=1, rank="bm25"), ["Summer Breeze."]),
    ]

    assert [kept for _, kept in cases] == [texts(asked(d, tmp_path)[0]) for d, _ in cases]


def test_no_id_tells_what_is_false(tmp_path):
    """Ids and ranks are the places; a question without false documents stays as it is."""
    (example,) = asked(file(tmp_path, {"poisoned_documents": FALSE}))

    assert [(str(n), n) for n in range(5)] == [(d.id, d.rank) for d in example.documents]

    _, plain = asked(file(tmp_path, {"poisoned_documents": FALSE}, {"poisoned_documents": []}))

    assert OWN == texts(plain)


def test_the_places_are_drawn_by_the_seed_and_the_question(tmp_path):
    """The same twice; two questions and twenty seeds come to all 10 pairs of 5 places."""
    data = file(tmp_path, *[{"poisoned_documents": FALSE}] * 2)
    drawn = [places(data, seed) for seed in range(20)]

    assert drawn == [places(data, seed) for seed in range(20)]
    assert any(one != other for one, other in drawn)
    assert 10 == len({pair for both in drawn for pair in both})


def test_a_yes_or_no_is_neither_answerable_nor_not(tmp_path):
    """One cannot see whether a document holds it, even where the word stands in one."""
    answers = [["no"], ["Yes."], ["1972"], ["1973", "no"], []]
    rows = (
        {"id": str(a), "question": "Who?", "documents": [*OWN, "No, no."], "answers": a}
        for a in answers
    )
    path = write_rows(tmp_path / "own.jsonl", rows)
    ids = [
        [e.query.id for e in asked(Data(name=str(path), only=o))]
        for o in ("answerable", "unanswerable")
    ]

    assert [["['1972']"], ["['1973', 'no']"]] == ids


def test_they_are_added_after_questions_are_chosen_by_their_own_documents(tmp_path):
    """A false document with the gold answer makes no question answerable."""
    row = {"question": "Who?", "documents": ["Nobody."], "answers": ["the Bees"]}
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({**row, "metadata": {"poisoned_documents": FALSE}}))
    (example,) = asked(Data(name=str(path), poisoned=True, only="unanswerable"))

    assert 3 == len(example.documents)


def test_the_bundled_sample_can_be_poisoned():
    """One of its twelve questions has a document that contradicts the true one."""
    plain, poisoned = asked(Data(name="sample")), asked(Data(name="sample", poisoned=True))
    more = [len(b.documents) - len(a.documents) for a, b in zip(plain, poisoned, strict=True)]

    assert [0] * 11 + [1] == sorted(more)


def test_two_starts_at_once_write_all_questions(tmp_path):
    """The second writes the same file while the first does."""
    path, data = tmp_path / "asked.jsonl", Data(name=file(tmp_path, {}, {}).name)
    config = Config(systems=[BenchSystem(name="all")], data=[data])

    class Meeting(Noise):
        def __call__(self, example, pool):
            write(path, data, None, config, None)
            return example

    found = write(path, data, Meeting("random", 0), config, None)

    assert 2 == found["questions"] == len(path.read_text().splitlines())
    assert {"asked.jsonl", "own.jsonl"} == {one.name for one in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("more", "options", "message"),
    [
        *(({key: "B"}, {}, f"{key} of 'Who sang .*' must be a list") for key in FALSE_KEYS),
        ({"qa_pairs": 5}, {"poisoned": False}, "line 2: qa_pairs must be a list, got 5"),
        ({"hops": {}}, {"poisoned": False, "groups": ("hops",)}, "line 2: groups: hops"),
    ],
)
def test_a_mistake_in_metadata_shows_before_a_call(tmp_path, more, options, message):
    """With its line; a metric that cannot read its labels would find it behind the answers."""
    data = msgspec.structs.replace(file(tmp_path, {}, more), **options)
    config = Config(systems=[BenchSystem(name="all")], data=[data])

    with pytest.raises(InputError, match=message):
        write(tmp_path / "asked.jsonl", data, None, config, None)


@pytest.mark.data
@pytest.mark.parametrize("name", ["realtimeqa_web", "simpleqa_web"])
def test_web_questions_have_five_false_snippets_each(data, name):
    """All of them, among snippets that are as they were."""
    plain = asked(Data(name=name), data)
    poisoned = asked(Data(name=name, poisoned=True), data)

    def words(document):
        return document.title, document.text

    for before, after in zip(plain, poisoned, strict=True):
        false = [document["text"] for document in before.metadata["poisoned_documents"]]
        kept = [d for d in after.documents if not d.metadata["from"].startswith("false")]

        assert [*map(words, before.documents)] == [*map(words, kept)]
        assert false == [d.text for d in after.documents if d not in kept]
        assert 5 == len(false)
