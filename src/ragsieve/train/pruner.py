"""Training of a sentence pruner: one encoder over question and passage, two logits a token.

Channel 0 of a token says whether its sentence is kept (the mean over the sentence's tokens counts),
channel 1 of the first token whether the passage answers. The checkpoint is an ordinary one of
transformers for token classification.

WORK/checkpoint     the last one: weights, optimizer, and how many steps it has seen
WORK/log.jsonl      loss, learning rate and tokens a second, every `LOG_STEPS` steps
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

try:
    import accelerate
    import torch
    import transformers
    from torch.nn import functional
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "transformers", extra="train") from error

from ragsieve import split
from ragsieve.errors import InputError
from ragsieve.models import store
from ragsieve.models.base import Passage
from ragsieve.models.loading import fetched, loaded
from ragsieve.models.windows import Layout, Window, WindowTokenizer
from ragsieve.text import normalise
from ragsieve.types import Document, Query, Segment

WINDOWS = 3  # of one question that a step reads, at most; two of them may hold evidence
TOGETHER = {"cpu": 4}  # windows that are computed together; more take longer on a CPU
SAVE_STEPS, LOG_STEPS = 100, 20
IGNORED = -1.0  # label of a sentence that may answer, which nobody marked


class Sample(NamedTuple):
    """Windows of one question, and the labels of the sentences in them.

    Args:
        windows: Token ids; spans are numbered through all windows.
        labels: 1 for evidence, 0 for others, -1 for what is not known, ``(n_sentences,)``.
        holds: Of each window whether it holds evidence, in the same way, ``(n_windows,)``.
    """

    windows: list[Window]
    labels: list[float]
    holds: list[float]


@dataclass(frozen=True)
class Samples:
    """Makes samples of questions, each time with other augmentations.

    Args:
        tokenizer: Turns texts into windows.
        seed: Of all chance; None reads everything as it stands.
    """

    tokenizer: WindowTokenizer
    seed: int | None = 0

    def of(self, record: Mapping[str, Any], turn: int = 0) -> Sample:
        """A question as it is read in its ``turn``-th place of the training."""
        chance = None if self.seed is None else random.Random(f"{self.seed} {turn}")
        question = reworded(record["question"], chance)
        found: list[tuple[Window, list[float]]] = []
        for (title, sentences), labels in labelled(_some(record, chance)):
            if chance and len(sentences) > 3 and chance.random() < 0.2:  # the lead moves
                first = chance.randrange(1, len(sentences) - 1)
                if 1.0 not in labels[:first]:
                    sentences, labels = sentences[first:], labels[first:]
            title = "" if chance and chance.random() < 0.3 else title
            windows = self.tokenizer.lay(question, [Passage(title, sentences)]).windows[0]
            found += ((window, [labels[n] for n, *_ in window.spans]) for window in windows)
        return self._chosen(found, chance)

    def _chosen(
        self, found: list[tuple[Window, list[float]]], chance: random.Random | None
    ) -> Sample:
        if chance:
            found = chance.sample(found, len(found))
            good = [item for item in found if 1.0 in item[1]][: (WINDOWS + 1) // 2]
            rest = [item for item in found if 1.0 not in item[1]][: WINDOWS - len(good)]
            found = [*good, *rest]
        sample = Sample([], [], [])
        for window, labels in found:
            first = len(sample.labels)
            spans = [s._replace(sentence=first + n) for n, s in enumerate(window.spans)]
            sample.windows.append(replace(window, spans=spans))
            sample.labels.extend(labels)
            sample.holds.append(1.0 if 1.0 in labels else min(labels, default=0.0))
        return sample


def _some(record: Mapping[str, Any], chance: random.Random | None) -> Mapping[str, Any]:
    """At most `WINDOWS` of the documents, those with marked evidence first, in random order."""
    documents = record["documents"]
    if chance is None:
        return record
    order = chance.sample(range(len(documents)), len(documents))
    good = [n for n in order if documents[n].get("evidence")]
    if not any("evidence" in document for document in documents):
        answers = [*map(normalise, record["answers"])]
        good = [n for n in order if any(a in normalise(documents[n]["text"]) for a in answers)]
    good = good[: (WINDOWS + 1) // 2]
    rest = [n for n in order if n not in good][: WINDOWS - len(good)]
    return {**record, "documents": [documents[n] for n in (*good, *rest)]}


def labelled(record: Mapping[str, Any]) -> Iterator[tuple[Passage, list[float]]]:
    """Documents as passages, and the labels of their sentences; none of one without text.

    Where evidence is marked it is 1 and all else 0, but a sentence that holds a gold answer, too,
    is ignored; where it is not, a sentence that holds a gold answer is evidence.
    """
    marked = any("evidence" in given for given in record["documents"])
    answers = gold_answers(record)
    repeated = IGNORED if marked else 1.0
    for given in record["documents"]:
        document = Document(given.get("id", ""), given["text"], title=given.get("title", ""))
        spans = given.get("evidence", [])
        labels, texts = [], []
        for sentence in split.Blocks()(Query(record["question"]), [Segment.whole(document)]):
            touched = any(a < sentence.end and sentence.start < b for a, b in spans)
            named = has_answer(sentence.text, answers)
            labels.append(1.0 if touched else repeated if named else 0.0)
            texts.append(sentence.text)
        if texts:
            yield Passage(document.title, texts), labels


def gold_answers(record: Mapping[str, Any]) -> list[str]:
    """Normalised gold answers that one can see in a text; yes and no are none."""
    answers = map(normalise, record.get("answers", []))
    return [a for a in answers if len(a) > 1 and a not in ("yes", "no")]


def has_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether one of `gold_answers` stands in a text, as whole words."""
    read = f" {normalise(text)} "
    return any(f" {answer} " in read for answer in answers)


