"""What holds for all questions: the real ones of the data folder, and generated ones."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.models.base import Prompt
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.cache import Cached
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.pipeline import Pipeline, System
from ragsieve.result import Result
from ragsieve.text import sentence_spans
from ragsieve.types import Example
from ragsieve_research.systems.finefilter import finefilter

Question = tuple[str, Sequence[Any]]
BUDGET = 120


def draw_from(prompt: Prompt, many: int) -> int:
    """A number under ``many`` that depends on the prompt alone, in every process."""
    text = "\n".join(f"{message.role}: {message.content}" for message in prompt)
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % many


def reply(prompt: Prompt) -> str:
    """Two or so of the sentences, as a list or unreadable; else an answer."""
    if "numbered list" not in prompt[0].content:
        return f"answer {draw_from(prompt, 1000)}"
    listed = max(1, prompt[0].content.count("\n["))
    first = 1 + draw_from(prompt, listed)
    return "nonsense" if first % 7 == 0 else f"[{first}, {1 + first // 2}]"


def weights(prompt: Prompt, options: Sequence[str]) -> list[float]:
    chosen = draw_from(prompt, len(options))
    return [float(place == chosen) + 0.01 for place in range(len(options))]


def scripted() -> ScriptedLLM:
    return ScriptedLLM(reply, choices=weights, context=2048)


def untimed(result: Result) -> dict[str, Any]:
    """A result without times and costs."""
    shown = result.to_dict()
    for step in shown["trace"]["steps"]:
        for cost in ("seconds", "calls", "embedded", "cached", "tokens_in", "tokens_out"):
            del step[cost]
    return shown


def check(result: Result, reader: Reader) -> None:
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


@pytest.mark.data
def test_every_real_question_keeps_the_laws(records: dict[str, list[Example]]) -> None:
    """Every fourth record of every file, all its documents."""
    reader = Reader(scripted())
    stage = Pipeline(
        split.Sentences(),
        score.BM25(),
        select.TopK(20),
        score.Cosine(HashingEmbedder()),
        select.TopK(8),
        select.Order("document"),
    )
    system = System(stage, reader, BUDGET)
    for examples in records.values():
        for example in examples[::4]:
            result = system(example.query, example.documents)
            check(result, reader)

            assert [d.text for d in example.documents] == [d.text for d in result.documents]


@pytest.mark.data
def test_every_real_text_is_covered_by_its_sentences(records: dict[str, list[Example]]) -> None:
    """Each character that is no white space lies in one sentence, in every fourth record."""
    for examples in records.values():
        for example in examples[1::4]:
            for document in example.documents:
                spans = sentence_spans(document.text)
                inside = "".join(document.text[start:end] for start, end in spans)

                assert "".join(document.text.split()) == "".join(inside.split())
                assert all(a[1] <= b[0] for a, b in pairwise(spans))


@pytest.mark.data
def test_real_questions_at_once_are_as_one_by_one(
    records: dict[str, list[Example]], tmp_path: Path
) -> None:
    """Three questions of every file, evenly apart, through FineFilter: threads change nothing."""
    chosen = [e for found in records.values() for e in found[:: max(1, len(found) // 3)][:3]]
    agree([(example.query.text, example.documents) for example in chosen], tmp_path)


PIECES = st.sampled_from(
    [
        "He sang. ",
        "Summer breeze. ",
        "你好。",
        "今天天气很好。",
        "\n\n",
        "😀! ",
        "- item\n",
        "\ud800. ",
        "x" * 40,
    ]
)
TEXTS = st.lists(PIECES, max_size=10).map("".join) | st.text(st.characters(codec=None), max_size=60)
QUESTIONS = st.lists(
    st.tuples(
        st.sampled_from(["Who sang it?", "你好吗?", "\ud800?"]),
        st.lists(TEXTS, max_size=5),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=15, deadline=None)
@given(questions=QUESTIONS)
def test_generated_questions_at_once_are_as_one_by_one(
    questions: list[Question], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the questions, threads and wrappers change nothing but the cost."""
    agree(questions, tmp_path_factory.mktemp("cache"))


@settings(max_examples=60, deadline=None)
@given(questions=QUESTIONS)
def test_generated_questions_keep_the_laws(questions: list[Question]) -> None:
    """FineFilter on whatever a string can hold."""
    llm = scripted()
    system = finefilter(llm, HashingEmbedder(), max_tokens=BUDGET)
    for question, documents in questions:
        check(system(question, documents), Reader(llm))


def agree(questions: Sequence[Question], folder: Path) -> None:
    """The same results one by one, in threads, and behind batching and caching."""

    def run(system: System, workers: int) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(workers) as pool:
            results = list(pool.map(lambda q: system.ask(*q), questions))
        return [untimed(result) for result in results]

    plain = finefilter(scripted(), HashingEmbedder(), max_tokens=BUDGET)
    expected = [untimed(plain.ask(*question)) for question in questions]
    with (
        DynamicBatcher(scripted(), wait_s=0.001) as llm,
        DynamicBatcher(HashingEmbedder(), wait_s=0.001) as embedder,
        Cached(llm, folder / "llm.sqlite") as kept_llm,
        Cached(embedder, folder / "embedder.sqlite") as kept_embedder,
    ):
        batched = finefilter(llm, embedder, max_tokens=BUDGET)
        cached = finefilter(kept_llm, kept_embedder, max_tokens=BUDGET)
        found = [run(plain, 8), run(batched, 8), run(cached, 8), run(cached, 1)]

    for results in found:
        assert [without_models(r) for r in expected] == [without_models(r) for r in results]


def without_models(shown: dict[str, Any]) -> dict[str, Any]:
    """The same with stages by name: their options name the wrapped models."""

    def named(stage: str) -> str:
        return stage.split("(")[0]

    steps = [
        {
            **step,
            "stage": named(step["stage"]),
            "dropped": [{**d, "reason": d["reason"].split("(")[0]} for d in step["dropped"]],
        }
        for step in shown["trace"]["steps"]
    ]
    return {**shown, "trace": {**shown["trace"], "steps": steps}}
