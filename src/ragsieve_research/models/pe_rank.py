"""PE-Rank: a language model that ranks passages, each read as one vector."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

from ragsieve.errors import InputError, ModelError, needs_extra

with needs_extra("local"):
    import torch
    import transformers
    from safetensors import safe_open

from ragsieve.models.base import Embedder, check_fits
from ragsieve.models.reopen import once
from ragsieve.models.wrap import check_columns
from ragsieve.text import safe
from ragsieve.trace import Usage, record_usage
from ragsieve_research.models import store
from ragsieve_research.models.loading import PreciseModel, cached, compute, loaded, pretrained

PUBLISHED = "liuqi6777/pe-rank-mistral-jina"
PLACE = "<PLACEHOLDER>"  # the token in whose place a passage's vector is read
CONTEXT = 4096  # tokens, where a model does not say how many it was made for
TRAINED = """\
I will provide you with $most passages, each with a special token representing the passage \
enclosed in [], followed by original text.
Rank the passages based on their relevance to the search query: $question.
$documents

Search Query: $question.
Rank the $most relatively ordered passages above based on their relevance to the search query, \
output the ranking in descending order. Only output the $most unique special token in the ranking.

"""
"""The words in which the authors' code asks the published weights, without passages' texts."""
_MLP = re.compile(r"mlp([1-9])x_gelu")


@dataclass(frozen=True)
class PERank(PreciseModel):
    """Orders passages that an encoder embeds: `ragsieve.models.base.ListwiseReranker`.

    Each passage's vector, projected into the space of the language model's words, stands in the
    prompt as a token of its own. What is decoded next is the passage, of those left, whose vector
    has the largest product with the last hidden state; it is read as the next token, until one is
    left. A folder holds what the paper's authors publish: the language model as safetensors, with
    ``projector.*`` among its tensors, its tokenizer, and ``config.json`` with ``encoder_name``,
    ``encoder_pooling``, ``projector_type`` and ``embedding_size``. No code is run.

    Args:
        model: A folder, or a hub id.
        encoder: Embeds passages as the projector was trained on; of the name in ``config.json``
            where None.
        prompt: The user's message, with ``$question``, ``$most`` for how many, and ``$documents``
            for the list: the words that the weights were trained on.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: float32 on a CPU, else bfloat16.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.
        ContextOverflow: If question and list do not fit its context.

    Source: PE-Rank (arXiv 2406.14848), section 3, and "Dynamic-Constrained Decoding" there.
    Differs: Passages are read by their vectors alone, never with their text beside; the authors'
        code has both. Not tried on the published weights.
    """

    model: str = PUBLISHED
    encoder: Embedder | None = field(default=None, kw_only=True)
    prompt: str = field(default=TRAINED, kw_only=True)

    _files = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")

    def __post_init__(self) -> None:
        super().__post_init__()
        named = Template(self.prompt)
        if not (named.is_valid() and "documents" in named.get_identifiers()):
            raise InputError(f"prompt must have a place $documents, got {self.prompt!r:.80}")
        if unknown := {*named.get_identifiers()} - {"question", "most", "documents"}:
            raise InputError(f"prompt cannot have a place ${min(unknown)}")

    @once
    def identity(self) -> str:
        """Model, encoder, precision and words: what orders depend on."""
        prompt = f":{self.computed_dtype}" + (f":{self.prompt!r}" if self.prompt != TRAINED else "")
        return f"pe_rank:{store.marked(self.model)}+{self.passage_encoder.identity}{prompt}"

    def rank(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[int]]:
        """See `ragsieve.models.base.ListwiseReranker.rank`."""
        check_columns([questions, texts])
        net = PERankNet(self._model, self.projector, self.place)
        orders = []
        for question, passages in zip(questions, texts, strict=True):
            tokens = self.tokens(question, len(passages))
            vectors = torch.from_numpy(self.passage_encoder.embed(passages))
            orders.append(compute(net.order, tokens, vectors) if passages else [])
            record_usage([Usage(self.identity, len(tokens), len(passages))])
        return orders

    def tokens(self, question: str, count: int) -> list[int]:
        """The prompt in which ``count`` place tokens stand, and none that the question opens."""
        tokenizer = self.tokenizer
        question = safe(question)
        for token in tokenizer.get_added_vocab():
            question = question.replace(token, f"{token[0]} {token[1:]}")
        listed = "\n\n".join(f"Passage {n}: [{PLACE}]" for n in range(1, count + 1))
        values = {"question": question, "documents": listed, "most": str(count)}
        text = Template(self.prompt).substitute(values)
        ids: list[int] = tokenizer(_framed(tokenizer, text), add_special_tokens=False)["input_ids"]
        if ids.count(self.place) != count:
            raise ModelError(f"model {self.model!r} must read {PLACE} as one token, it does not")
        limit = getattr(self._config, "max_position_embeddings", None) or CONTEXT
        check_fits([len(ids)], count, limit, self.model)
        return ids

    @once
    def _values(self) -> dict[str, Any]:
        """Contents of ``config.json``."""
        try:
            values = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
            lacking = {"encoder_name", "embedding_size", "model_type"} - values.keys()
        except (OSError, ValueError, AttributeError) as error:
            raise ModelError(f"model {self.model!r} needs a config.json: {error}") from error
        if lacking:
            raise ModelError(f"config.json of {self.model!r} must say {min(lacking)}")
        return dict(values)

    @once
    def _config(self) -> Any:
        """Of the language model, whose type the authors' code calls ``embed_mistral``."""
        rest = {k: v for k, v in self._values.items() if k not in ("model_type", "auto_map")}
        kind = str(self._values["model_type"]).removeprefix("embed_")
        return loaded(self.model, transformers.AutoConfig.for_model, kind, **rest)

    @once
    def tokenizer(self) -> Any:
        load = transformers.AutoTokenizer.from_pretrained
        options = {"config": self._config, "trust_remote_code": False}
        tokenizer = loaded(self.model, load, str(self.folder), **options)
        tokenizer.add_tokens([PLACE], special_tokens=True)  # where it is not there
        return tokenizer

    @once
    def place(self) -> int:
        return int(self.tokenizer.convert_tokens_to_ids(PLACE))

    @once
    def passage_encoder(self) -> Embedder:
        return self.encoder or named_encoder(self._values)

    @once
    def projector(self) -> torch.nn.Module:
        hidden = self._config.hidden_size
        module = loaded(self.model, _read_projector, self.folder, self._values, hidden)
        return module.to(self.used_device)  # type: ignore[no-any-return]

    @once
    def _model(self) -> Any:
        options = {"config": self._config, "rule": "be a language model"}
        kind, where = transformers.AutoModel, str(self.folder)
        return pretrained(self.model, kind, where, self.computed_dtype, **options).to(
            self.used_device
        )