def reworded(question: str, chance: random.Random | None) -> str:
    """The question as somebody else may type it."""
    if chance is None:
        return question
    if chance.random() < 0.4:
        question = question.rstrip("?").rstrip()
    if chance.random() < 0.4:
        question = question.lower()
    draw = chance.random()
    if draw < 0.03:
        return f"{chance.choice(('can you tell me', 'I would like to know:', 'hi,'))} {question}"
    return question


class Net(torch.nn.Module):
    """An encoder for token classification, with its loss."""

    def __init__(self, encoder: Any, padding: int) -> None:
        super().__init__()
        self.encoder, self.padding = encoder, padding

    def forward(self, samples: Sequence[Sample]) -> torch.Tensor:
        """Mean loss of the samples."""
        windows = [(n, at) for n, s in enumerate(samples) for at in range(len(s.windows))]
        windows.sort(key=lambda place: len(samples[place[0]].windows[place[1]].ids))
        sentences = [[torch.tensor(0.0)] * len(s.labels) for s in samples]
        passages: list[list[Any]] = [[None] * len(s.windows) for s in samples]
        together = TOGETHER.get(self.encoder.device.type, 64)
        for first in range(0, len(windows), together):
            part = windows[first : first + together]
            some = [samples[n].windows[at] for n, at in part]
            logits = self.logits(some)
            for row, (n, at), window in zip(logits, part, some, strict=True):
                passages[n][at] = row[0, 1]
                for place, start, end in window.spans:
                    if end > start:
                        sentences[n][place] = row[start:end, 0].mean()
        losses = [
            loss(torch.stack(a), torch.tensor(s.labels), torch.stack(b), torch.tensor(s.holds))
            for a, b, s in zip(sentences, passages, samples, strict=True)
        ]
        return torch.stack(losses).mean()

    def logits(self, windows: Sequence[Window]) -> torch.Tensor:
        """Of every token, ``(len(windows), longest, 2)``."""
        device = self.encoder.device
        size = max(len(w.ids) for w in windows)
        ids = [[*w.ids, *[self.padding] * (size - len(w.ids))] for w in windows]
        mask = [[1] * len(w.ids) + [0] * (size - len(w.ids)) for w in windows]
        types = [[*w.types, *[1] * (size - len(w.ids))] for w in windows]
        inputs = (torch.tensor(x, device=device) for x in (ids, mask, types))
        names = ("input_ids", "attention_mask", "token_type_ids")
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16_is_fast(device)):
            logits: torch.Tensor = self.encoder(**dict(zip(names, inputs, strict=True))).logits
        return logits.float()


def bfloat16_is_fast(device: torch.device) -> bool:
    """Whether products in bfloat16 take less time than in float32.

    A CPU without instructions for them takes 39 times as long (AVX2, 1024 x 384 by 384 x 1536).
    """
    if device.type != "cpu":
        return True
    cpu = torch.cpu
    return bool(cpu._is_amx_tile_supported() or cpu._is_avx512_bf16_supported())


def loss(
    sentences: torch.Tensor, labels: torch.Tensor, passages: torch.Tensor, holds: torch.Tensor
) -> torch.Tensor:
    """Evidence against the other sentences by softmax, plus cross-entropy of both logits."""
    labels, holds = labels.to(sentences.device), holds.to(sentences.device)
    good, other = sentences[labels == 1], sentences[labels == 0]
    total = 0.0 * passages.sum()  # there is a gradient, also where no label is known
    total = total + 0.5 * _crossed(passages[holds == 1], passages[holds == 0])
    total = total + _crossed(good, other)
    if len(good) and len(other):
        total = total + functional.softplus(other.logsumexp(0) - good).mean()
    return total


