"""Local token classifiers, by transformers: LLMLingua-2's, or any with the labels drop and keep."""

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragsieve.errors import ModelError, needs_extra

with needs_extra("local"):
    import torch
    import transformers

from ragsieve.models.base import ClassifiedToken
from ragsieve.models.reopen import once
from ragsieve.text import safe
from ragsieve.trace import Usage, record_usage
from ragsieve_research.models import loading, store

PUBLISHED = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"
SIZE = 512  # tokens of a chunk with those around it, at most


@dataclass(frozen=True)
class LocalTokenClassifier(loading.BatchedModel):
    """An encoder with two labels a token: `ragsieve.models.base.TokenClassifier`.

    A text is read in chunks of at most 510 tokens, which end behind a full stop where there is one.
    A word begins behind white space and where the tokenizer parts words, and with each punctuation
    mark. A folder holds ``config.json``, ``tokenizer.json`` and ``model.safetensors``, as
    ``microsoft/llmlingua-2-xlm-roberta-large-meetingbank`` and
    ``microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank`` do. No code is run.

    Args:
        model: A folder, or a hub id.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: float32 on a CPU, else bfloat16.
        batch_tokens: Tokens, with those of padding, that are computed together at most.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded, or has other than two labels.

    Source: LLMLingua-2 (arXiv 2403.12968), section 4; chunks and words are those of the authors'
        code (llmlingua 0.2.2).
    Differs: A chunk's tokens are those of its text; the authors make a text of them and tokenize
        it again, and read one more than fits, whose end is cut. A control token that a text names
        is read as unknown. Not tried on the published weights.
    """

    model: str = PUBLISHED

    _files = ("config.json", "tokenizer*.json", "special_tokens_map.json", "model.safetensors")

    @once
    def identity(self) -> str:
        """Model, weights and precision: what probabilities depend on."""
        return f"token_classifier:{store.marked(self.model)}:{self.computed_dtype}"

    def classify(self, texts: Sequence[str]) -> list[list[ClassifiedToken]]:
        """See `ragsieve.models.base.TokenClassifier.classify`."""
        if not texts:
            return []
        shown = [safe(text) for text in texts]
        encodings = self.text_tokenizer.encode_batch(shown, add_special_tokens=False)
        rows = [self.rows(encoding) for encoding in encodings]
        keep = iter(loading.compute(self._run, [row for some in rows for row in some]))
        record_usage([Usage(self.identity, sum(map(len, some))) for some in rows])
        return [
            [*_classified(text, encoding, [p for _ in some for p in next(keep)])]
            for text, encoding, some in zip(texts, encodings, rows, strict=True)
        ]

    def rows(self, encoding: Any) -> list[list[int]]:
        """Token ids of a text's chunks, each between the tokens for start and end."""
        own = self.tokenizer
        ids = [own.unk_token_id if n in own.all_special_ids else n for n in encoding.ids]
        bounds = _chunks(encoding.tokens, self._size - 2)
        return [[own.cls_token_id, *ids[start:end], own.sep_token_id] for start, end in bounds]

    @torch.inference_mode()
    def _run(self, rows: Sequence[Sequence[int]]) -> list[list[float]]:
        """For each row the probability of the second label of all tokens but the outer two."""
        net = self.net
        pad = net.config.pad_token_id
        keep: dict[int, list[float]] = {}
        for places, ids, mask in loading.batches(rows, self.batch_tokens, pad, net.device):
            logits = net(input_ids=ids, attention_mask=mask).logits.float()  # (n, length, 2)
            for n, row in zip(places, logits.softmax(-1)[:, :, 1].tolist(), strict=True):
                keep[n] = row[1 : len(rows[n]) - 1]
        return [keep[n] for n in range(len(rows))]

    @once
    def tokenizer(self) -> Any:
        # not AutoTokenizer: it asks to run the code of a repository that has some
        own = loading.loaded(
            self.model, transformers.PreTrainedTokenizerFast.from_pretrained, self.folder
        )
        if None in (own.cls_token_id, own.sep_token_id, own.unk_token_id):
            raise ModelError(
                f"tokenizer of {self.model!r} must have tokens for start, end, unknown"
            )
        return own

    @once
    def text_tokenizer(self) -> Any:
        return loading.own_tokenizer(self.tokenizer, plain=True)

    @once
    def _size(self) -> int:
        """Tokens of a chunk; positions of a RoBERTa begin behind the padding's."""
        config = self.net.config
        before = config.pad_token_id + 1 if "roberta" in config.model_type else 0
        return min(SIZE, int(config.max_position_embeddings) - before)

    @once
    def net(self) -> Any:
        kind, source = transformers.AutoModelForTokenClassification, str(self.folder)
        net = loading.pretrained(
            self.model, kind, source, self.computed_dtype, rule="be a token classifier"
        )
        if net.config.num_labels != 2:
            rule = "must have two labels, drop and keep"
            raise ModelError(f"model {self.model!r} {rule}, it has {net.config.num_labels}")
        return net.to(self.used_device)


def _chunks(tokens: Sequence[str], size: int) -> Iterator[tuple[int, int]]:
    """Bounds of chunks of at most ``size`` tokens, each up to its last full stop if it has one."""
    start = 0
    while start < len(tokens):
        end = start + size
        if end < len(tokens):
            stops = [n + 1 for n in range(start, end) if tokens[n] == "."]
            end = stops[-1] if stops else end
        yield start, min(end, len(tokens))
        start = end


def _classified(
    text: str, encoding: Any, probabilities: Sequence[float]
) -> Iterator[ClassifiedToken]:
    """The tokens of a text, none over the next one or white space, so that some are empty."""
    starts = [start for start, _ in encoding.offsets]
    last = None
    for token, word, (start, end), after, keep in zip(
        encoding.tokens,
        encoding.word_ids,
        encoding.offsets,
        [*starts[1:], len(text)],
        probabilities,
        strict=False,  # the last token ends with the text, as one of no tokens does
    ):
        begins = word != last or token in string.punctuation
        last = word
        end = min(end, after)
        start = end - len(text[start:end].lstrip())
        end = start + len(text[start:end].rstrip())
        yield ClassifiedToken(start, end, keep, begins)
