"""What is kept of a tool's result: by the filter, by a rule, or its outline."""

from collections.abc import Sequence
from dataclasses import replace

from ragsieve.agents import rules
from ragsieve.agents.envelopes import outline_of
from ragsieve.agents.rules import ToolRule
from ragsieve.context.budget import ContextBudget, fit_parts
from ragsieve.result import Result, Tokens
from ragsieve.spans import gaps
from ragsieve.structure import Headless
from ragsieve.system import System
from ragsieve.trace import step
from ragsieve.types import Segment


def kept_by(system: System, question: str, named: list[dict[str, str]], rule: ToolRule) -> Result:
    """The filter's result, in which stays what the rule says."""
    spans = [(one["id"], *span) for one in named for span in rules.protected(one["text"], rule)]
    if not spans:
        return system(question, named)
    result = replace(system, budget=ContextBudget())(question, named)
    stay = [one for span in spans for one in _uncovered(result, *span)]
    return _fitted(system, result, [*result.kept, *stay])


def outlined(system: System, result: Result) -> Result:
    """Beside what is kept, which is odd or nearest, the outlines of its documents."""
    documents = [replace(d, layout=Headless(**vars(d.layout))) for d in result.documents]
    bare = {one.id: one for one in documents}
    kept = [replace(s, document=bare.get(s.document.id, s.document)) for s in result.kept]
    result = replace(result, documents=(*documents,), kept=(*kept,))
    heads = ((one.id, *span) for one in documents for span in outline_of(one.text))
    more = (s for head in heads for s in _uncovered(result, *head))
    return _fitted(system, result, [*kept, *more])


def _fitted(system: System, result: Result, kept: Sequence[Segment]) -> Result:
    """A result of which other segments are kept, as many as have room."""
    union = sorted(kept, key=lambda s: (s.document.rank, s.start))
    with result.trace.recording(), step(f"ToolRule({system.budget!r})", union) as record:
        rate = system.rate(result.query)
        finer, union = fit_parts(union, system.budget, system.reader, result.query, rate=rate)
        record.before, record.after = tuple(finer), tuple(union)
    text = system.reader.context(union)
    tokens = Tokens(result.tokens.before, system.reader.count([text])[0])
    return replace(result, kept=tuple(union), text=text, tokens=tokens)


def _uncovered(result: Result, name: str, start: int, end: int) -> list[Segment]:
    """A span of a document without what is kept of it, as segments that rank behind scored ones."""
    document = next(one for one in result.documents if one.id == name)
    kept = sorted((s.start, s.end) for s in result.kept if s.document.id == name)
    return [Segment(document, *span) for span in gaps(start, end, kept)]
