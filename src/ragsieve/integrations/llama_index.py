"""LlamaIndex: a node postprocessor, for query engines and wherever one fits."""

from typing import Any

from ragsieve.adapter import KEY, RETRIEVED, Kept, read_document
from ragsieve.errors import needs_extra

with needs_extra("llama-index"):
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode

from ragsieve.integrations.fields import AdapterFields


class RagsievePostprocessor(AdapterFields, BaseNodePostprocessor):
    """Keeps of the retrieved nodes what matters to the question.

    Nodes keep id, metadata and what else they hold; ``metadata["ragsieve"]`` says which spans of
    the text that came in were kept, with their scores, and how probable it is that some node
    answers (`ragsieve.adapter.Kept`); neither LLM nor embedder reads it.
    ``start_char_idx`` and ``end_char_idx`` become those of the kept text, None where several parts
    are kept. A node's score is the best of its spans', the retriever's is
    ``metadata["retriever_score"]``. Nodes of which nothing is kept are left out; those without
    text, such as images, come last, as they were. Asynchronous calls run in a thread. Arguments and
    errors are `AdapterFields`'s.
    """

    @classmethod
    def class_name(cls) -> str:
        """Its name in LlamaIndex."""
        return cls.__name__

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        question = query_bundle.query_str if query_bundle else ""  # blank: says so, or raises
        return self.adapter(question, nodes, _read, _write, self.on_result).documents


def _read(retrieved: NodeWithScore) -> dict[str, Any] | None:
    node = retrieved.node
    text = node.get_content(MetadataMode.NONE)
    only_text = type(node) is TextNode  # so that it is empty where it has none
    return read_document(node.node_id, text, node.metadata) if text or only_text else None


def _write(retrieved: NodeWithScore | None, kept: Kept) -> NodeWithScore:
    if retrieved is None:
        known = kept.metadata
        retrieved = NodeWithScore(node=TextNode(id_=kept.document.id, text="", metadata=known))
    node = retrieved.node
    known = kept.marked(node.metadata, retrieved=retrieved.score)
    changes: dict[str, Any] = {"metadata": known, **_indices(node, kept)}
    for name in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys"):
        changes[name] = [*dict.fromkeys([*getattr(node, name), KEY, RETRIEVED])]
    copy = node.model_copy(update=changes)
    copy.set_content(kept.text)
    return NodeWithScore(node=copy, score=retrieved.score if kept.score is None else kept.score)


def _indices(node: BaseNode, kept: Kept) -> dict[str, int | None]:
    """Where the kept text begins and ends in what the node was cut from; None where unknown."""
    names = ("start_char_idx", "end_char_idx")
    whole = kept.document.text
    if not isinstance(node, TextNode) or kept.text == whole:
        return {}
    start, end = node.start_char_idx, node.end_char_idx
    if kept.extent is None or start is None or end not in (None, start + len(whole)):
        return dict.fromkeys(names)
    return dict(zip(names, (start + at for at in kept.extent), strict=True))
