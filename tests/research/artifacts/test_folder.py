"""Recipe and folder of a trained filter: what is read, written, refused and pushed."""

import json
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import HfApi
from huggingface_hub.utils import filter_repo_objects
from msgspec.structs import replace

from ragsieve.errors import InputError, StoreError
from ragsieve_research.artifacts.folder import push_to_hub, read, save
from ragsieve_research.artifacts.recipe import MAX_BYTES, Base, Trained, TrainedPart, read_json

PLAIN = Trained(generator=Base("smollm2"), embedder=Base("minilm"))
ROLES = ("extractor", "reranker", "truncator")
ADAPTER = ("adapter_config.json", "adapter_model.safetensors")
NOISE = (
    *("optimizer.pt", "training_args.bin", "adapter_model.bin", "modeling_x.py", ".cache/x.json"),
    *("trainer_state.json", "checkpoint-9/adapter_model.safetensors", "sub/rng_state.pth"),
)


@dataclass
class Hub:
    """Takes what `HfApi` takes, and keeps which files it would have uploaded."""

    files: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)

    def create_repo(self, repo_id, **options):
        self.calls.append(options)
        return SimpleNamespace(repo_id=repo_id)

    def upload_folder(self, *, folder_path, allow_patterns, **_):
        root = Path(folder_path)
        there = [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()]
        self.files += sorted(filter_repo_objects(there, allow_patterns=allow_patterns))


