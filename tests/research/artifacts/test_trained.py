"""A trained filter, a system by its name: models, options, and what is never run."""

import hashlib
import json
import pickle
import shutil
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from msgspec.structs import replace

import ragsieve
from ragsieve import spec
from ragsieve.errors import InputError, ModelError, StoreError
from ragsieve.models.base import LLM, CrossEncoder, Embedder
from ragsieve.models.deferred import opened
from ragsieve.models.fake import HashingEmbedder, OverlapPruner, ScriptedLLM, echo
from ragsieve.models.wrap import unwrap
from ragsieve.score.embedding import Cosine
from ragsieve.score.pair import Pair
from ragsieve.spec import build, identity, load
from ragsieve.systems.base import PARTS
from ragsieve_research.artifacts.folder import save
from ragsieve_research.artifacts.recipe import Base, Trained, TrainedPart
from ragsieve_research.artifacts.weights import sha256_of
from ragsieve_research.select.extract import Extract
from ragsieve_research.select.truncate import Truncate
from tests import tiny
from tests.processes import python
from tests.tiny import save_bytes

FAKES = Trained(generator=Base("fake:echo"), embedder=Base("fake:hashing"))
TEXTS = ["Paris is the capital of France.", "The river runs through the old town."]
JSON = {"filter.json", "adapter_config.json", "ragsieve.json"}  # the last is looked for in vain
OPENED = []
WATCHED = []  # a folder, for the time of a test: a hook can never be taken off again


@cache
def _hook():
    def watch(event, arguments):
        if event == "open" and WATCHED and str(arguments[0]).startswith(WATCHED[0]):
            OPENED.append(Path(str(arguments[0])).name)

    sys.addaudithook(watch)


