"""Train a sentence pruner for many languages from multilingual-e5-small, by a moment of the clock.

    python experiments/pruner_languages.py data WORK --sets ../shared/train
    python experiments/pruner_languages.py cut WORK --encoder E5
    python experiments/pruner_languages.py train WORK --minutes 55
    python experiments/pruner_languages.py export WORK
    python experiments/pruner_languages.py calibrate WORK

``data`` writes WORK/train.jsonl and WORK/held.jsonl, in which no article is in both in any
language; ``cut`` writes WORK/encoder, the encoder with the word vectors of the pieces that these
texts use; ``train`` writes WORK/folder, and takes its weights up again after a kill; ``export``
writes WORK/int8, the folder that `ragsieve.models.pruner.Pruner` reads; ``calibrate`` gives it the
curve and the thresholds of its promises, by the last questions, which no training reads.
``experiments/pruner_languages_check.py`` measures.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from pruner_passages import place, read, record
from pruner_train import Lines
from safetensors.torch import load_file, save_file

from ragsieve.models.pruner import SETTINGS
from ragsieve.models.windows import Layout, WindowTokenizer
from ragsieve.text import language
from ragsieve_research.train.export import export
from ragsieve_research.train.promises import recalibrated, thresholds
from ragsieve_research.train.pruner import PrunerNet, _encoder
from ragsieve_research.train.pruner_samples import Samples

Record = dict[str, Any]

OWN = {
    "jaquad": "ja", "squad_it": "it", "norquad": "no", "arcd": "ar", "iapp_thai": "th",
    "drcd": "zh", "cmrc2018": "zh", "heq": "he", "afriqa": "africa", "squad_es": "es",
}  # fmt: skip
ARTICLES = {
    "Ugonotti": "Huguenot", "Università di Chicago": "University of Chicago",
    "Universidad de Chicago": "University of Chicago", "Universidad": "University of Chicago",
    "Normandos": "Normans", "Conmutación de paquetes": "Packet switching",
}  # fmt: skip
"""Held-out articles of xquad under the titles that squad_it and squad_es give them."""
ENGLISH = {"hotpotqa_more": 0.6, "squad_train": 0.4}
"""Shares of the English third; squad_dev holds the articles of xquad, so it is left out."""
SHARES = {
    "zh": 7, "ja": 7, "ar": 6, "th": 6, "es": 5, "it": 5, "no": 5, "ru": 5, "de": 5, "hi": 6,
    "el": 3, "ro": 3, "tr": 3, "vi": 3, "he": 3, "africa": 5, "cross": 10, "en": 28,
}  # fmt: skip
READ = [
    "en", "ar", "arz", "ary", "zh", "wuu", "yue", "de", "el", "es", "ast", "gl", "he", "hi", "bh",
    "new", "it", "ja", "no", "nb", "nn", "da", "ro", "ru", "th", "tr", "vi",
]  # fmt: skip
"""As a language is recognised: some are taken for their neighbours in a short question."""
MEASURED = (
    "zh",
    "ja",
    "ar",
    "th",
    "es",
    "it",
    "no",
    "ru",
    "de",
    "hi",
    "el",
    "ro",
    "tr",
    "vi",
    "he",
)
HELD_OUT = 20  # of 100 articles
NONE = 0.08  # of the questions: their gold passage is left out
LATIN = ("de", "es", "it", "no", "nb", "ro", "tr", "vi")
CALIBRATED = 2_000  # questions at the end, which no training reads
MOST = 200  # of each kind
LAYOUT = Layout(size=192, question=48, title=16, context=32)
PIECES = 60_000
FROZEN = 4  # layers


def held(name: str, passage: Record) -> bool:
    """Whether a passage's article is held out, whatever its language."""
    title = " ".join((passage["title"] or passage["group"]).split())
    if name not in ("xquad", "squad_it", "squad_es"):
        return place(f"{name} {title}") < HELD_OUT
    return place(f"squad article {ARTICLES.get(title, title)}") < HELD_OUT


