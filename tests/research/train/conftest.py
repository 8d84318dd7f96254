"""What tests of training share: tiny models and examples that these can learn."""

import random
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from ragsieve.types import Document, Example, Query
from ragsieve_research import datasets
from ragsieve_research.train.examples import TrainingExample
from tests.named import asking, write_rows
from tests.tiny import save_bytes

EXTRA = ("accelerate", "datasets", "onnxscript", "peft", "sentence_transformers", "sklearn", "trl")
collect_ignore_glob = [] if all(map(find_spec, EXTRA)) else ["test_*.py"]  # without [train]
WORDS = ["seals", "crofts", "paris", "rome", "sang", "rained", "ran", "slept", "who", "the"]
WORDS += ["it", "in", "old"]


@pytest.fixture(scope="session")
def make_llm(tmp_path_factory):
    """Makes a llama, or a T5, of random weights that reads some words, ``.`` and ``?``. Without
    words it reads every text, letter by letter."""

    def make(words, layers, *, width=16, positions=512, padded=True, seq2seq=False):
        pytest.importorskip("torch").manual_seed(0)
        transformers = pytest.importorskip("transformers")
        folder = tmp_path_factory.mktemp("llm")
        known = ["<pad>", "</s>", "<unk>", ".", "?", *words]
        marks = {"eos_token": "</s>", "pad_token": "<pad>" if padded else None}
        marks |= {"unk_token": "<unk>"}
        if words:
            read = transformers.PreTrainedTokenizerFast(
                tokenizer_object=_whole_words(known), **marks
            )
            read.save_pretrained(folder)
        size = len(known) if words else save_bytes(folder, [], known[:3], 300, None, **marks)
        if seq2seq:
            sizes = {"d_model": width, "d_kv": 8, "d_ff": 2 * width, "num_heads": width // 8}
            sizes |= {"vocab_size": size, "num_layers": layers}
            t5 = transformers.T5Config(decoder_start_token_id=0, **sizes)
            transformers.T5ForConditionalGeneration(t5).save_pretrained(folder)
            return folder
        config = transformers.LlamaConfig(
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=layers,
            num_attention_heads=width // 8,
            vocab_size=size,
            max_position_embeddings=positions,
            initializer_range=0.3,
            bos_token_id=None,
            eos_token_id=1,
            pad_token_id=0 if padded else None,
        )
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
        return folder

    return make


def _whole_words(known):
    """A tokenizer of these words."""
    tokenizers = pytest.importorskip("tokenizers")
    numbered = {word: n for n, word in enumerate(known)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbered, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return made


@pytest.fixture
def killed(monkeypatch):
    """Kills the training inside at the end of a step, however it is called."""
    transformers = pytest.importorskip("transformers")

    @contextmanager
    def kill(step):
        class Kill(transformers.TrainerCallback):
            def on_step_end(self, args, state, control, **_):
                if state.global_step == step:
                    raise KeyboardInterrupt

        known = transformers.trainer.DEFAULT_CALLBACKS
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(transformers.trainer, "DEFAULT_CALLBACKS", [*known, Kill])
            yield

    return kill


class Counted:
    """Runs through the questions of a training, and notes how many were asked anew."""

    def __init__(self):
        self.fresh = []

    def __call__(self, name, done, total):
        found = list(done)
        self.fresh.append((name, sum(not one.again for one in found)))
        return found


@pytest.fixture
def counted():
    """One that has counted nothing yet."""
    return Counted()


@pytest.fixture
def asked(tmp_path):
    """Makes a data set that asks who sang in some years; ``{}`` in a document is the year."""

    def make(years, *documents):
        rows = [
            asking(f"who sang in {n} ?", *(text.format(n) for text in documents), answers=["seals"])
            for n in years
        ]
        return datasets.load(str(write_rows(tmp_path / "questions.jsonl", rows)))

    return make


@pytest.fixture(scope="session")
def words():
    """All of which examples are made."""
    return WORDS


@pytest.fixture(scope="session")
def taught():
    """Twelve examples to learn from."""
    return _examples(12, seed=0)


def _examples(count, seed):
    """Questions with three documents of two sentences; the clue is the one with "the ... in"."""
    chance = random.Random(seed)
    found = []
    for n in range(count):
        answer, *others = chance.sample(WORDS[:8], 6)
        texts = [f"The {answer} in {others[0]}. It {others[1]}."]
        texts += [f"Old {word} {others[4]}. It {others[1]}." for word in others[2:4]]
        documents = tuple(Document(f"d{k}", text, rank=k) for k, text in enumerate(texts))
        found.append(
            TrainingExample.of(Example(Query(f"Who {n}?", id=f"own:{n}"), documents, (answer,)))
        )
    return found