@contextmanager
def watching(folder):
    """Names of all files in ``folder`` that Python opens in the block."""
    _hook()
    OPENED.clear()
    WATCHED[:] = [str(folder)]
    try:
        yield OPENED
    finally:
        WATCHED.clear()


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.write_text, (self.file, "boom")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A tiny llama of random weights, and ``lora`` beside it, an adapter of random weights."""
    peft = pytest.importorskip("peft")
    folder = tmp_path_factory.mktemp("models") / "llama"
    words = save_bytes(folder, TEXTS, ["<|end|>"], 300, None)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "initializer_range": 0.02}
    model = tiny.llama(words, max_position_embeddings=2048, eos_token_id=0, **sizes, **heads)
    model.save_pretrained(folder)
    lora = peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    peft.get_peft_model(model, lora).save_pretrained(folder.parent / "lora")
    return folder


def tuned(llama, folder):
    """A filter whose extractor and truncator are one adapter of the tiny llama."""
    model = f"transformers:{llama}"
    part = TrainedPart("llm", model, "both")
    trained = replace(
        FAKES, generator=Base(model, sha256_of(model)), extractor=part, truncator=part
    )
    return save(folder, trained, {"both": llama.parent / "lora"})


def stages(system):
    """The stages of a system by their class."""
    return {type(stage): stage for stage in system.stage.stages}


def test_a_filter_without_parts_is_its_generator(tmp_path):
    """It filters and answers by the models of its recipe, under its options."""
    trained = replace(FAKES, options={"truncator": "none", "reranker": "bm25", "max_tokens": 9})
    system = ragsieve.load(save(tmp_path / "f", trained, {}))

    assert 9 == system.budget.max_tokens
    assert "BM25(" in repr(system.stage)
    assert system.ask("Who sang it?", ["Seals sang it."]).answer is not None


def test_ones_own_models_take_the_place_of_the_recipes(tmp_path):
    """Which are then not loaded: the ones here do not exist."""
    trained = Trained(
        generator=Base("transformers:/none", "a" * 64),
        embedder=Base("sentence_transformers:/none", "a" * 64),
    )
    llm, embedder = ScriptedLLM(["x"]), HashingEmbedder()
    system = load(save(tmp_path / "f", trained, {}), llm, embedder)

    assert llm is system.reader.llm
    assert llm is stages(system)[Extract].llm
    assert embedder is stages(system)[Cosine].embedder


def test_a_cross_encoder_ranks(tmp_path):
    """A reranker of kind pair; no embedder is needed then, not even loaded."""
    trained = replace(
        FAKES,
        embedder=Base("sentence_transformers:/none"),
        reranker=TrainedPart("pair", "fake:overlap"),
    )
    found = stages(load(save(tmp_path / "f", trained, {})))

    assert Pair in found
    assert Cosine not in found


def test_a_pruner_is_cut_by_what_was_fitted_to_it(tmp_path):
    """The system is the one-pass one then; a pruner of other weights is refused."""
    part = TrainedPart("pruner", "fake:pruner", identity="overlap-pruner")
    odds = {"weights": [[0.0], [0.0]], "bias": [0.0, 1.0], "reads": "pruner"}
    one_pass = replace(FAKES, system="finefilter-one-pass", extractor=part, cut=odds)
    result = load(save(tmp_path / "f", one_pass, {}))("Who ran?", ["It rained. Seals ran."])
    other = replace(one_pass, extractor=replace(part, identity="another"))

    assert ["Seals ran."] == [segment.text for segment in result.kept]
    with pytest.raises(ModelError, match="fitted to another, the one here is overlap-pruner"):
        load(save(tmp_path / "g", other, {}))
    with pytest.raises(InputError, match="extractor must be a pruner where system is"):
        replace(one_pass, system="finefilter")


def test_a_trained_reranker_takes_the_embedders_place(tmp_path, adapter):
    """Also where an embedder is given: that one has not learnt to rank."""
    pytest.importorskip("sentence_transformers")
    trained = replace(FAKES, reranker=TrainedPart("embedder", "minilm", "reranker"))
    folder = save(tmp_path / "f", trained, {"reranker": adapter("x")})
    found = stages(load(folder, embedder=HashingEmbedder()))[Cosine].embedder

    assert ["minilm", str(folder / "reranker")] == [found.model, found.adapter]


def test_an_extractor_as_it_was_before_is_asked_in_the_form_of_the_trained_one(tmp_path, adapter):
    """The ablation is of the tuning alone, not of the prompt."""
    part = TrainedPart("llm", "fake:echo", "x", "write")
    folder = save(tmp_path / "f", replace(FAKES, extractor=part), {"x": adapter("x")})
    untuned = stages(load(folder, options={"extractor": ScriptedLLM(["x"])}))[Extract]

    assert ("write", ScriptedLLM) == (untuned.mode, type(untuned.llm))


def test_equal_parts_are_one_model(tmp_path, llama):
    """Extractor and truncator share theirs; the generator has no adapter, so is another."""
    system = load(tuned(llama, tmp_path / "f"))
    found = stages(system)

    assert found[Extract].llm is found[Truncate].llm
    assert [None, str(tmp_path / "f" / "both")] == [
        opened(system.reader.llm).adapter,
        found[Extract].llm.adapter,
    ]


def test_no_code_is_run_and_no_pickle_opened(tmp_path, llama):
    """Whatever lies beside recipe and adapters, where libraries would look for it."""
    folder = tuned(llama, tmp_path / "f")
    boom = tmp_path / "boom"
    remote = {"model_type": "x", "auto_map": {"AutoModelForCausalLM": "modeling_x.X"}}
    for place in (folder, folder / "both"):
        for name in ("pytorch_model.bin", "adapter_model.bin", "training_args.bin"):
            (place / name).write_bytes(pickle.dumps(Bomb(boom)))
        for name in ("modeling_x.py", "__init__.py", "sitecustomize.py"):
            (place / name).write_text(f"open({str(boom)!r}, 'w')")
        (place / "config.json").write_text(json.dumps(remote))
        (place / "modules.json").write_text('[{"idx": 0, "path": "", "type": "modeling_x.X"}]')
    with watching(folder) as opened:
        result = load(folder).ask("Where is Paris?", TEXTS)

    assert result.answer is not None
    assert not boom.exists()
    assert JSON == {*opened} - {"adapter_model.safetensors"}


def test_another_base_than_it_was_trained_with_is_refused(tmp_path, llama):
    """An adapter on other weights would say anything; one's own generator is no matter."""
    shutil.copytree(llama.parent, tmp_path / "copy")
    other = tmp_path / "copy" / "llama"
    folder = tuned(other, tmp_path / "f")
    with (other / "model.safetensors").open("ab") as changed:
        changed.write(b" ")
    for llm in (None, ScriptedLLM(["x"])):
        with pytest.raises(ModelError, match=r"the filter was trained with a .* of sha256 "):
            load(folder, llm)


