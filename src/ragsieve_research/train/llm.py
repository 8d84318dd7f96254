"""Tune an LLM for any part: examples, samples, training, figures, a folder with a card."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragsieve_research.models.loading import loaded
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.train.artifacts import ADAPTER, check_free, model_dir, recipe_of
from ragsieve_research.train.run import Change, Run, first_documents
from ragsieve_research.train.sft import tunable

Learn = Callable[[Any, Run, Transformers], tuple[Path, Mapping[str, Any]]]


def train_llm(
    folder: Path,
    what: str,
    plan: Any,
    run: Run,
    learn: Learn,
    *,
    title: str,
    use: str,
    documents: Change | None = None,
) -> dict[str, Any]:
    """Tune an LLM on questions with documents, and write it to ``folder``.

    ``models.load(f"transformers:{folder}")`` is the tuned model where the plan does not want the
    adapter alone, and ``models.load(plan.llm, adapter=f"{folder}/adapter")``.

    Args:
        folder: New, or one of an earlier training.
        what: What is trained, for errors.
        plan: Options with ``llm``, ``documents`` and ``limit``.
        run: What is read, and where it works.
        learn: The recipe: of plan, run and model the adapter, and figures beside its own.
        title: Heading of the model card.
        use: What it does and how it is used, in Markdown; for the card.
        documents: Which documents of a question are read; the first ones where None.

    Returns:
        What ``recipe.json`` says: among others figures ``before`` and ``after``.

    Raises:
        InputError: If ``folder`` holds something else, the model cannot be tuned, or there is
            nothing to learn.
        ModelError: If a model fails.
    """
    check_free(folder, what)
    model = tunable(plan.llm)
    run.write_questions(plan.limit, documents or first_documents(plan.documents))
    adapter, figures = learn(plan, run, model)
    recipe = {**recipe_of(adapter), **figures}
    with model_dir(folder, recipe, plan, run.sources, title=title, use=use, base=plan.llm) as fresh:
        shutil.copytree(adapter, fresh / ADAPTER)
        if getattr(plan, "merged", True):
            merge(fresh, model, adapter)
    return recipe


def merge(folder: Path, model: Transformers, adapter: Path) -> None:
    """Write a model of transformers with an adapter merged into its weights, and its tokenizer."""
    tuned = replace(model, adapter=str(adapter))
    loaded(model.model, tuned.decoder.model.save_pretrained, folder)
    model.tokenizer.save_pretrained(folder)