def names(folder):
    """Every file below a folder."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def noisy(folder):
    """A folder with what training and others leave behind."""
    for name in NOISE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    (folder / "linked.json").symlink_to(folder / "adapter_config.json")
    return folder


def test_what_is_saved_is_read_again(tmp_path, whole, adapter):
    """The recipe as it was, of noisy parts the adapters alone; parts may be missing, or null."""
    folder = save(tmp_path / "new" / "f", whole, {role: noisy(adapter(role)) for role in ROLES})

    assert whole == read(folder)
    assert sorted(
        ["README.md", "filter.json", *(f"{role}/{name}" for role in ROLES for name in ADAPTER)]
    ) == names(folder)
    assert [folder] == [*folder.parent.iterdir()]

    assert whole == Trained.parse(json.loads(json.dumps(whole.to_dict())))

    nulls = dict.fromkeys(["extractor", "reranker", "truncator", "split"])

    assert Trained(generator=Base("smollm2"), embedder=Base("minilm")) == Trained.parse(FIELDS)
    assert Trained.parse(FIELDS) == Trained.parse({**FIELDS, **nulls})


def test_what_is_of_this_machine_is_not_shared(tmp_path, adapter):
    """A base is named as the hub has it; a filter whose model lies here alone is not pushed."""
    part = TrainedPart("llm", "smollm2", "extractor")
    folder = save(tmp_path / "f", replace(PLAIN, extractor=part), {"extractor": adapter("a")})
    values = json.loads((folder / "extractor" / "adapter_config.json").read_text())

    assert "HuggingFaceTB/SmolLM2-135M-Instruct" == values["base_model_name_or_path"]

    trained = replace(PLAIN, generator=Base(f"transformers:{tmp_path / 'llama'}"))
    folder = save(tmp_path / "f", trained, {})
    with pytest.raises(InputError, match="a shared filter must name models of the hub, got"):
        push_to_hub(folder, "me/f", api=Hub())


def test_an_older_filter_is_replaced_whole(tmp_path, adapter):
    """Nothing of it stays, and parts may come out of it."""
    extractor, truncator = (TrainedPart("llm", "smollm2", name) for name in ("a", "truncator"))
    old = replace(PLAIN, extractor=extractor, truncator=truncator)
    folder = save(tmp_path / "f", old, {"a": adapter("a"), "truncator": adapter("t")})
    save(folder, replace(PLAIN, extractor=TrainedPart("llm", "smollm2", "b")), {"b": folder / "a"})

    assert ["README.md", "b", "filter.json"] == sorted(p.name for p in folder.iterdir())


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    """One that is no filter, one with more in it, a file, a link."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("x")
    save(tmp_path / "more", PLAIN, {})
    (tmp_path / "more" / "thesis.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "more")
    before = names(tmp_path)
    for name, words in {
        "home": "must be new or a trained filter",
        "more": "must hold nothing beside a trained filter, got 'thesis.txt'",
        "file": "must be a folder",
        "link": "must be a folder",
    }.items():
        with pytest.raises(InputError, match=words):
            save(tmp_path / name, PLAIN, {})

    assert before == names(tmp_path)


def test_nothing_is_written_if_anything_is_wrong(tmp_path, whole, adapter):
    """The older filter stays as it was, and no piece lies beside it."""
    folder = save(tmp_path / "x" / "f", PLAIN, {})
    parts = {role: adapter(role) for role in ROLES}
    (parts["truncator"] / ADAPTER[1]).rename(parts["truncator"] / "adapter_model.bin")
    for trained, given, words in (
        (whole, {}, "parts must be extractor, reranker, truncator, got none"),
        (PLAIN, {"x": tmp_path}, "parts must be none, got x"),
        (whole, parts, "part 'truncator' must hold adapter_model.safetensors"),
        (replace(PLAIN, figures={"auc": float("nan")}), {}, "values of finite JSON"),
        (replace(PLAIN, training={"log": "x" * (1 << 20)}), {}, "must have at most"),
    ):
        with pytest.raises(InputError, match=words):
            save(folder, trained, given)

    assert read(folder) == PLAIN
    assert [folder] == [*folder.parent.iterdir()]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ({"type": "sentence_transformers.models.Transformer", "path": ""}, None),
        ({"type": "sentence_transformers.base.modules.pooling.Pooling", "path": "1_Pool"}, None),
        ({"type": "modeling_x.Transformer", "path": ""}, "must be Transformer, Pooling or Norm"),
        ({"type": "sentence_transformers.models.Asym", "path": ""}, "must be Transformer, Pooling"),
        ({"type": "sentence_transformers.models.Pooling", "path": "../x"}, "must be a folder be"),
        ({"path": ""}, "type is missing"),
    ],
)
def test_a_reranker_may_be_a_whole_model_of_known_modules(tmp_path, module, words):
    """All its weights were tuned; classes that its modules name are imported."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "modules.json").write_text(json.dumps([module]))
    trained = replace(PLAIN, reranker=TrainedPart("embedder", "minilm", "reranker"))
    with pytest.raises(InputError, match=words) if words else nullcontext():
        save(tmp_path / "f", trained, {"reranker": tmp_path / "model"})

    assert (words is None) == (tmp_path / "f").exists()


def test_the_card_has_a_header_and_tables(tmp_path, whole, adapter):
    """The hub reads the header; people read figures, and what it is not good at."""
    yaml = pytest.importorskip("yaml")
    limits = ["Two hops | or\nmore."]
    parts = {role: adapter(role) for role in ROLES}
    text = (save(tmp_path / "f", whole, parts, limits=limits) / "README.md").read_text()
    _, header, body = text.split("---\n", 2)

    assert {
        "license": "apache-2.0",
        "library_name": "ragsieve",
        "base_model": [
            "HuggingFaceTB/SmolLM2-135M-Instruct",
            "sentence-transformers/all-MiniLM-L6-v2",
        ],
        "datasets": ["nq"],
        "tags": ["ragsieve", "finefilter", "rag", "context-compression"],
    } == yaml.safe_load(header)
    rows = {"| data | accuracy | tokens |", "| nq | 0.25 | 31 |", "| popqa | 0.5 |  |"}
    rows |= {"| auc | 0.9 |", "- Two hops \\| or more.", "| nq | 12 | CC BY-SA 3.0 |"}
    assert rows <= {*body.splitlines()}


def _linked(folder):
    (folder / "a").rename(folder.parent / "outside")
    (folder / "a").symlink_to(folder.parent / "outside")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "filter.json").unlink(), "must be a file, there is none"),
        (lambda f: (f / "a" / "adapter_model.safetensors").unlink(), "part 'a' must hold adapter"),
        (lambda f: (f / "a").rename(f / "b"), "part 'a' must be a folder, there is none"),
        (_linked, "part 'a' must lie in its filter's folder"),
    ],
)
def test_a_folder_that_is_no_filter_is_refused(tmp_path, adapter, spoil, words):
    """Neither read nor pushed; the line names the folder."""
    part = TrainedPart("llm", "smollm2", "a")
    folder = save(tmp_path / "f", replace(PLAIN, extractor=part), {"a": adapter("a")})
    spoil(folder)
    hub = Hub()
    for use in (read, lambda path: push_to_hub(path, "me/f", api=hub)):
        with pytest.raises(InputError, match=words) as caught:
            use(folder)

        assert str(folder) in str(caught.value)
    assert [] == hub.calls


LORA = "part 'extractor' must be a plain LoRA adapter"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"peft_type": "PROMPT_TUNING"}, LORA),
        ({"peft_type": None}, LORA),
        ({"megatron_config": {"a": 1}}, LORA),
        ({"layer_replication": [[0, 30]] * 99}, LORA),
        ({"r": 10**12}, r"'extractor'.r must be a whole number from 1 to 1024, got 10{12}$"),
        ({"r": 0}, "'extractor'.r must be a whole number from 1 to 1024, got 0"),
        ({"lora_alpha": -1}, "'extractor'.lora_alpha must be from 0 to 1000000, got -1"),
        ({"lora_alpha": 1e300}, "'extractor'.lora_alpha must be from 0 to 1000000, got 1e"),
        ({"lora_dropout": 2}, r"'extractor'.lora_dropout must be in \[0, 1\], got 2"),
        ({"rank_pattern": {"q": 10**9}}, "'extractor'.rank_pattern must be a whole"),
    ],
)
def test_only_plain_lora_of_numbers_in_range_is_loaded(tmp_path, adapter, changes, words):
    """Other kinds import modules and fetch tokenizers by names they hold; a rank of a million
    millions would take all memory before its weights are looked at."""
    part = TrainedPart("llm", "smollm2", "extractor")
    with pytest.raises(InputError, match=words):
        save(tmp_path / "f", replace(PLAIN, extractor=part), {"extractor": adapter("x", **changes)})


def test_exactly_what_belongs_to_a_filter_is_pushed(tmp_path, whole, adapter):
    """Whatever else lies in the folder by now; private unless said otherwise."""
    folder = save(tmp_path / "f", whole, {role: adapter(role) for role in ROLES})
    wanted = names(folder)
    for part in (folder, folder / "extractor"):
        noisy(part)
    (folder / "secret.json").write_text("{}")
    hub = Hub()
    push_to_hub(folder, "me/f", api=hub, token="t")
    push_to_hub(folder, "me/f", api=Hub(), private=False)

    assert wanted == hub.files
    assert [{"private": True, "token": "t", "exist_ok": True}] == hub.calls


def test_a_hub_that_cannot_be_reached_is_one_line(tmp_path):
    """Whatever library speaks HTTP, and a name that the hub does not take."""
    folder = save(tmp_path / "f", PLAIN, {})
    api = HfApi(endpoint="http://127.0.0.1:9", token="t")
    for name in ("me/f", "no good/name/at all"):
        with pytest.raises(StoreError, match=f"{name} could not be pushed to the hub: ") as caught:
            push_to_hub(folder, name, api=api)

        assert "\n" not in str(caught.value)


LLM = {"kind": "llm", "model": "smollm2", "adapter": "extractor"}
ODDS = {"weights": [[0.0], [1.0]], "bias": [0.0, 0.5], "price": 0.2}
FIELDS = {"format": 1, "system": "finefilter"}
FIELDS |= {"generator": {"model": "smollm2"}, "embedder": {"model": "minilm"}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "format must be 1"),
        ({"system": "chunkrag"}, "system must be one of finefilter, finefilter-one-pass, got"),
        ({"generator": {"model": "minilm"}}, "minilm is no LLM"),
        ({"generator": {"model": "smollm2", "sha256": "A" * 64}}, "generator.sha256 must be 64"),
        ({"extractor": {**LLM, "kind": "pickle"}}, "extractor.kind must be one of "),
        ({"extractor": {**LLM, "kind": "pair"}}, "smollm2 is no cross-encoder"),
        ({"extractor": {**LLM, "mode": "both"}}, "mode must be one of point, write, got"),
        ({"truncator": {"kind": "pruner", "model": "pruner"}}, "truncator.kind must be one of llm"),
        ({"reranker": {**LLM}}, "reranker.kind must be one of embedder, pair, got llm"),
        ({"truncator": LLM, "cut": ODDS}, "cut must be none where there is a trained truncator"),
        ({"options": {"llm": "x"}}, "options must be of extractor, min_keep, "),
        ({"options": {"reranker": "/etc/x"}}, "options.reranker has a wrong type or value"),
    ],
)
def test_what_breaks_a_rule_is_named(changes, words):
    """One line that says which field, the rule and what was found."""
    with pytest.raises(InputError) as caught:
        Trained.parse({**FIELDS, **changes})

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "folder", ["..", ".", "", "/etc", "../up", "a/b", "a\\b", "~", "C:", "x\n", "x" * 65, ".hidden"]
)
def test_a_part_stays_in_the_folder(folder):
    """A part folder is a plain name."""
    with pytest.raises(InputError, match="adapter must be a name without a path: "):
        Trained.parse({**FIELDS, "extractor": {**LLM, "adapter": folder}})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": NaN}', "must be JSON of UTF-8, of finite numbers"),
        ('{"a": -Infinity}', "finite numbers"),
        ('{"a": 1e999}', "Number out of range"),
        ("[" * 100_000, "must be JSON of UTF-8"),
        ('{"a": ' + "9" * 5000 + "}", "must be JSON of UTF-8"),
        ("not json", "must be JSON of UTF-8"),
        ('"\udcff"', "must be JSON of UTF-8"),
        ('"' + "a" * MAX_BYTES + '"', "must have at most 1048576 bytes"),
    ],
)
def test_hostile_json_is_an_input_error(tmp_path, text, words):
    """Not finite, nested too deep, too long, no text: one line, whatever it is."""
    file = tmp_path / "filter.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_json(file)

    assert words in str(caught.value)
    assert len(str(caught.value)) < 300