def test_weights_are_told_apart_by_what_they_hold(tmp_path):
    """One file by its sha256, several by theirs; a server's by nothing, none is an error."""
    name = f"transformers:{tmp_path}"
    with pytest.raises(ModelError, match="must have safetensors, it has none"):
        sha256_of(name)
    (tmp_path / "b.safetensors").write_bytes(b"b")
    one = sha256_of(name)
    (tmp_path / "a.safetensors").write_bytes(b"a")
    b, a = hashlib.sha256(b"b").hexdigest(), hashlib.sha256(b"a").hexdigest()
    lines = f"{a}  a.safetensors\n{b}  b.safetensors\n"

    assert b == one
    assert hashlib.sha256(lines.encode()).hexdigest() == sha256_of(name)
    assert "" == sha256_of("openai:gpt-5-mini")


def test_a_folder_does_not_pose_as_a_model_of_the_hub(tmp_path, monkeypatch):
    """A filter may bring a folder along, but its models come from where it says."""
    (tmp_path / "org" / "model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    folder = save(tmp_path / "f", replace(FAKES, generator=Base("transformers:org/model")), {})
    with pytest.raises(InputError, match="must be the hub's, but a folder here has its name"):
        load(folder)


def test_a_filter_of_the_hub_is_fetched_without_what_is_no_part_of_it(tmp_path, hub_of):
    """JSON, safetensors and the card; an unknown repository is one line."""
    pytest.importorskip("huggingface_hub")
    trained = replace(FAKES, extractor=TrainedPart("llm", "fake:echo"), options={"min_keep": 1})
    saved = {f.name: f.read_bytes() for f in save(tmp_path / "f", trained, {}).iterdir()}
    code = "import ragsieve; print(ragsieve.load('me/f').stage); ragsieve.load('me/none')"
    noise = {"pytorch_model.bin": b"x", "modeling_x.py": b"x"}
    with hub_of("me/f", {**saved, **noise}) as (address, given):
        env = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "hf")}
        run = python(code, env=env, check=False)

    assert "Extract(llm=" in run.stdout, run.stderr
    assert f"{StoreError.__name__}: me/none could not be fetched from the hub: " in run.stderr
    assert {"filter.json", "README.md"} == {*given}


def test_a_system_is_loaded_by_its_name():
    """With models by their names, the usual ones, or what prunes."""
    system = load("top-sentences", "fake:echo", "fake:hashing", options={"k": 1})
    result = system("Who drew it?", ["Koechlin drew it. It is tall.", "Bananas."])

    assert ["Koechlin drew it."] == [segment.text for segment in result.kept]

    system = load("top-sentences")

    assert ("smollm2", "minilm") == (system.reader.llm.name, system.stage.stages[1].embedder.name)

    embedder = HashingEmbedder()
    options = {"prune": "top-sentences"}
    made = spec.build("hyde", echo(), options, embedder=embedder)
    documents = ["Bees make honey. It rained.", "Snow fell."]

    assert ("embedder", "pruner") == spec.roles_of("hyde", {"prune": "finefilter"})
    assert "TopK(k=5)" in repr(made.stage)
    assert all("." in s.text for s in made("Who makes honey?", documents).kept)