def asked(name: str, folder: Path, chance: random.Random) -> Iterator[tuple[str, bool, Record]]:
    """Language, whether it is held out, and a question with its passage and three or four others.

    Two of the same article where it has them, the rest from the same set, language and part.
    """
    passages = {p["id"]: p for p in read(folder / f"{name}.passages.jsonl.gz")}
    tongue = {i: OWN.get(name) or language(p["text"]) for i, p in passages.items()}
    part = {i: (tongue[i], held(name, p)) for i, p in passages.items()}
    pools, articles = defaultdict(list), defaultdict(list)
    for i, passage in passages.items():
        pools[part[i]].append(i)
        articles[(passage["group"], *part[i])].append(i)
    for question in read(folder / f"{name}.questions.jsonl.gz"):
        gold = {e["passage"]: e["spans"] for e in question["evidence"]}
        own = ([*gold] or question["passages"])[:1]
        near = articles[(passages[own[0]]["group"], *part[own[0]])]
        near, far = chance.sample(near, min(len(near), 3)), pools[part[own[0]]]
        others = dict.fromkeys([*near, *chance.sample(far, min(len(far), 6))])
        known = {*own, *gold, *question["passages"]}
        ids = [*own, *[i for i in others if i not in known][:3]]
        yield (*part[own[0]], made(name, question, [passages[i] for i in ids], gold))


def made(name: str, question: Record, passages: Sequence[Record], gold: Any) -> Record:
    documents = [
        {**{k: p[k] for k in ("id", "title", "text")}, "evidence": gold.get(p["id"], [])}
        for p in passages
    ]
    return record(f"{name}:{question['id']}", question["question"], question["answers"], documents)


def english(name: str, folder: Path, chance: random.Random, most: int) -> Iterator[Record]:
    """Questions with their passages, those of one passage with others of the set."""
    passages = {p["id"]: p for p in read(folder / f"{name}.passages.jsonl.gz")}
    questions, ids = read(folder / f"{name}.questions.jsonl.gz"), [*passages]
    for question in chance.sample(questions, min(most, len(questions))):
        gold = {e["passage"]: e["spans"] for e in question["evidence"]}
        own = question["passages"] if len(question["passages"]) > 2 else [*gold]
        others = [] if len(own) > 2 else chance.sample(ids, 3)
        chosen = [passages[i] for i in dict.fromkeys([*own, *others])]
        yield made(name, question, chosen, gold)


def crossed(records: Sequence[tuple[str, bool, Record]], chance: random.Random) -> Iterator[Any]:
    """Questions of xquad in one language over the passages of another, where both can be lined up.

    An article has its paragraphs in one order in all languages, and they their questions; a
    question is taken where an article has as many of both in both.
    """
    by_article: dict[Any, Any] = defaultdict(lambda: defaultdict(list))
    for tongue, part, one in records:
        by_article[(one["documents"][0]["title"], part)][tongue].append(one)
    for (_, part), tongues in by_article.items():
        for tongue, own in tongues.items():
            alike = [
                t for t, some in tongues.items() if t != tongue and _shape(some) == _shape(own)
            ]
            for n, one in enumerate(own):
                if alike:
                    other = tongues[chance.choice(alike)][n]
                    yield "cross", part, {**other, "id": one["id"], "question": one["question"]}


def _shape(records: Sequence[Record]) -> list[int]:
    return [*Counter(one["documents"][0]["id"] for one in records).values()]


