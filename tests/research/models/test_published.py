"""Weights as they are published: pickles become safetensors, and say what their authors' do."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer
from tokenizers.models import Unigram

from ragsieve import Document, ModelError, Query, Segment, models
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.prompts import render
from ragsieve.systems import build
from ragsieve.trace import step
from ragsieve_research.models.convert import to_safetensors
from ragsieve_research.models.sentence_transformers import CRAGEvaluator, DotProduct
from ragsieve_research.score.helpful import Helpful
from ragsieve_research.systems.crag import PAPER, crag
from tests.research.artifacts.test_trained import Bomb
from tests.tiny import save_t5

TEXT = "the a cat dog river town runs sleeps through old paris is capital of france who sang it"
WORDS = TEXT.split()
QUESTION = "who sang it"
TEXTS = ["the old river runs through the town", "a dog sleeps", "paris is the capital of france"]


def pickled(folder, model, **config):
    """Write the weights as ``.bin``, as transformers 4 did, and change the configuration."""
    said = {**model.config.to_dict(), "architectures": [type(model).__name__], **config}
    (folder / "config.json").write_text(json.dumps(said))
    (folder / "model.safetensors").unlink(missing_ok=True)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    return folder


def t5(folder, kind, **options):
    """A tiny T5 of random weights, and a Unigram tokenizer beside it."""
    marks = [(mark, -4.0) for mark in ("▁", ":", "?", "Q", "D", "S")]
    save_t5(folder, [*marks, *((f"▁{word}", -2.0) for word in WORDS)], model_max_length=32)
    config = transformers.T5Config.from_pretrained(folder, **options)
    return getattr(transformers, kind)(config).eval()


def test_pickles_are_not_read_without_the_command(tmp_path):
    """The error is one line."""
    pickled(tmp_path, t5(tmp_path, "T5ForSequenceClassification", num_labels=1))
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        CRAGEvaluator(str(tmp_path)).score([("a", "b")])

    assert "\n" not in str(caught.value)


def test_recomps_extractive_compressor(tmp_path, make_encoder):
    """Contriever: the mean of the tokens' last states, and the inner product, no unit length."""
    folder = make_encoder(WORDS, 32)
    bert = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)
    pickled(folder, bert, architectures=["Contriever"])
    to_safetensors(folder)
    read = transformers.AutoTokenizer.from_pretrained(folder)
    inputs = read([QUESTION, *TEXTS], padding=True, truncation=True, return_tensors="pt")
    mask = inputs["attention_mask"]
    with torch.no_grad():
        states = bert(**inputs)[0].masked_fill(~mask[..., None].bool(), 0.0)
    means = states.sum(1) / mask.sum(1)[..., None]
    expected = [float(means[0] @ mean) for mean in means[1:]]
    with step("score") as record:
        found = DotProduct(str(folder)).score([(QUESTION, text) for text in TEXTS])

    assert expected == pytest.approx(found.tolist(), abs=1e-4)
    assert [int(n) for n in mask.sum(1)[1:] + mask[0].sum()] == [u.tokens_in for u in record.usages]
    assert (0,) == models.load(f"dot:{folder}").score([]).shape
    lengths = np.linalg.norm(means.numpy(), axis=1)
    assert not np.allclose(lengths, 1, atol=0.1)  # else a cosine would do


