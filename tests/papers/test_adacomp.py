"""AdaComp (arXiv 2409.01579) worked by hand: a predictor of the number of documents.

question, 4 documents ─ p(0) 0.1, p(1) 0.2, p(2) 0.4, p(3) 0.2, p(4) 0.1 ─ the first 2 stay
"""

from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.adacomp import adacomp

DOCUMENTS = [{"title": "Song", "text": f"Fact {n} of the song."} for n in range(1, 5)]
WEIGHTS = [0.1, 0.2, 0.4, 0.2, 0.1]


def predicted(predictor, **options):
    system = adacomp(ScriptedLLM([]), predictor=predictor, **options)
    return system("Who sang it?", DOCUMENTS)


def weighed(prompt, options):
    """The table's, for as many numbers as there are to choose from."""
    return WEIGHTS[: len(options)]


def test_the_likeliest_number_of_documents_stays():
    """In their order; the trace says of the others why they go."""
    predictor = ScriptedLLM([], choices=weighed)
    result = predicted(predictor)

    assert [d["text"] for d in DOCUMENTS[:2]] == [s.text for s in result.kept]
    assert ["rank 3 is past the cut point 2", "rank 4 is past the cut point 2"] == [
        v.reason for v in result.verdicts if v.stage
    ]
    prompt = predictor.prompts[0][0].content
    assert "Who sang it?" in prompt
    assert "[4] Song: Fact 4 of the song." in prompt


def test_only_the_first_documents_are_shown():
    """Of two, p(0) 0.1, p(1) 0.2 and p(2) 0.4: both stay, and no more."""
    predictor = ScriptedLLM([], choices=weighed)

    assert 2 == len(predicted(predictor, documents=2).kept)
    assert "Fact 3" not in predictor.prompts[0][0].content


def test_a_model_without_probabilities_writes_the_number():
    """Where it cannot be read, twice, all that was shown stays; none may stay, if not forbidden."""
    can = frozenset({"complete"})

    assert 1 == len(predicted(ScriptedLLM(["1"], can=can)).kept)
    assert 4 == len(predicted(ScriptedLLM(["many", "all"], can=can)).kept)
    assert 0 == len(predicted(ScriptedLLM(["0"], can=can)).kept)
    assert 1 == len(predicted(ScriptedLLM(["0"], can=can), min_keep=1).kept)


def test_long_documents_are_read_by_their_first_words():
    """As many as fit the predictor's context, which the trace tells."""
    predictor = ScriptedLLM([], choices=weighed, context=160)
    result = predicted(predictor)

    assert "words of each passage are read: more do not fit the context" in str(result.trace.steps)
    assert "Fact 4 of the song" not in predictor.prompts[0][0].content
    assert [d["text"] for d in DOCUMENTS[:2]] == [s.text for s in result.kept]
