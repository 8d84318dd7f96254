"""FineFilter as one system."""

import pytest

import ragsieve
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, OverlapPruner, ScriptedLLM
from ragsieve.systems.finefilter import finefilter_one_pass
from ragsieve_research.systems.finefilter import finefilter

QUESTION = "Who sang Summer Breeze?"
SUNG = "Summer Breeze was sung by Seals and Crofts."
DOCUMENTS = [
    {"id": "song", "title": "Songs", "text": f"It rained. {SUNG}"},
    {"id": "wind", "title": "Winds", "text": "A breeze is a wind. Summer is warm."},
]


def script(named, k):
    """An LLM that names these sentences, chooses K, and answers."""

    def reply(prompt):
        return named if prompt[0].role == "user" else "Seals and Crofts"

    return ScriptedLLM(
        reply, choices=lambda prompt, options: [float(n == k) + 0.01 for n in range(len(options))]
    )


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("document", ["It rained.", SUNG, "Summer is warm."]),
        ("score", [SUNG, "Summer is warm.", "It rained."]),
    ],
)
def test_the_order_of_reading(order, expected):
    """As the sentences stand in the documents, or the paper's: best first."""
    system = finefilter(script("[1, 2, 4]", 3), HashingEmbedder(), order=order)

    assert expected == [s.text for s in system(QUESTION, DOCUMENTS).kept]


def test_no_clue_closes_the_book():
    """K = 0 lets the generator answer by itself, unless min_keep says otherwise."""
    embedder = HashingEmbedder()
    closed = finefilter(script("[2, 4]", 0), embedder).ask(QUESTION, DOCUMENTS)
    least = finefilter(script("[2, 4]", 0), embedder, min_keep=1).ask(QUESTION, DOCUMENTS)
    unnamed = finefilter(script("[]", 0), embedder).ask(QUESTION, DOCUMENTS)

    assert () == closed.kept == unnamed.kept
    assert ["Summer Breeze was sung by Seals and Crofts."] == [s.text for s in least.kept]
    assert () == closed.answer.segments


def test_each_part_may_have_its_own_model():
    """An extractor and a truncator that are tuned for it do not answer."""
    llm, extractor, truncator = (script("[2]", 1) for _ in range(3))
    finefilter(llm, HashingEmbedder(), extractor=extractor, truncator=truncator).ask(
        QUESTION, DOCUMENTS
    )

    assert [1, 1, 1] == [len(model.prompts) for model in (llm, extractor, truncator)]
    assert "numbered list" in extractor.prompts[0][0].content
    assert "ranked" in truncator.prompts[0][0].content
    assert "system" == llm.prompts[0][0].role


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({}, ["Extract", "Cosine", "Truncate", "Order"]),
        ({"reranker": "bm25"}, ["Extract", "BM25", "Truncate", "Order"]),
        ({"reranker": OverlapCrossEncoder()}, ["Extract", "Pair", "Truncate", "Order"]),
        ({"reranker": "none", "truncator": "none"}, ["Extract", "Order", "Order"]),
    ],
)
def test_the_ablations_are_options(options, stages):
    """Another reranker or cut, or none, and the rest as it was."""
    result = finefilter(script("[2, 4]", 1), HashingEmbedder(), **options)(QUESTION, DOCUMENTS)

    assert ["Sentences", *stages] == [s.stage.split("(")[0] for s in result.trace.steps]


def test_original_order_is_that_of_the_documents():
    """Not that in which the extractor named the clues: the truncator sees the first one first."""
    truncator = script("", 1)
    options = {"reranker": "none", "order": "score"}
    system = finefilter(script("[4, 2]", 0), HashingEmbedder(), truncator=truncator, **options)
    kept = system(QUESTION, DOCUMENTS).kept

    assert ["Summer Breeze was sung by Seals and Crofts."] == [s.text for s in kept]


@pytest.mark.parametrize("documents", [[], [""], [" \n", ""]])
def test_documents_without_a_sentence_need_no_model(documents):
    """There is nothing to choose from, so nobody is asked; the reader answers by itself."""
    llm = script("[1]", 1)
    result = finefilter(llm, HashingEmbedder()).ask(QUESTION, documents)

    assert () == result.kept
    assert 1 == len(llm.prompts)


def one_pass(**options):
    """The default filter, on the overlap of words: of the question's four, two are in the clue."""
    return finefilter_one_pass(
        ScriptedLLM(lambda _: "Seals and Crofts"), OverlapPruner(), **options
    )


@pytest.mark.parametrize(("least", "expected"), [(1, ["Bees hum in the old garden."]), (0, [])])
def test_one_pass_keeps_nothing_only_where_it_may(least, expected):
    """The best sentence stays by default; with ``min_keep=0`` a hopeless question keeps none."""
    documents = ["Bees hum in the old garden.", "The cheese is made of milk."]
    result = one_pass(min_keep=least)("Who designed Roscoff?", documents)

    assert expected == [s.text for s in result.kept]
    assert 0 == result.answerable


def test_a_weaker_promise_has_a_higher_threshold():
    """The bundled table never rises with the promise."""
    pruner = ragsieve.models.load("pruner")
    thresholds = [pruner.threshold(n / 100) for n in range(50, 100)]

    assert sorted(thresholds, reverse=True) == thresholds
    assert all(0 <= one <= 1 for one in thresholds)