@dataclass(frozen=True, eq=False)
class PERankNet:
    """The language model, what maps vectors into its words' space, and the place token."""

    model: Any
    projector: torch.nn.Module
    place: int

    @torch.inference_mode()
    def order(self, tokens: Sequence[int], vectors: torch.Tensor) -> list[int]:
        """Places of ``vectors``, ``(n, dim)``, which stand where ``tokens`` has the place token."""
        model = self.model
        ids = torch.tensor(tokens, device=model.device)
        known = ids != self.place  # the place token may have no vector of its own
        passages = self.projector(vectors.to(model.device)).to(model.dtype)  # (n, hidden)
        rows = model.get_input_embeddings()(ids * known)
        rows[~known] = passages
        states = cached(model, transformers.DynamicCache(config=model.config))
        left, order = list(range(len(passages))), list[int]()
        while len(left) > 1:
            out = model(inputs_embeds=rows[None], use_cache=True, **states)
            state = out.last_hidden_state[0, -1].float()  # (hidden,)
            order.append(left.pop(int((passages[left].float() @ state).argmax())))
            rows = passages[order[-1:]]
        return order + left


def projector(values: dict[str, Any], hidden: int) -> torch.nn.Module:
    """The projector that a configuration names, with weights still to be read.

    Args:
        values: ``embedding_size``, and ``projector_type``: ``linear``, ``identity``, or
            ``mlp2x_gelu`` and others of more maps.
        hidden: Length of the language model's vectors.

    Raises:
        ValueError: If the type is none of these.
    """
    kind, size = values.get("projector_type", "linear"), int(values["embedding_size"])
    if kind == "identity":
        return torch.nn.Identity()
    if kind == "linear":
        return torch.nn.Linear(size, hidden)
    depth = _MLP.fullmatch(str(kind))
    if not depth:
        raise ValueError(f"projector_type must be linear, mlpNx_gelu or identity, got {kind!r}")
    layers: list[torch.nn.Module] = [torch.nn.Linear(size, hidden)]
    for _ in range(1, int(depth[1])):
        layers += [torch.nn.GELU(), torch.nn.Linear(hidden, hidden)]
    return torch.nn.Sequential(*layers)


def _read_projector(folder: Path, values: dict[str, Any], hidden: int) -> torch.nn.Module:
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, "pt") as opened:
            for name in opened.keys():  # noqa: SIM118, it is no mapping
                _, mark, own = name.rpartition("projector.")
                if mark:
                    tensors[own] = opened.get_tensor(name).float()
    module = projector(values, hidden)
    module.load_state_dict(tensors)
    return module.eval()


def named_encoder(values: dict[str, Any]) -> Embedder:
    """The encoder that a configuration names.

    Args:
        values: ``encoder_name``, and ``encoder_pooling``.

    Raises:
        ModelError: If it needs code of its own, other than a JinaBERT's, which is here.
    """
    from ragsieve_research.models.jina_bert import JinaBert, is_jina_bert
    from ragsieve_research.models.sentence_transformers import SentenceTransformer

    name = str(values["encoder_name"])
    where = str(store.resolve(name))
    config, _ = loaded(name, transformers.PretrainedConfig.get_config_dict, where)
    if is_jina_bert(config):
        return JinaBert(name)
    if "auto_map" in config:
        raise ModelError(f"encoder {name!r} needs code of its own, which is not run: pass another")
    return SentenceTransformer(name)


def _framed(tokenizer: Any, prompt: str) -> str:
    """A user's message in the model's chat format; by itself where it has none."""
    if tokenizer.chat_template:
        turns = [{"role": "user", "content": prompt}]
        return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
    return f"{tokenizer.bos_token or ''}{prompt}\n"