def data(work: Path, sets: Path, count: int, most: int) -> None:
    """Write what is learned from and what is held out."""
    chance = random.Random(0)
    learned, kept = defaultdict[str, list[Record]](list), defaultdict[str, list[Record]](list)
    translated = [*asked("xquad", sets, chance)]
    found = [*translated, *crossed(translated, chance)]
    for name in OWN:
        found += asked(name, sets, chance)
    for tongue, part, one in found:
        (kept if part else learned)[tongue].append(one)
    for name, share in ENGLISH.items():
        learned["en"] += english(name, sets, chance, int(count * share))
    turns = {t: chance.sample(some, len(some)) for t, some in learned.items()}
    work.mkdir(parents=True, exist_ok=True)
    with (work / "train.jsonl").open("w", encoding="utf-8") as lines:
        for n in range(count):
            (tongue,) = chance.choices([*SHARES], weights=[*SHARES.values()])
            one = turns[tongue][n % len(turns[tongue])]
            if chance.random() < NONE and len(one["documents"]) > 2:
                others = [d for d in one["documents"] if not d["evidence"]]
                one = {**one, "answers": [], "documents": others}
            lines.write(json.dumps(one, ensure_ascii=False) + "\n")
    with (work / "held.jsonl").open("w", encoding="utf-8") as lines:
        for tongue in (*MEASURED, "cross"):
            some = [one for one in kept[tongue] if one["documents"][0]["evidence"]]
            print(f"{tongue}: {len(learned[tongue])} to learn from, {len(some)} held out")
            for one in chance.sample(some, min(most, len(some))):
                lines.write(json.dumps({**one, "language": tongue}, ensure_ascii=False) + "\n")


