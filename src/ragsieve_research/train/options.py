"""Rules of options of trainings, beside those of `ragsieve.schema`."""

from dataclasses import dataclass
from typing import Annotated

from ragsieve import models, schema


@dataclass(frozen=True)
class Model:
    """The kind of model that a name must be of; see `ragsieve.models.check`."""

    kind: str


LLMName = Annotated[str, Model("LLM")]
EmbedderName = Annotated[str, Model("embedder")]


class Options(schema.Options):
    """The same, whose models' names are checked, too; an empty one is none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, hint in schema.hints_of(type(self)).items():
            for one in getattr(hint, "__metadata__", ()):
                if isinstance(one, Model) and (model := getattr(self, name)):
                    models.check(model, one.kind)