@pytest.mark.parametrize("pruner", ["fake:pruner", OverlapPruner()])
def test_a_pruner_of_ones_own_is_named_or_given(pruner):
    """In the place of the bundled one."""
    system = load("finefilter", "fake:echo", pruner=pruner)

    assert "OverlapPruner" in repr(system.stage)


@pytest.mark.parametrize(
    ("name", "asking", "llm"),
    [
        ("finefilter", False, "none"),
        ("top-documents", False, "none"),
        ("finefilter", True, "smollm2"),
        ("chunkrag", False, "smollm2"),
    ],
)
def test_an_llm_that_a_filter_does_not_need_is_deferred(name, asking, llm):
    """Unless it is asked for an answer."""
    assert llm == spec.generator(name, asking=asking)


@pytest.mark.parametrize("name", ragsieve.systems.SYSTEMS)
def test_every_model_of_a_part_can_be_named(name):
    """An option that is a model is one that `--model` knows."""
    entry = ragsieve.systems.SYSTEMS[name]
    hints = get_type_hints(getattr(entry.make, "func", entry.make))
    kinds = {LLM, Embedder, CrossEncoder}
    wanted = {option for option in entry.options if kinds & {*get_args(hints[option])}}

    assert wanted <= PARTS.keys()


ODDS = {"weights": [[0.0], [1.0]], "bias": [0.0, 0.5], "price": 0.2}


@pytest.fixture
def folder(tmp_path):
    """A filter of fakes that ranks by words in common, and cuts by odds."""
    models = {"generator": Base("fake:echo"), "embedder": Base("fake:hashing")}
    made = Trained(**models, options={"reranker": "bm25", "order": "score"}, cut=ODDS)
    return save(tmp_path / "mine", made, {})


def stage_names(system):
    return [repr(stage).split("(")[0] for stage in system.stage.stages]


def test_a_system_by_its_name_or_a_folder(folder):
    """One door for both; the folder's cut stands where its truncator would."""
    llm = ScriptedLLM(lambda _: "[1]")

    assert ["Sentences", "Extract", "BM25", "Cut", "Order"] == stage_names(build(str(folder), llm))
    assert ["TopK"] == stage_names(build("closed-book", llm))
    with pytest.raises(InputError, match=r"system must be one of .*finefilter, .* got 'no such'"):
        build("no such", llm)


def test_options_stand_in_for_what_the_folder_says(folder):
    """Ablations of a trained filter need no other folder."""
    llm = ScriptedLLM(lambda _: "[1]")
    changed = build(str(folder), llm, {"truncator": "none", "reranker": "cosine"})

    assert ["Sentences", "Extract", "Cosine", "Order"] == stage_names(changed)
    with pytest.raises(InputError, match="another extractor needs another truncator"):
        build(str(folder), llm, {"extractor": llm})
    with pytest.raises(InputError, match=r"min_keep of .* must be a whole number, got 'x'"):
        build(str(folder), llm, {"min_keep": "x"})
    with pytest.raises(InputError, match=r"options of .*mine are extractor, .*got 'colour'"):
        build(str(folder), llm, {"colour": "red"})


def test_models_of_a_folder_are_shared_as_asked(folder):
    """Each goes through the wrapper once."""
    seen = []

    def share(model):
        seen.append(model)
        return model

    load(folder, share=share)

    assert ["echo"] == [unwrap(model).identity for model in seen]


def test_what_a_folder_holds_is_its_identity(folder):
    """Not where it lies, and another cut is another filter."""
    before = identity(str(folder))
    copied = folder.rename(folder.parent / "copied")
    moved = identity(str(copied)).partition("@")[2]
    values = json.loads((copied / "filter.json").read_text())
    (copied / "filter.json").write_text(json.dumps({**values, "cut": {**ODDS, "price": 0.3}}))

    assert before == f"mine@{moved}"
    assert moved not in identity(str(copied))