def cut(work: Path, encoder: Path) -> None:
    """Write the encoder with the word vectors of the pieces that the texts use most."""
    target = work / "encoder"
    target.mkdir(exist_ok=True)
    told = json.loads((encoder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer = WindowTokenizer.read(encoder / "tokenizer.json").tokenizer
    used: Counter[int] = Counter()
    for name in ("train", "held"):
        texts = {d["text"] for one in Lines(work / f"{name}.jsonl") for d in one["documents"]}
        texts |= {one["question"] for one in Lines(work / f"{name}.jsonl")}
        for encoding in tokenizer.encode_batch_fast(sorted(texts), add_special_tokens=False):
            used.update(encoding.ids)
    vocabulary = told["model"]["vocab"]
    control = {one["id"] for one in told["added_tokens"]}
    control |= {n for n, (piece, _) in enumerate(vocabulary) if piece == "▁"}
    often = [n for n, _ in used.most_common() if n not in control]
    letters = [n for n, (piece, _) in enumerate(vocabulary) if len(piece) == 1]
    ranked = [*control, *dict.fromkeys([*often, *letters])]
    chosen = sorted(dict.fromkeys(ranked[:PIECES]))
    told["model"]["vocab"] = [vocabulary[n] for n in chosen]
    (target / "tokenizer.json").write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
    shutil.copyfile(encoder / "tokenizer_config.json", target / "tokenizer_config.json")
    weights = load_file(encoder / "model.safetensors")
    rows = next(name for name in weights if name.endswith("word_embeddings.weight"))
    weights[rows] = weights[rows][chosen].clone()
    types = next(name for name in weights if name.endswith("token_type_embeddings.weight"))
    weights[types][1] = weights[types][0]  # it has learned no second type
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((encoder / "config.json").read_text())
    (target / "config.json").write_text(json.dumps({**config, "vocab_size": len(chosen)}, indent=1))
    print(f"{len(chosen)} of {len(vocabulary)} pieces; the texts use {len(used)}")


def train(work: Path, minutes: float, batch: int, height: float, first: int) -> None:
    """Read questions until the time is over; the rate warms up and falls to zero by it."""
    torch.manual_seed(0)
    begun = work / "folder" / "model.safetensors"
    own = _encoder(str(work / ("folder" if begun.is_file() else "encoder")))
    own.bert.embeddings.requires_grad_(False)
    own.bert.encoder.layer[:FROZEN].requires_grad_(False)
    net = PrunerNet(own, own.config.pad_token_id)
    head = [*own.classifier.parameters()]
    body = [p for p in own.bert.parameters() if p.requires_grad]
    groups = [{"params": body, "lr": height}, {"params": head, "lr": 10 * height}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    heights = [height, 10 * height]
    samples = Samples(WindowTokenizer.read(work / "encoder" / "tokenizer.json", LAYOUT))
    records, start, tokens, losses = Lines(work / "train.jsonl"), time.monotonic(), 0, []
    count = len(records) - CALIBRATED
    saved, turn = start, first
    while (spent := (time.monotonic() - start) / (60 * minutes)) < 1:
        some = [samples.of(records[n % count], n) for n in range(turn, turn + batch)]
        turn += batch
        for group, highest in zip(optimizer.param_groups, heights, strict=True):
            group["lr"] = highest * min(1, spent / 0.06) * (1 - spent)
        loss = net([s for s in some if s.labels])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*body, *head], 1.0)
        optimizer.step()
        tokens += sum(len(w.ids) for s in some for w in s.windows)
        losses.append(loss.item())
        if turn % (10 * batch) == 0:
            now = time.monotonic()
            mean = sum(losses[-50:]) / len(losses[-50:])
            print(f"{turn} {tokens / (now - start):.0f}/s {tokens} {mean:.3f}", flush=True)
            if now - saved > 180:
                own.save_pretrained(work / "folder")
                saved = now
    own.save_pretrained(work / "folder")
    print(f"{turn} questions, {tokens} tokens", flush=True)


def shrunk(work: Path) -> None:
    """Write the folder in int8, with ranges of activations measured on a few windows."""
    source = work / "folder"
    shutil.copyfile(work / "encoder" / "tokenizer.json", source / "tokenizer.json")
    samples = Samples(WindowTokenizer.read(source / "tokenizer.json", LAYOUT), seed=None)
    records = Lines(work / "train.jsonl")
    windows = [w for n in range(48) for w in samples.of(records[n]).windows[:1]]
    export(source, work / "int8", layout=LAYOUT, windows=windows)


def calibrate(work: Path) -> None:
    """Give WORK/int8 its curve and its thresholds; a promise holds in each kind of questions."""
    groups: dict[str, list[Record]] = defaultdict(list)
    records = Lines(work / "train.jsonl")
    for n in range(len(records) - CALIBRATED, len(records)):
        if (kind := kind_of(records[n])) and len(groups[kind]) < MOST:
            groups[kind].append(records[n])
    found = recalibrated(work / "int8", groups)
    file = work / "int8" / SETTINGS
    answered = {kind: sum(bool(q.holds.any()) for q in some) for kind, some in found.items()}
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings |= {"thresholds": thresholds(found), "calibrated_on": answered, "languages": READ}
    file.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def kind_of(record: Record) -> str:
    """By the languages of question and first document; empty for English alone."""
    asked, told = language(record["question"]), language(record["documents"][0]["text"])
    if asked == told == "en":
        return ""
    if asked != told:
        return "question in another language"
    return "Latin letters" if told in LATIN else "other letters"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["data", "cut", "train", "export", "calibrate"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", type=Path, help="folder of annotated sets")
    parser.add_argument("--encoder", type=Path, help="folder of multilingual-e5-small")
    parser.add_argument("--count", type=int, default=12_000, help="questions to learn from")
    parser.add_argument("--most", type=int, default=60, help="held-out questions of a language")
    parser.add_argument("--minutes", type=float, default=55, help="that the training takes")
    parser.add_argument("--learning-rate", type=float, default=1e-4, help="at its height")
    parser.add_argument("--first", type=int, default=0, help="question with which it begins")
    options = parser.parse_args()
    if options.step == "data":
        data(options.work, options.sets, options.count, options.most)
    elif options.step == "cut":
        cut(options.work, options.encoder)
    elif options.step == "train":
        train(options.work, options.minutes, 4, options.learning_rate, options.first)
    elif options.step == "export":
        shrunk(options.work)
    else:
        calibrate(options.work)


if __name__ == "__main__":
    main()