def _crossed(good: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Cross-entropy in which both labels count alike."""
    missed = functional.softplus(-good).mean() if len(good) else good.new_zeros(())
    wrong = functional.softplus(other).mean() if len(other) else other.new_zeros(())
    return 0.5 * (missed + wrong)


def rate(step: int, steps: int, height: float) -> float:
    """The learning rate: a warm-up, a plateau, and a linear fall over the last fifth."""
    fall = max(1, steps // 5)
    return height * min(1.0, (step + 1) / min(200, fall), max(0.0, (steps - step) / fall))


def train_pruner(
    folder: Path,
    records: Sequence[Mapping[str, Any]],
    *,
    work: Path,
    encoder: str = "minilm",
    batch: int = 4,
    learning_rate: float = 1e-4,
    steps: int | None = None,
    seed: int = 0,
    layout: Layout | None = None,
    on_progress: Callable[[int, int, float], object] | None = None,
) -> None:
    """Train a sentence pruner, and write its checkpoint to ``folder``.

    Several processes (``accelerate launch``) share the work. A run that was killed goes on from its
    last checkpoint; so does one that is given more ``steps``.

    Args:
        folder: Where the checkpoint is written when all is done.
        records: Questions in the order in which they are read, once where ``steps`` is None.
        work: Folder for checkpoints of this run, and of no other.
        encoder: A name, folder or hub id of a BERT-like encoder.
        batch: Questions a step and process; at least 1.
        learning_rate: At its height, over 0.
        steps: How many; as many as read every question once where None.
        seed: Of all chance.
        layout: Of windows; the default where None.
        on_progress: Told after each step: how many are done, how many there are, and the loss.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the encoder cannot be loaded.
    """
    if batch < 1:
        raise InputError(f"batch must be at least 1, got {batch!r}")
    helper = accelerate.Accelerator()
    transformers.set_seed(seed)
    own = _encoder(encoder)
    file = fetched(encoder, ["tokenizer.json"]) / "tokenizer.json"
    tokenizer = WindowTokenizer.read(file, layout)
    net = Net(own, own.config.pad_token_id or 0)
    learned = [w for w in net.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=learning_rate, weight_decay=0.01)
    start = _resume(work, net, optimizer)
    model, optimizer = helper.prepare(net, optimizer)
    many, rank = helper.num_processes, helper.process_index
    steps = steps or math.ceil(len(records) / (batch * many))
    samples = Samples(tokenizer, seed=seed)
    total, tokens, since = 0.0, 0, time.monotonic()
    for step in range(start, steps):
        first = (step * many + rank) * batch
        turns = range(first, first + batch)
        given = [s for n in turns if (s := samples.of(records[n % len(records)], n)).labels]
        _set_rate(optimizer, rate(step, steps, learning_rate))
        value = model(given)
        helper.backward(value)
        helper.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total += (latest := float(value.detach()))
        tokens += sum(len(w.ids) for s in given for w in s.windows)
        if on_progress:
            on_progress(step + 1, steps, latest)
        if helper.is_main_process and (step + 1) % LOG_STEPS == 0:
            speed = many * tokens / (time.monotonic() - since)
            _log(work, step + 1, total / LOG_STEPS, speed)
            total, tokens, since = 0.0, 0, time.monotonic()
        if helper.is_main_process and ((step + 1) % SAVE_STEPS == 0 or step + 1 == steps):
            _save(work, net, optimizer, step + 1)
    helper.wait_for_everyone()
    if helper.is_main_process:
        _publish(own, encoder, folder)


def _set_rate(optimizer: Any, value: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = value


def _publish(own: Any, name: str, folder: Path) -> None:
    """Write a checkpoint of transformers: the encoder as it is now, and its tokenizer."""
    loaded(name, own.save_pretrained, folder)
    load = transformers.PreTrainedTokenizerFast.from_pretrained
    loaded(name, load, str(store.resolve(name))).save_pretrained(folder)


def _encoder(name: str) -> Any:
    """The encoder with a new head of two logits a token; its embeddings do not learn."""
    load = transformers.AutoModelForTokenClassification.from_pretrained
    options = {
        "num_labels": 2,
        "id2label": {0: "KEEP", 1: "ANSWERS"},
        "label2id": {"KEEP": 0, "ANSWERS": 1},
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "attn_implementation": "eager",  # on a CPU its gradient takes half the time
        "use_safetensors": True,
    }
    own = loaded(name, load, str(store.resolve(name)), dtype=torch.float32, **options)
    own.get_input_embeddings().weight.requires_grad_(False)
    return own


def _log(work: Path, step: int, value: float, speed: float) -> None:
    row = {"step": step, "loss": round(value, 4), "tokens_per_second": round(speed)}
    with (work / "log.jsonl").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")


def _resume(work: Path, net: Net, optimizer: torch.optim.Optimizer) -> int:
    """Load the last checkpoint, if there is one; how many steps it has seen."""
    work.mkdir(parents=True, exist_ok=True)
    if not (file := work / "checkpoint").is_file():
        return 0
    state = torch.load(file, map_location="cpu", weights_only=True)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])


def _save(work: Path, net: Net, optimizer: Any, step: int) -> None:
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, work / "checkpoint.new")
    (work / "checkpoint.new").replace(work / "checkpoint")
