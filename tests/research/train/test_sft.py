"""Fine-tuning by LoRA: tiny models with random weights learn replies by heart."""

import json
from dataclasses import replace

import pytest
import torch
import transformers
from safetensors.torch import load_file

from ragsieve import InputError, models
from ragsieve.models.base import Message
from ragsieve_research.models.loading import adapted
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.train import sft
from ragsieve_research.train.sft import PromptSample, Tuning, tunable, tune

LETTERS = "abcdefgh0123456789"
SAMPLES = [
    PromptSample((Message("user", f"{a} {b}"),), f"{n}")
    for n, (a, b) in enumerate(zip("abcd", "efgh", strict=True))
]
FAST = Tuning(epochs=20, lr=0.02, checks=2)


@pytest.fixture(scope="module")
def causal(make_llm):
    return tunable(f"transformers:{make_llm(LETTERS, 4, width=32, positions=64)}")


@pytest.fixture(scope="module")
def seq2seq(make_llm):
    return tunable(f"seq2seq:{make_llm(LETTERS, 2, width=32, seq2seq=True)}")


def learn(folder, llm, tuning=FAST, **more):
    return tune(folder, SAMPLES, SAMPLES, llm=llm, tuning=tuning, about={"part": "x"}, **more)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_replies_are_learned(tmp_path, kind, request, capsys):
    """Loaded through the model class, the adapter gives each prompt its target; all is quiet."""
    llm = request.getfixturevalue(kind)
    log = learn(tmp_path / "out", llm)
    prefix = "seq2seq" if kind == "seq2seq" else "transformers"
    tuned = models.load(f"{prefix}:{llm.model}", adapter=str(tmp_path / "out"))

    assert ["0", "1", "2", "3"] == tuned.complete([s.prompt for s in SAMPLES], max_tokens=4)
    assert log[0]["loss"] > log[-1]["validation_loss"]
    assert "" == capsys.readouterr().out


@pytest.mark.slow
def test_the_folder_holds_an_adapter_and_its_recipe(tmp_path, causal):
    """Nothing pickled, no checkpoints beside it; the recipe has the figures and the log."""
    log = learn(tmp_path / "out", causal, measure=lambda llm: {"adapter": bool(llm.adapter)})
    recipe = json.loads((tmp_path / "out" / "recipe.json").read_text())
    files = {"adapter_config.json", "adapter_model.safetensors", "recipe.json"}

    assert files == {p.name for p in (tmp_path / "out").iterdir()}
    assert ["out"] == [p.name for p in tmp_path.iterdir()]
    assert ({"adapter": False}, {"adapter": True}) == (recipe["before"], recipe["after"])
    assert (log, causal.model, 20) == (recipe["log"], recipe["base"], recipe["epochs"])
    assert 64 == len(recipe["base_sha256"])


def test_the_loss_is_that_of_the_replies_tokens(causal):
    """Of a padded batch: the mean −log p of the targets and of what ends their turns. The second
    reply is longer and the first prompt is, so both rows are padded somewhere."""
    samples = [
        PromptSample((Message("user", "a b c d e"),), "7"),
        PromptSample((Message("user", "a"),), "1 2 3"),
    ]
    llm = Transformers(causal.model, dtype="float32")
    model = transformers.AutoModelForCausalLM.from_pretrained(llm.model)
    with torch.no_grad():
        loss = float(model(**sft.right_aligned([sft.row(s, llm) for s in samples])).loss)
    logs = []
    for sample in samples:
        whole = torch.tensor([sft.row(sample, llm)["input_ids"]])
        with torch.no_grad():
            odds = model(whole).logits[0].log_softmax(-1)
        start = len(llm.encode(sample.prompt))
        logs += [float(odds[n - 1, whole[0, n]]) for n in range(start, whole.shape[1])]

    assert 2 + 4 == len(logs)
    assert loss == pytest.approx(-sum(logs) / len(logs), rel=1e-4)


def test_a_reply_is_trained_behind_what_the_model_is_asked(causal):
    """The prompt's own tokens, ignored by the loss, then the reply and the end of the turn."""
    prompt = causal.encode(SAMPLES[0].prompt)
    reply = [causal.tokenizer.vocab["0"], 1]

    assert {"input_ids": prompt + reply, "labels": [sft.IGNORED] * len(prompt) + reply} == sft.row(
        SAMPLES[0], causal
    )


@pytest.mark.parametrize(("share", "layers"), [(1.0, {0, 1, 2, 3}), (0.5, {2, 3}), (0.01, {3})])
def test_only_the_upper_layers_are_tuned(causal, share, layers):
    """All linear maps of those, no other; at least of one layer."""
    model = sft.with_lora(causal, Tuning(layers=share))
    tuned = {n for n, p in model.named_parameters() if p.requires_grad}

    assert layers == {int(n.partition("layers.")[2][0]) for n in tuned}
    assert 2 * 7 * len(layers) == len(tuned)


def test_layers_below_keep_nothing_and_the_decoder_is_above(causal, seq2seq):
    """A gradient begins where the first tuned layer does; half of a T5 is its decoder."""
    model = sft.with_lora(causal, Tuning(layers=0.5))
    states = model(
        **sft.right_aligned([sft.row(SAMPLES[0], causal)]), output_hidden_states=True
    ).hidden_states

    assert [False, False, False, True, True] == [s.requires_grad for s in states]

    model = sft.with_lora(seq2seq, Tuning(layers=0.5))

    assert {"decoder"} == {
        n.partition("base_model.model.")[2].partition(".")[0]
        for n, p in model.named_parameters()
        if p.requires_grad
    }


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path, causal, killed):
    """From its last checkpoint to the weights of a run that was not killed."""
    tuning = Tuning(epochs=6, checks=3)
    whole = learn(tmp_path / "whole", causal, tuning)
    with killed(5):
        learn(tmp_path / "out", causal, tuning)
    resumed = learn(tmp_path / "out", causal, tuning)
    a, b = (load_file(tmp_path / n / "adapter_model.safetensors") for n in ("whole", "out"))

    assert [e["step"] for e in whole] == [e["step"] for e in resumed]
    assert all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.slow
def test_the_best_look_at_validation_is_kept(tmp_path, causal):
    """Validation wants other replies than are taught, so a look before the last is the best."""
    llm = replace(causal, dtype="float32")
    others = [PromptSample(s.prompt, t.target) for s, t in zip(SAMPLES, SAMPLES[::-1], strict=True)]
    tuning = Tuning(epochs=10, lr=0.01, checks=5)
    log = tune(tmp_path / "out", SAMPLES, others, llm=llm, tuning=tuning, about={})
    looks = [entry["validation_loss"] for entry in log if "validation_loss" in entry]
    model = transformers.AutoModelForCausalLM.from_pretrained(llm.model)
    tuned = adapted(model, "out", str(tmp_path / "out"))
    with torch.no_grad():
        loss = float(tuned(**sft.right_aligned([sft.row(s, llm) for s in others])).loss)

    assert min(looks) < looks[-1]
    assert loss == pytest.approx(min(looks), rel=1e-3)


def test_what_does_not_fit_or_run_here_is_left_out(tmp_path, causal):
    """Samples over the context; a server cannot be tuned."""
    long = [PromptSample((Message("user", "a " * 70),), "1")]
    with pytest.raises(InputError, match="prompt with its reply in 64 tokens, got 0 of 1"):
        tune(tmp_path, long, SAMPLES, llm=causal, tuning=FAST, about={})

    with pytest.raises(InputError, match=r"llm must be a local one, .* got 'fake:echo'"):
        tunable("fake:echo")
