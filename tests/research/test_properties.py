"""What holds for all questions: the real ones of the data folder, and generated ones."""

import zlib

import pytest

from ragsieve import Pipeline, System, score, select, split
from ragsieve.answer import Reader
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM

BUDGET = 120


def draw_from(prompt, many):
    """A number under ``many`` that depends on the prompt alone, in every process."""
    text = "\n".join(f"{message.role}: {message.content}" for message in prompt)
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % many


def reply(prompt):
    """Two or so of the sentences, as a list or unreadable; else an answer."""
    if "numbered list" not in prompt[0].content:
        return f"answer {draw_from(prompt, 1000)}"
    listed = max(1, prompt[0].content.count("\n["))
    first = 1 + draw_from(prompt, listed)
    return "nonsense" if first % 7 == 0 else f"[{first}, {1 + first // 2}]"


def weights(prompt, options):
    chosen = draw_from(prompt, len(options))
    return [float(place == chosen) + 0.01 for place in range(len(options))]


def scripted():
    return ScriptedLLM(reply, choices=weights, context=2048)


def check(result, reader):
    """Spans verbatim and the documents' own, a subset, and the budget kept exactly."""
    length = reader.count([result.text])[0]
    keys = [s.key for s in result.kept]

    assert len({*keys}) == len(keys)
    assert {s.document for s in result.kept} <= {*result.documents}
    for segment in result.kept:
        assert segment.document.text[segment.start : segment.end] == segment.text
        assert segment.text.strip() == segment.text != ""
        assert segment.text in result.text
    assert length == result.tokens.after <= min(BUDGET, result.tokens.before)


@pytest.mark.slow
@pytest.mark.data
def test_every_real_question_keeps_the_laws(records):
    """Every fourth record of every file, all its documents."""
    reader = Reader(scripted())
    words = (split.Sentences(), score.BM25(), select.TopK(20))
    near = (score.Cosine(HashingEmbedder()), select.TopK(8), select.Order("document"))
    stage = Pipeline(*words, *near)
    system = System(stage, reader).with_budget(BUDGET)
    for examples in records.values():
        for example in examples[::4]:
            result = system(example.query, example.documents)
            check(result, reader)

            assert [d.text for d in example.documents] == [d.text for d in result.documents]
