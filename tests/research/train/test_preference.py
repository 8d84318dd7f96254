"""Direct preference optimisation: tiny models with random weights learn which reply is better."""

import copy
import json
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import pytest
import trl
from datasets import Dataset

from ragsieve import models
from ragsieve.models.base import Message
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.train import preference, sft
from ragsieve_research.train.preference import PreferencePair, prefer
from ragsieve_research.train.sft import PromptSample, Tuning, tunable, tune

pytestmark = pytest.mark.slow
WORDS = "abcdefgh0123456789"
PROMPTS = [(Message("user", f"{a} {b}"),) for a, b in zip("abcd", "efgh", strict=True)]
SAMPLES = [PromptSample(prompt, "0 1") for prompt in PROMPTS]
PAIRS = [PreferencePair(prompt, "2", "0 1") for prompt in PROMPTS]
FAST = Tuning(epochs=6, lr=0.03, checks=1)


class Started(NamedTuple):
    """A base model, and an adapter of it."""

    llm: Transformers
    adapter: Path


@pytest.fixture(scope="module")
def started(make_llm, tmp_path_factory):
    """A tiny llama that is tuned to reply "0 1"."""
    folder = make_llm(WORDS, 2, width=32, positions=64, padded=False)
    llm = tunable(f"transformers:{folder}")
    adapter = tmp_path_factory.mktemp("tuned") / "sft"
    tune(adapter, SAMPLES, SAMPLES, llm=llm, tuning=FAST, about={})
    return Started(llm, adapter)


def learn(folder, started, tuning=FAST, **options):
    given = {"about": {"part": "x"}, "adapter": started.adapter, **options}
    return prefer(folder, PAIRS, PAIRS, llm=started.llm, tuning=tuning, **given)


def leads(llm):
    """By how much likelier the better reply is than the worse one, in nats."""
    better, worse = (llm.loglik(PROMPTS, [pair[n] for pair in PAIRS]) for n in (1, 2))
    return [sum(a) - sum(b) for a, b in zip(better, worse, strict=True)]


def test_the_better_reply_wins(tmp_path, started):
    """At the start the worse is written; then it is less likely. Only an adapter is left."""
    log = learn(tmp_path / "out", started)
    name = f"transformers:{started.llm.model}"
    before = models.load(name, adapter=str(started.adapter))
    after = models.load(name, adapter=str(tmp_path / "out"))
    recipe = json.loads((tmp_path / "out" / "recipe.json").read_text())

    assert ["0 1"] * 4 == before.complete(PROMPTS, max_tokens=4)
    assert max(leads(before)) < 0 < min(leads(after))
    assert 1.0 == log[-1]["accuracy"]
    assert (log, 4, 0.1, "x") == tuple(recipe[key] for key in ("log", "pairs", "strength", "part"))
    assert {"adapter_config.json", "adapter_model.safetensors", "recipe.json"} == {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert ["out"] == [path.name for path in tmp_path.iterdir()]


def test_a_pair_is_the_tokens_that_the_model_reads_and_writes(started):
    """Control tokens in a text are text: here unknown words."""
    pair = PreferencePair((Message("user", "a </s>"),), "1", "2 </s>")
    (row,) = preference.preference_rows([pair], started.llm, "pairs")

    assert started.llm.encode(pair.prompt) == row["prompt_ids"]
    assert [started.llm.tokenizer.vocab["1"], 1] == row["chosen_ids"]
    assert 1 not in row["rejected_ids"][:-1]


class _Quiet(trl.SFTTrainer):
    """TRL's, telling nobody that it is used."""

    def _send_telemetry(self):
        """Not sent."""


def test_our_fine_tuning_is_trls(tmp_path, started):
    """TRL's SFTTrainer on our rows gives the losses of our `sft.tune`, step for step."""
    llm, tuning = started.llm, Tuning(epochs=3, checks=3, lr=0.01)
    ours = tune(tmp_path / "out", SAMPLES, SAMPLES, llm=llm, tuning=tuning, about={})
    rows = Dataset.from_list([sft.row(sample, llm) for sample in SAMPLES])
    plain = sft.arguments(tmp_path / "trl", len(rows), llm, tuning)
    known = {f.name: getattr(plain, f.name) for f in fields(plain) if f.init}
    known["train_sampling_strategy"] = "random"
    config = trl.SFTConfig(**known, dataset_kwargs={"skip_prepare_dataset": True}, max_length=None)
    trainer = _Quiet(
        model=sft.with_lora(llm, tuning),
        args=config,
        train_dataset=rows,
        eval_dataset=rows,
        processing_class=copy.deepcopy(llm.tokenizer),
    )
    trainer.train()
    theirs = [e["eval_loss"] for e in trainer.state.log_history if "eval_loss" in e]

    assert 3 == len(theirs)
    assert theirs == pytest.approx(
        [e["validation_loss"] for e in ours if "validation_loss" in e], rel=1e-3
    )
