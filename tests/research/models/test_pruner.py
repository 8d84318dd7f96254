"""The sentence pruner: a tiny checkpoint of random weights, exported, against plain torch."""

import json
import math
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
import transformers

pytest.importorskip("onnxscript")

from ragsieve.errors import InputError, ModelError
from ragsieve.models.base import LEADS, Passage, Pruned
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.cache import Cached
from ragsieve.models.pruner import Pruner
from ragsieve.models.windows import Layout, WindowTokenizer
from ragsieve.trace import step
from ragsieve_research.train.export import export, shrink

TEXT = "the a cat dog river town runs sleeps through old paris is capital of france who"
WORDS = TEXT.split()
LAYOUT = Layout(size=40, question=6, title=3, context=6)
CITY = Passage("paris", ["paris is the capital of france", "the old river runs through the town"])
PETS = Passage("", ["a cat runs", "", "the dog sleeps", "old dog"])
LONG = Passage("the river", [" ".join(WORDS[n : n + 5]) for n in range(9)] + ["old cat " * 30])
ASKED = {
    "is paris the capital": [CITY, PETS],
    "the dog": [PETS],
    "a river": [LONG, CITY, LONG, PETS],
    "old": [],
    "cat": [Passage("paris", []), Passage("", [""])],
}


@pytest.fixture(scope="module")
def checkpoint(make_encoder):
    """A tiny BERT of random weights and a tokenizer that knows `WORDS`."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    kind = "BertForTokenClassification"
    words = [*WORDS, *map(str, range(30))]
    folder = make_encoder(words, LAYOUT.size, kind, **sizes, num_labels=2, initializer_range=0.5)
    (folder / "README.md").write_text("A card.\n")
    return folder


@pytest.fixture(scope="module")
def exported(checkpoint, tmp_path_factory):
    """The folder of the checkpoint in float32."""
    folder = tmp_path_factory.mktemp("exported") / "pruner"
    export(checkpoint, folder, precision="float32", layout=LAYOUT)
    values = json.loads((folder / "pruner.json").read_text())
    del values["files"]  # tests change what lies there
    (folder / "pruner.json").write_text(json.dumps(values))
    return folder


@pytest.fixture(scope="module")
def small(exported, tmp_path_factory):
    """Makes of the folder one in int8."""

    def make(windows=()):
        folder = tmp_path_factory.mktemp("small") / "int8"
        shutil.copytree(exported, folder)
        net = onnx.load(folder / "model.onnx")
        shrink(net, windows)
        onnx.save(net, folder / "model.onnx")
        return folder

    return make


@pytest.fixture
def pruner(exported):
    """In float32, with nothing remembered."""
    return Pruner(str(exported))


def prune_all(pruner):
    """What it says of all questions at once."""
    return pruner.prune([*ASKED], [*ASKED.values()])


def plain(checkpoint, question, passage):
    """Probabilities as the documentation says, by transformers."""
    net = transformers.BertForTokenClassification.from_pretrained(checkpoint).eval()
    tokenizer = WindowTokenizer.read(checkpoint / "tokenizer.json", LAYOUT)
    ((*windows,),) = tokenizer.lay(question, [passage]).windows
    spans = [[] for _ in passage.sentences]
    answers = []
    for window in windows:
        ids, types = torch.tensor([window.ids]), torch.tensor([window.types])
        with torch.inference_mode():
            logits = net(ids, torch.ones_like(ids), types).logits[0]
        answers.append(float(logits[0, 1]))
        for n, start, end in window.spans:
            spans[n].append(float(logits[start:end, 0].mean()))
    sentences = [sigmoid(max(some)) if some else 0.0 for some in spans]
    return sentences, sigmoid(max(answers))


def sigmoid(logit):
    """The probability of a logit."""
    return 1 / (1 + math.exp(-logit))


@pytest.mark.slow
@pytest.mark.parametrize("passage", [CITY, PETS, LONG], ids=["city", "pets", "long"])
def test_probabilities_are_those_of_transformers(pruner, checkpoint, passage):
    """A sentence: its tokens' mean logit; a passage: the first token's; the best of windows."""
    (found,) = pruner.prune(["is the cat old"], [[passage]])
    sentences, answers = plain(checkpoint, "is the cat old", passage)

    assert pytest.approx(sentences, abs=1e-4) == found.sentences
    assert [pytest.approx(answers, abs=1e-4)] == found.passages


def test_no_passage_and_no_promise_is_nothing(pruner):
    """Without a table nothing is promised; tokens are counted without weights."""
    found = pruner.prune(["old", "cat"], [ASKED["old"], ASKED["cat"]])

    assert [Pruned([], []), Pruned([0.0], [0.0, 0.0])] == found
    assert [] == pruner.prune([], [])

    with pytest.raises(InputError, match="no thresholds"):
        pruner.threshold(0.95)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_company_changes_no_bit(exported, small, tmp_path, precision):
    """Alone, shuffled, on any number of threads, from several threads, shared, out of a cache."""
    folder = str(exported if precision == "float32" else small())
    expected = prune_all(Pruner(folder, threads=1))
    order = random.Random(0).sample([*range(len(ASKED))], len(ASKED))
    questions, passages = [*ASKED], [*ASKED.values()]
    mixed = Pruner(folder, threads=3).prune(
        [questions[n] for n in order], [passages[n] for n in order]
    )
    alone = [Pruner(folder).prune([q], [p])[0] for q, p in ASKED.items()]
    with (
        DynamicBatcher(Pruner(folder)) as shared,
        Cached(shared, tmp_path / "cache") as cached,
        ThreadPoolExecutor(4) as pool,
    ):
        runs = [
            list(pool.map(lambda item: cached.prune([item[0]], [item[1]])[0], ASKED.items()))
            for _ in range(2)
        ]
        plain = Pruner(folder, threads=2)
        threaded = list(pool.map(lambda item: plain.prune([item[0]], [item[1]])[0], ASKED.items()))

    assert expected == threaded
    assert [expected[n] for n in order] == mixed
    assert expected == alone
    assert [expected, expected] == runs


def test_measured_ranges_keep_int8_near(exported, small, checkpoint):
    """Factors that even out channels go from activations to weights: the product is the same."""
    tokenizer = WindowTokenizer.read(checkpoint / "tokenizer.json", LAYOUT)
    laid = [tokenizer.lay(*item).windows for item in ASKED.items()]
    windows = [window for item in laid for some in item for window in some]
    exact, *near = (
        np.concatenate([one.sentences for one in prune_all(Pruner(str(folder)))])
        for folder in (exported, small(), small(windows))
    )
    plain, measured = (float(np.abs(some - exact).mean()) for some in near)

    assert measured < 0.1
    assert plain < 0.1


def test_no_step_depends_on_the_processor(small):
    """Two products of a byte and a weight fit 16 bits: 2 · 255 · 64 < 2¹⁵; no softmax is one."""
    net = onnx.load(small() / "model.onnx")
    weights = {node.input[1] for node in net.graph.node if node.op_type == "DynamicQuantizeMatMul"}
    found = [onnx.numpy_helper.to_array(w) for w in net.graph.initializer if w.name in weights]

    assert len(found) == 2 * 6  # of each layer: query, key, value, output, up, down
    assert {np.dtype(np.int8)} == {values.dtype for values in found}
    assert max(np.abs(values.astype(int)).max() for values in found) == 64
    assert "Softmax" not in {node.op_type for node in net.graph.node}


def test_scores_are_the_logits_of_passages(pruner):
    """A text of one window, title and sentences as one, is what `prune` reads: one pass."""
    text = f"{CITY.title}: {' '.join(CITY.sentences)}"
    with step("rank") as ranked:
        (score,) = pruner.score([("is paris old", text)])
    with step("prune") as pruned:
        (found,) = pruner.prune(["is paris old"], [[CITY]])

    assert [pytest.approx(sigmoid(score))] == found.passages
    assert [False, True] == [step.usages[0].cached for step in (ranked, pruned)]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("model.onnx", b"", "model.onnx|ModelProto|protobuf"),
        ("model.onnx", None, "No such file"),
        ("pruner.json", b"{", "Expecting"),
        ("pruner.json", b"[]", "must be an object"),
        ("pruner.json", b'{"layout": {"size": 1}}', "size must be at least"),
        ("pruner.json", b'{"layout": {"size": 512}}', "the encoder reads 40"),
        ("pruner.json", b'{"layout": {}, "relative": NaN}', r"relative must be in .*got nan"),
        ("pruner.json", b'{"layout": {}, "thresholds": {"0.9": 1e9}}', "thresholds must be in"),
        ("pruner.json", b'{"layout": {}, "thresholds": {"nan": 0.1}}', "thresholds must be of"),
        ("pruner.json", b'{"layout": {}, "curve": {"bias": NaN}}', r"bias must be in \[-100"),
        ("tokenizer.json", b"{}", "Model missing"),
    ],
)
def test_a_damaged_folder_is_one_line(exported, tmp_path, name, content, reason):
    """Whatever is wrong, the error names the model."""
    folder = Path(shutil.copytree(exported, tmp_path / "damaged"))
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)

    with pytest.raises(ModelError, match=reason) as caught:
        prune_all(Pruner(str(folder)))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_net_or_a_pickle_is_refused(exported, tmp_path, checkpoint):
    """One without two logits a token; a pickle is neither exported nor loaded."""
    folder = Path(shutil.copytree(exported, tmp_path / "other"))
    net = onnx.load(folder / "model.onnx")
    net.graph.input[0].name = net.graph.input[0].name + "_other"
    for node in net.graph.node:
        for place, name in enumerate(node.input):
            if name == "input_ids":
                node.input[place] = "input_ids_other"
    onnx.save(net, folder / "model.onnx")

    with pytest.raises(ModelError, match="inputs must be among"):
        prune_all(Pruner(str(folder)))

    torch.save({}, tmp_path / "pytorch_model.bin")
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(checkpoint / name, tmp_path / name)

    with pytest.raises(InputError, match=r"must hold model\.safetensors"):
        export(tmp_path, tmp_path / "out")
    with pytest.raises(ModelError, match="cannot be loaded"):
        prune_all(Pruner(str(tmp_path)))


def test_layout_and_card_go_along_with_the_checkpoint(exported):
    """And the identity says the precision."""
    assert Pruner(str(exported)).identity.endswith(":float32")
    assert LAYOUT == Layout(**json.loads((exported / "pruner.json").read_text())["layout"])
    assert (exported / "README.md").read_text() == "A card.\n"


def test_a_curve_makes_probabilities(exported, tmp_path):
    """Log-odds of sentences times the slope, plus the bias; of what leads, too; ranks stay."""
    folder = Path(shutil.copytree(exported, tmp_path / "calibrated"))
    values = json.loads((folder / "pruner.json").read_text())
    curve = {"slope": 0.5, "bias": -1.0}
    (folder / "pruner.json").write_text(json.dumps(values | {"curve": curve}))
    raw, other = Pruner(str(exported)), Pruner(str(folder))
    (before,), (after,) = (one.prune(["Where?"], [[CITY]]) for one in (raw, other))
    odds = np.log(np.divide(before.sentences, 1 - np.array(before.sentences)))

    assert (1 / (1 + np.exp(1 - odds / 2))).tolist() == pytest.approx(after.sentences)
    assert before.passages == after.passages
    assert LEADS == pytest.approx(raw.leads)
    least = 1 / (1 + math.exp(1 - math.log(0.12 / 0.88) / 2))
    assert least == pytest.approx(other.leads[0])


@pytest.fixture
def promising(exported, tmp_path):
    """The folder with a table of thresholds."""
    folder = Path(shutil.copytree(exported, tmp_path / "promising"))
    values = json.loads((folder / "pruner.json").read_text())
    table = {"0.90": 0.4, "0.95": 0.2}
    (folder / "pruner.json").write_text(json.dumps(values | {"thresholds": table}))
    return folder


@pytest.mark.parametrize(("promise", "expected"), [(0.9, 0.4), (0.92, 0.2), (0.95, 0.2)])
def test_a_threshold_keeps_at_least_what_is_promised(promising, promise, expected):
    """Between two values of the table the more careful one counts; a wrapper says the same."""
    with DynamicBatcher(Pruner(str(promising))) as shared:
        assert expected == Pruner(str(promising)).threshold(promise) == shared.threshold(promise)


@pytest.mark.parametrize("promise", [0.89, 0.96, math.nan])
def test_nothing_is_promised_beyond_the_table(promising, promise):
    """One line says what can be asked for; without a table nothing."""
    with pytest.raises(InputError, match=r"keep_answer must be from 0\.9 to 0\.95, got"):
        Pruner(str(promising)).threshold(promise)


def test_counting_tokens_reads_no_weights(exported, tmp_path):
    """The tokenizer is enough; control tokens of a text are text, and none is added."""
    folder = Path(shutil.copytree(exported, tmp_path / "bare"))
    (folder / "model.onnx").unlink()

    assert [2, 0, 3] == Pruner(str(folder)).count(["the cat", "", "old old river"])


def test_a_cache_takes_only_what_fits(pruner, tmp_path):
    """A model that gives too few probabilities is not remembered; lists are the caller's own."""
    with Cached(pruner, tmp_path / "cache") as cached:
        first, second = cached.prune(["the dog"] * 2, [[PETS]] * 2)
        first.sentences[0] = 2.0

        for model in (cached, pruner):
            assert second == model.prune(["the dog"], [[PETS]])[0]
