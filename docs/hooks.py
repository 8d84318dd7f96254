"""Generate the parts of the site that describe the code, so that no page can fall behind it.

A page ``systems/NAME.md`` gets the figure and the options of the system ``NAME``;
``<!-- systems -->`` becomes the list of all systems, ``<!-- system functions -->`` their reference,
``<!-- metrics -->`` that of the metrics, ``<!-- limits -->`` that of a server's limits,
``<!-- colab -->`` a link to the notebook where the repository is known. A system's page has its row
of the table between the comments ``results`` of ``benchmark.md``.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from griffe import Docstring, DocstringSectionKind, Extension, Object, Parser

from ragsieve import models, spec, systems
from ragsieve.server.settings import Limits
from ragsieve.system import System
from ragsieve.systems.base import PARTS, SystemEntry
from ragsieve_research.evaluate.metrics import METRICS

ROOT = Path(__file__).parents[1]
RESULTS = re.compile(r"<!-- results -->\n(.*?)<!-- /results -->", re.DOTALL)
MODULES = ("split", "score", "select", "answer", "retrieve")
WITHOUT_WEIGHTS = {"embedder": "fake:hashing", "pruner": "fake:pruner"}
SHOWN_AS = {
    r"ScriptedLLM\([^()]*\)": "LLM",
    r"HashingEmbedder\([^()]*\)": "embedder",
    r"OverlapPruner\([^()]*\)": "sentence pruner",
    r"Cached\((?:model=)?embedder\)": "embedder",
    r"PERank\([^()]*\)": "listwise reranker",
    r", on_error='raise'": "",
    r"Gold\(\)": "gold answers",
}
SHOWN_IN_BENCHMARK = {
    "top-documents": "top-5 documents",
    "langchain-embeddings-filter": "LangChain's EmbeddingsFilter",
    "llama-index-sentence-optimizer": "LlamaIndex's SentenceEmbeddingOptimizer",
}
THE_FOUR = ("2502.11811", "2511.04700", "2410.19572", "2409.13694")  # arXiv


class Box(NamedTuple):
    """A stage in a figure: its module (empty for a system's own), its name, its options."""

    module: str
    name: str
    options: str


class Sources(Extension):
    """Makes a paragraph each of a docstring's source and of how we differ from it."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Change an object's docstring; called by griffe."""
        if obj.docstring:
            text = obj.docstring.value
            obj.docstring.value = re.sub(r"\n+(Source|Differs):", r"\n\n**\1:**", text)


class Gold(dict[str, tuple[str, ...]]):
    """Gold answers of nobody's questions."""

    def __repr__(self) -> str:
        return "Gold()"


def names() -> list[str]:
    """Every system that has a page, in the order of `ragsieve systems`: all but ablations."""
    ours = ("ragsieve.", *(f"ragsieve_research.{p}" for p in ("systems", "peers.o", "peers.f")))
    return [n for n, e in systems.SYSTEMS.items() if e.function.__module__.startswith(ours)]


def groups() -> dict[str, list[str]]:
    """The systems by what they are there for."""
    found: dict[str, list[str]] = {"Main methods": [], "Other methods": [], "Baselines": []}
    for name in names():
        entry = spec.entry(name)
        baseline = not entry.paper or (name in systems.SYSTEMS and systems.SYSTEMS[name].knows)
        ours = any(number in entry.paper for number in THE_FOUR)
        group = "Baselines" if baseline else "Main methods" if ours else "Other methods"
        found[group].append(name)
    return found


def on_config(config: Any) -> Any:
    """The site's menu with a page for each system, and edit links; called by mkdocs."""
    config["edit_uri"] = "edit/main/docs/" if config["repo_url"] else ""
    for entry in config["nav"]:
        if "Systems" in entry:
            for group, members in groups().items():
                entry["Systems"] += [{group: [{name: f"systems/{name}.md"} for name in members]}]
    return config


def on_post_page(output: str, **_: Any) -> str:
    """A page whose search has a name, which the theme gives it not; called by mkdocs."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """A page with its generated parts; called by mkdocs."""
    path = Path(page.file.src_uri)
    if path.parent.name == "systems" and path.stem in names():
        return system_page(path.stem, markdown)
    markdown = markdown.replace("<!-- colab -->", colab(config["repo_url"]))
    markdown = markdown.replace("<!-- systems -->", listing())
    markdown = markdown.replace("<!-- system functions -->", reference())
    markdown = markdown.replace("<!-- metrics -->", metrics())
    return markdown.replace("<!-- limits -->", limits())


def colab(repository: str) -> str:
    """A link that opens the notebook in Colab, which reads repositories of GitHub."""
    name = repository.removeprefix("https://github.com/").strip("/")
    if not name or name == repository.strip("/"):
        return ""
    address = f"https://colab.research.google.com/github/{name}/blob/main/docs/notebook.ipynb"
    return f"[Open it in Colab]({address})."


def results() -> str:
    """The benchmark's table of results, between two comments."""
    match = RESULTS.search((ROOT / "docs/benchmark.md").read_text(encoding="utf-8"))
    return match.group(1).strip() if match else ""


def measured(name: str) -> str:
    """The system's row of the benchmark's table, with the one that it is compared with."""
    head, rule, *rows = results().splitlines()
    own = [row for row in rows if row_name(row) in (name, SHOWN_IN_BENCHMARK.get(name))]
    if not own:
        return ""
    how = "Measured on the [benchmark](../benchmark.md)'s questions, with SmolLM2 as generator:"
    against = [row for row in rows if row_name(row) == "top-5 documents" and row not in own]
    return "\n".join([how, "", head, rule, *own, *against])


def row_name(row: str) -> str:
    """Name of the system in a row of README's table."""
    first = row.split("|")[1].strip(" *")
    return re.sub(r" \(.*\)|:.*", "", first)


def metrics() -> str:
    """The metrics as a table."""
    lines = ["| metric | reads | better | definition |", "|---|---|---|---|"]
    for metric in METRICS.values():
        about = f"{metric.group} | {metric.better} | {cell(metric.summary)}"
        lines.append(f"| `{metric.name}` | {about} |")
    return "\n".join(lines)


def limits() -> str:
    """A server's limits, with their defaults."""
    described = arguments(inspect.getdoc(Limits) or "")
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for f in fields(Limits):
        option = "--workers" if f.name == "workers" else f"--limit-{f.name.replace('_', '-')}"
        lines.append(f"| `{option}` | {f.default:,} | {cell(described[f.name])} |")
    return "\n".join(lines)


def listing() -> str:
    """All systems as a table a group: name, what it does, what it runs, paper."""
    lines = []
    for group, members in groups().items():
        lines += [f"## {group}", ""]
        lines += [
            "| system | what it does | runs before the generator | paper |",
            "|---|---|---|---|",
        ]
        for name in members:
            e = spec.entry(name)
            about = f"{cell(e.summary)} | {e.needs} | {link(e.paper)}"
            lines.append(f"| [{name}]({name}.md) | {about} |")
        lines.append("")
    return "\n".join(lines)


def system_page(name: str, written: str) -> str:
    """A system's page: title, summary, figure, the written part, figures, options, calls."""
    entry = spec.entry(name)
    summary = f"{entry.summary}."
    facts = f"Runs before the generator: {entry.needs}." + (
        f" Paper: {link(entry.paper)}." if entry.paper else ""
    )
    written = written.partition("\n")[2].strip()  # its title, which GitHub shows
    figure = "\n".join(["## Stages", "", drawn(boxes(name)), "", note(name)])
    head = f"# {name}\n\n{summary}\n\n{facts}\n\n{figure}"
    return "\n\n".join(
        [head, written, measured(name), "## Options", options_table(name), called(name)]
    )


def boxes(name: str) -> list[Box]:
    """Stages of a system, in order, read off the composition itself."""
    system = built(name)
    stages = [*flat(system.stage)]
    return [box(stage) for stage in [*stages, system.reader]]


def built(name: str) -> System:
    """The system on models that need no weights."""
    llm: Any = models.load("fake:echo")
    entry = systems.SYSTEMS[name]
    roles: dict[str, Any] = {role: models.load(WITHOUT_WEIGHTS[role]) for role in entry.roles}
    options = {"reflection": "prompted"} if entry.options.get("reflection") == "tokens" else {}
    gold = {"answers": Gold()} if entry.knows else {}
    return systems.build(name, llm, options=options, **roles, **gold)


def flat(stage: Any) -> list[Any]:
    """The stages of a pipeline, and of pipelines inside it."""
    inside = getattr(stage, "stages", None)
    if inside is None:
        return [stage]
    return [one for part in inside for one in flat(part)]


def box(stage: Any) -> Box:
    """A stage as a figure shows it."""
    text = repr(stage)
    for pattern, shown in SHOWN_AS.items():
        text = re.sub(pattern, shown, text)
    stage_name, _, options = text.partition("(")
    module = type(stage).__module__.split(".")[1]
    return Box(module if module in MODULES else "", stage_name, options.removesuffix(")"))


def drawn(stages: list[Box]) -> str:
    """The figure as HTML: a box a stage, from the documents to the answer."""
    items = ['<li class="end">question, documents</li>']
    for module, stage_name, options in stages:
        label = f'<span class="module">{escape(module)}</span>' if module else ""
        more = f"<small>{escape(options)}</small>" if options else ""
        items.append(f"<li>{label}<code>{escape(stage_name)}</code>{more}</li>")
    items.append('<li class="end">answer</li>')
    return f'<ol class="stages">{"".join(items)}</ol>'


def note(name: str) -> str:
    """A note on what the figure cannot show."""
    if name in systems.SYSTEMS and systems.SYSTEMS[name].options.get("reflection") == "tokens":
        return "Here `ByTokens()` asks in the place of `ByWords()`: the model's reflection tokens."
    if any(stage.name == "Ngrams" for stage in boxes(name)):
        return "Where text is not English, `Ngrams` and its threshold stand for the two before."
    return ""


def options_table(name: str) -> str:
    """The options with types, defaults and descriptions from the docstring."""
    make = spec.entry(name).function
    entry = systems.SYSTEMS[name]
    described = arguments(inspect.getdoc(make) or "")
    summary = (inspect.getdoc(make) or "").partition("\n")[0]
    hints = {name: hint(p.annotation) for name, p in inspect.signature(make).parameters.items()}
    if not entry.options:
        return "None."
    lines = ["| option | type | default | meaning |", "|---|---|---|---|"]
    for option, default in entry.options.items():
        if f"``{option}``" in summary:
            described.setdefault(option, summary)
        text = described.get(option)
        if not text:
            raise ValueError(f"{address(make)}: option {option} must have a line under Args")
        lines.append(f"| `{option}` | `{hints[option]}` | `{default!r}` | {cell(text)} |")
    return "\n".join([*lines, "", f"API: [`{make.__name__}`][{address(make)}]."])


def hint(annotation: Any) -> str:
    """An annotation as it is written, whether or not its module postpones evaluation."""
    if isinstance(annotation, str):
        return annotation
    return re.sub(r"[\w.]+\.(?=\w)", "", inspect.formatannotation(annotation))


def address(function: Any) -> str:
    """Name of a function in the reference."""
    return f"{function.__module__}.{function.__name__}"


def reference() -> str:
    """Reference of every function that makes a system, by module and name."""
    places = sorted({address(spec.entry(name).function) for name in names()})
    return "\n\n".join(f"::: {place}" for place in places)


def arguments(docstring: str) -> dict[str, str]:
    """Descriptions of a docstring's arguments, by name."""
    sections = Docstring(docstring).parse(Parser.google, warnings=False)
    return {
        item.name: " ".join(item.description.split())
        for section in sections
        if section.kind is DocstringSectionKind.parameters
        for item in section.value
    }


def called(name: str) -> str:
    """Calls of a system from Python and from the shell."""
    entry: SystemEntry = spec.entry(name)
    if entry.knows:
        return '## Call\n\n```toml\n# run.toml\nsystems = [{ name = "%s" }]\n```' % name  # noqa: UP031
    own = [o for o in entry.options if o in PARTS and name in systems.SYSTEMS]
    model = f" --model {own[0]}=MODEL" if own else ""
    return (
        f'## Call\n\n```python\nsystem = ragsieve.load("{name}")  # or load("{name}", llm)\n```\n\n'
        f"```sh\nragsieve ask --system {name}{model} -q QUESTION FILE…\n```"
    )


def cell(text: str) -> str:
    """A text for a table's cell."""
    return " ".join(text.replace("``", "`").replace("|", "\\|").split())


def link(paper: str) -> str:
    """A paper with its address."""
    number = paper.removeprefix("arXiv ")
    return f"[{paper}](https://arxiv.org/abs/{number})" if paper else ""
