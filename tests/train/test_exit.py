"""Fine-tuning an LLM to say whether a sentence helps: a tiny model learns a word by heart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("peft")

from tokenizers import Tokenizer, pre_tokenizers  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402

from ragsieve import models  # noqa: E402
from ragsieve.errors import InputError  # noqa: E402
from ragsieve.models.fake import ScriptedLLM  # noqa: E402
from ragsieve.score.helpful import Helpful  # noqa: E402
from ragsieve.train.exit import CLUES, samples, train_exit  # noqa: E402
from ragsieve.train.lessons import Lesson  # noqa: E402
from ragsieve.train.sft import Tuning  # noqa: E402
from ragsieve.types import Document, Example, Query  # noqa: E402

WORDS = ["<pad>", "</s>", "<unk>", "Yes", "No", "sang", "ran", "Seals", "He", "Who", "Document"]


def lesson(*texts: str, answer: str = "Seals") -> Lesson:
    documents = tuple(Document(f"d{n}", text) for n, text in enumerate(texts))
    return Lesson.of(Example(Query("Who sang?", "own:1"), documents, (answer,)))


SONG = lesson("Seals sang. He ran.", "He sang. He slept.")


def asked(given: Lesson) -> list[tuple[str, str]]:
    """Of each sample the sentence asked about, and the reply."""
    found = samples(given, Helpful(ScriptedLLM([])))
    mark = "Sentence of this document: "
    lines = [next(x for x in s.prompt[-1].content.splitlines() if mark in x) for s in found]
    return [(x.removeprefix(mark).strip('"'), s.target) for x, s in zip(lines, found, strict=True)]


def test_a_clue_comes_with_one_that_is_none() -> None:
    """Yes of the one, No of some other."""
    (good, yes), (bad, no) = asked(SONG)

    assert ("Seals sang.", "Yes", "No") == (good, yes, no)
    assert bad in {"He ran.", "He sang.", "He slept."}


def test_others_come_from_both_kinds_of_documents() -> None:
    """Two clues bring one sentence of a clue's document and one of another document."""
    given = lesson("Seals sang. He ran. Seals slept.", "He sat. He left. He ate.")
    found = asked(given)

    assert {"Yes": CLUES, "No": CLUES} == Counter(reply for _, reply in found)
    assert {"He ran."} < {text for text, reply in found if reply == "No"}


def test_without_another_document_all_come_from_the_clues() -> None:
    """There are as many as there are clues, where there are so many."""
    found = asked(lesson("Seals sang. Seals ran. He slept. He left."))

    assert {"He slept.", "He left."} == {text for text, reply in found if reply == "No"}


def test_a_question_asks_the_same_again() -> None:
    """Chance is the question's own."""
    assert asked(SONG) == asked(SONG)


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """A model of random weights that reads a few words."""
    made = Tokenizer(WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(tmp_path / "tiny")
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(WORDS), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
            initializer_range=0.3, bos_token_id=None, eos_token_id=1, pad_token_id=0,
        )
    ).save_pretrained(tmp_path / "tiny")  # fmt: skip
    return f"transformers:{tmp_path / 'tiny'}"


def test_a_tuned_model_tells_clues(tiny: str, tmp_path: Path) -> None:
    """The one clue of three like questions gets more than the other sentences."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    fast = Tuning(epochs=10, lr=0.01, checks=1)
    log = train_exit(tmp_path / "a", [SONG] * 3, [SONG], llm=tiny, tuning=fast)
    scorer = Helpful(models.load(tiny, adapter=str(tmp_path / "a")))
    scores = [s.score for s in scorer(SONG.query, SONG.sentences)]
    torch.set_num_threads(threads)

    assert 0 == scores.index(max(scores))
    assert "validation_loss" in log[-1]


def test_lessons_must_teach() -> None:
    """The error says which are missing."""
    nothing = lesson("He ran.")
    with pytest.raises(InputError, match="lessons must have a question with clues and others"):
        train_exit(Path("a"), [nothing], [SONG])
    with pytest.raises(InputError, match="validation must have a question with clues and others"):
        train_exit(Path("a"), [SONG], [nothing])