def test_recomps_abstractive_compressor(tmp_path):
    """A T5 that writes greedily behind "Question: … Document: … Summary:"."""
    writer = t5(tmp_path, "T5ForConditionalGeneration")
    to_safetensors(pickled(tmp_path, writer))
    prompt = render("recomp", question=QUESTION, documents=TEXTS[0])
    read = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ids = read(prompt[0].content, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        (reply,) = writer.generate(ids, max_new_tokens=8, do_sample=False)
    llm = models.load(f"seq2seq:{tmp_path}", dtype="float32")

    assert read.decode(reply, skip_special_tokens=True) == llm.complete([prompt], max_tokens=8)[0]
    assert f"Question: {QUESTION}\nDocument: {TEXTS[0]}\nSummary:" == prompt[0].content


def test_crags_evaluator(tmp_path):
    """A T5 for classification reads "question [SEP] text", padded, and its one output counts."""
    t5_large = t5(tmp_path, "T5ForSequenceClassification", num_labels=1)
    to_safetensors(pickled(tmp_path, t5_large))
    read = transformers.AutoTokenizer.from_pretrained(tmp_path)
    expected = []
    for text in TEXTS:
        row = read(
            f"{QUESTION} [SEP] {text}",
            return_tensors="pt", padding="max_length", max_length=32, truncation=True,
        )  # fmt: skip
        with torch.no_grad():
            out = t5_large(row["input_ids"], attention_mask=row["attention_mask"])
        expected.append(float(out.logits))
    evaluator = CRAGEvaluator(str(tmp_path))
    found = evaluator.score([(QUESTION, text) for text in TEXTS])

    assert expected == pytest.approx(found.tolist(), abs=1e-4)
    assert 1e-3 < np.ptp(found)
    assert models.load(f"crag:{tmp_path}").identity == evaluator.identity
    assert evaluator.identity != models.load(f"cross_encoder:{tmp_path}").identity
    judged = crag(
        ScriptedLLM(lambda _: "x"), HashingEmbedder(), evaluator=evaluator, **PAPER._asdict()
    )
    lines = [line for one in judged(QUESTION, TEXTS).trace.steps for line in one.messages]
    assert any(f"the best of 3 scores {max(expected):.3f}" in line for line in lines)


def test_a_tokenizer_of_sentencepiece_alone_is_read(tmp_path):
    """As CRAG's code saves it: ``spiece.model``, and no ``tokenizer.json``."""
    made = pytest.importorskip("sentencepiece.sentencepiece_model_pb2").ModelProto()
    t5_large = t5(tmp_path, "T5ForSequenceClassification", num_labels=1)
    to_safetensors(pickled(tmp_path, t5_large))
    pairs = [(QUESTION, text) for text in TEXTS]
    expected = CRAGEvaluator(str(tmp_path)).score(pairs)
    inside = json.loads((tmp_path / "tokenizer.json").read_text())["model"]
    for n, (piece, score) in enumerate(inside["vocab"]):
        made.pieces.add(piece=piece, score=score, type=(3, 3, 2)[n] if n < 3 else 1)
    made.trainer_spec.model_type, made.trainer_spec.unk_id = 1, 2
    (tmp_path / "spiece.model").write_bytes(made.SerializeToString())
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "T5Tokenizer", "extra_ids": 0, "model_max_length": 32})
    )

    assert expected.tolist() == pytest.approx(CRAGEvaluator(str(tmp_path)).score(pairs), abs=1e-5)


