"""BottleNeck's filter: which text it learns to write, and training it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve.models.base import Prompt
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems.bottleneck import bottleneck
from ragsieve.train.bottleneck import Candidate, Candidates, train_bottleneck
from ragsieve.train.lessons import Lesson
from ragsieve.types import Document, Example, Query

WORDS = ["seals", "sang", "rain", "snow", "fell", "who", ".", "?", "NONE"]


def lesson(question: str = "who sang ?", *answers: str, texts: Sequence[str] = ()) -> Lesson:
    given = texts or ("seals sang . rain fell .", "snow fell .")
    documents = tuple(Document(str(n), text) for n, text in enumerate(given))
    return Lesson.of(Example(Query(question), documents, answers or (" ", "seals")))


class Generator(ScriptedLLM):
    """Trusts the answer where "seals" is read, and documents the more, the more words it read."""

    def loglik(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[list[float]]:
        tokens = super().loglik(prompts, continuations)
        found = []
        for prompt, row in zip(prompts, tokens, strict=True):
            shown = "\n".join(turn.content for turn in prompt)
            if notes := [line for line in shown.splitlines() if line.startswith("Notes: ")]:
                nats = 0.1 * len(notes[0].split())  # the word "Notes:" counts in all alike
            else:
                nats = 3.0 * ("seals" in shown)
            found.append([nats - 9] * len(row))
        return found


def rate(text: str = "rain fell .", **options: Any) -> Candidates:
    return Candidates(Generator([]), ScriptedLLM([text] * 9), **options)


def test_candidates_are_rated_best_first() -> None:
    """Documents gain 0.1 a word of the text (an empty one is a pair of quotes: 1), the answer 3.

    "seals sang ." is both the sentence with the answer and the nearest to the question: it comes
    once. IB of its 3 words is 0.2 - 3, of all 9 words 0.8 - 3, of the written 3 words 0.2, of none
    0.
    """
    found = rate()(lesson())

    assert [
        ("seals sang .", -2.8),
        ("seals sang . rain fell .\n\nsnow fell .", -2.2),
        ("", 0.0),
        ("rain fell .", 0.2),
    ] == [(one.text, pytest.approx(one.score)) for one in found]


def test_nothing_is_written_as_a_word() -> None:
    """An LLM cannot reply with nothing."""
    assert "NONE" == Candidate("", 0.0).reply
    assert "x" == Candidate("x", 0.0).reply


def test_the_filter_is_asked_as_the_system_asks() -> None:
    """The same prompt, of the first documents alone."""
    llm = ScriptedLLM(["NONE"])
    bottleneck(llm, documents=1)("who sang ?", ["seals sang . rain fell .", "snow fell ."])
    rated = rate(documents=1)

    assert llm.prompts == [rated.asked(lesson().query, rated.read(lesson()))]


def test_options_are_checked() -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match="documents must be at least 1, got 0"):
        rate(documents=0)


@pytest.fixture
def llama(tmp_path: Path) -> Iterator[str]:
    """A tiny model of random weights that reads whole words."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("peft")
    pytest.importorskip("trl")
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import WordLevel

    pieces = ["<pad>", "</s>", "<unk>", *WORDS]
    made = Tokenizer(WordLevel({word: n for n, word in enumerate(pieces)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path / "llama"
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(pieces), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=256, initializer_range=0.3,
        bos_token_id=None, eos_token_id=1,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    yield f"transformers:{folder}"
    torch.set_num_threads(threads)


def test_a_filter_is_tuned_and_then_told_what_is_worse(tmp_path: Path, llama: str) -> None:
    """Questions that do not fit are left out; a second start rates and tunes nothing anew."""
    from ragsieve import models
    from ragsieve.train.sft import Tuning

    short = Tuning(epochs=1, checks=1)
    taught = [lesson(), lesson("who fell ?", "rain"), lesson(texts=["seals " * 300])]
    generator = Generator([])
    known: dict[str, Any] = {"work": tmp_path / "work", "llm": llama, "generator": generator}
    known |= {"tuning": short, "preference": short}
    recipe = train_bottleneck(tmp_path / "out", taught, taught[:1], **known)
    asked, tuned = len(generator.prompts), tmp_path / "work" / "tuned" / "recipe.json"
    made = tuned.stat().st_mtime_ns
    again = train_bottleneck(tmp_path / "again", taught, taught[:1], **known)

    assert (2, 1, 1.0) == (recipe["pairs"], recipe["validation"], recipe["beta"])
    assert 2 == json.loads(tuned.read_text())["samples"]
    assert (asked, made) == (len(generator.prompts), tuned.stat().st_mtime_ns)
    assert recipe["pairs"] == again["pairs"]
    writer = models.load(llama, adapter=str(tmp_path / "out"))
    system = bottleneck(ScriptedLLM(["seals"] * 2), writer=writer)
    assert system("who sang ?", ["seals sang ."]).tokens.after <= 3