def test_exits_adapter(tmp_path):
    """Gemma with a LoRA adapter, both named in one line; Yes against No behind its own prompt."""
    peft = pytest.importorskip("peft")
    marks = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    pieces = [*marks, "\n", *map(chr, range(32, 127)), "Yes", "No"]
    made = Tokenizer(Unigram([(piece, -float(len(piece) == 1)) for piece in pieces], unk_id=3))
    made.add_special_tokens(marks)
    turns = "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ m.role }}\n"
    turns += "{{ m.content | trim }}<end_of_turn>\n{% endfor %}"
    turns += "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
    read = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>",
        chat_template=turns,
    )  # fmt: skip
    base, adapter = tmp_path / "base", tmp_path / "adapter"
    read.save_pretrained(base)
    config = transformers.GemmaConfig(
        vocab_size=len(read), hidden_size=16, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, max_position_embeddings=1024,
        initializer_range=0.5,
    )  # fmt: skip
    torch.manual_seed(0)
    gemma = transformers.GemmaForCausalLM(config).eval()
    gemma.save_pretrained(base)
    lora = peft.LoraConfig(target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    tuned = peft.get_peft_model(gemma, lora).eval()
    tuned.save_pretrained(adapter)
    prompt = (
        f"<bos><start_of_turn>user\nQuery:\n{QUESTION}\nFull context:\nSongs\n{TEXTS[0]}\n"
        f"Sentence:\n{TEXTS[0]}\nIs this sentence useful in answering the query? "
        'Answer only "Yes" or "No".<end_of_turn>\n<start_of_turn>model\n'
    )
    ids = read(prompt, add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logits = tuned(ids)[0]
    expected = logits[0, -1, read.convert_tokens_to_ids(["Yes", "No"])].softmax(-1)[0]
    llm = models.load(f"transformers:{base}+{adapter}", dtype="float32", device="cpu")
    document = Segment.whole(Document("song", TEXTS[0], "Songs"))
    (scored,) = Helpful(llm, wording="published")(Query(QUESTION), [document])

    assert float(expected) == pytest.approx(scored.score, abs=1e-4)
    assert (str(base), str(adapter)) == (llm.model, llm.adapter)
    system = build("exit", llm, options={"wording": "published", "min_score": 0})
    assert [TEXTS[0]] == [s.text for s in system(QUESTION, [TEXTS[0]]).kept]


@pytest.mark.parametrize("name", ["model", "adapter_model"])
def test_one_file_becomes_one_file(name, tmp_path):
    """Tied, transposed and half-precise tensors, too; the pickle stays."""
    pickled = f"{name}.bin" if name == "adapter_model" else f"pytorch_{name}.bin"
    shared = torch.arange(6.0).reshape(2, 3)
    tensors = {"a": shared, "b": shared, "c": shared.T, "d": shared.half()}
    torch.save(tensors, tmp_path / pickled)
    (file,) = to_safetensors(tmp_path)
    found = load_file(file)

    assert f"{name}.safetensors" == file.name
    assert tensors.keys() == found.keys()
    assert all(torch.equal(tensors[name], found[name]) for name in tensors)
    assert {file.name, pickled} == {f.name for f in tmp_path.iterdir()}


def test_shards_become_shards(tmp_path):
    """With an index of the new names."""
    for n, name in enumerate("ab", 1):
        torch.save({name: torch.ones(n)}, tmp_path / f"pytorch_model-{n:05}-of-00002.bin")
    names = {name: f"pytorch_model-{n:05}-of-00002.bin" for n, name in enumerate("ab", 1)}
    index = {"metadata": {"total_size": 12}, "weight_map": names}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    *shards, listed = to_safetensors(tmp_path)
    new = json.loads(listed.read_text())

    assert {"total_size": 12} == new["metadata"]
    assert [1, 2] == [
        load_file(shard)[name].numel() for name, shard in zip("ab", shards, strict=True)
    ]
    assert [shard.name for shard in shards] == [*new["weight_map"].values()]
    assert "model-00001-of-00002.safetensors" == shards[0].name


@pytest.mark.parametrize("form", ["zip", "old", "pickle"])
def test_a_pickle_that_runs_code_is_refused(form, tmp_path):
    """In one line, nothing run and nothing written."""
    mark, file = tmp_path / "ran", tmp_path / "pytorch_model.bin"
    if form == "pickle":
        file.write_bytes(pickle.dumps({"a": Bomb(mark)}))
    else:
        torch.save({"a": Bomb(mark)}, file, _use_new_zipfile_serialization=form == "zip")
    with pytest.raises(ModelError, match="more than tensors") as caught:
        to_safetensors(tmp_path)

    assert "\n" not in str(caught.value)
    assert [file] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read|more than tensors"),
        (b"not a pickle", "cannot be read|more than tensors"),
        ([1, 2], "must hold tensors by name, got list"),
        ({"a": 1}, "must hold tensors by name, got dict"),
    ],
)
def test_what_is_no_weights_is_an_error(content, message, tmp_path):
    """In one line that names the file."""
    file = tmp_path / "pytorch_model.bin"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        torch.save(content, file)
    with pytest.raises(ModelError, match=f"^{file.name} .*({message})"):
        to_safetensors(tmp_path)

    assert [file] == [*tmp_path.iterdir()]


@pytest.mark.parametrize("named", ["../x.bin", "/etc/x.bin", "x.safetensors", 1])
def test_an_index_names_files_of_its_folder(named, tmp_path):
    """Nothing outside is read or written."""
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": {"a": named}}))
    with pytest.raises(ModelError, match=r"must name \.bin files of the folder"):
        to_safetensors(tmp_path)


@pytest.mark.slow
def test_the_command_prints_what_it_wrote(tmp_path):
    """And refuses with one line and exit code 1."""
    run = [sys.executable, "-m", "ragsieve", "models", "convert", str(tmp_path)]
    torch.save({"a": torch.ones(1)}, tmp_path / "pytorch_model.bin")
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    (tmp_path / "model.safetensors").unlink()
    torch.save({"a": Bomb(tmp_path / "ran")}, tmp_path / "pytorch_model.bin")
    refused = subprocess.run(run, capture_output=True, text=True, timeout=120)

    assert (0, f"{tmp_path / 'model.safetensors'}\n") == (done.returncode, done.stdout)
    assert 1 == refused.returncode
    assert refused.stderr.startswith("error: pytorch_model.bin holds more than tensors")
    assert 1 == refused.stderr.count("\n")
    assert not (tmp_path / "ran").exists()
