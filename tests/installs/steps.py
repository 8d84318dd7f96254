"""What a reader does who has given one line of installation: the steps of each page, in order."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.blocks import BLOCKS, CORE, Packages

Step = dict[str, Any]
"""``page`` and ``line``, and one of ``python``, ``lines`` of a shell, ``serve`` and ``write``."""

ELSEWHERE = {  # commands that a reader gives to something that is not here
    r"(docker|make|vllm|ollama|llama-server) ": "another program",
    r"python (benchmarks|experiments)/|ragsieve .*--data FOLDER": "a checkout and real questions",
    r"ragsieve .*(transformers|provence|token_classifier|cross_encoder):([\w.-]+/|MODEL)": (
        "weights of the hub"
    ),
}

FEWER = {  # questions, not hours
    r"ragsieve bench": "--limit 1",
    r"ragsieve (annotate|train (?!finefilter)\w+)": "--limit 8",
}


class Plan(NamedTuple):
    """The steps of an environment, by page, and the blocks and commands that do not run."""

    needs: Packages
    pages: Mapping[str, Sequence[Step]]
    left_out: Sequence[str]

    @property
    def name(self):
        """Extras first, as a person names them."""
        extras = [name.strip("[]") for name in sorted(self.needs) if name.startswith("[")]
        others = [name for name in sorted(self.needs) if not name.startswith("[")]
        return " + ".join([",".join(extras) or "core", *others])


def plans(pages=BLOCKS):
    """A plan a line of installation, the longest first. A page begins with what needs no more than
    the line has: its Python blocks, files and servers."""
    wanted = {CORE, *(block.needs for found in pages.values() for block in found)}
    made = [plan(needs, pages) for needs in wanted]
    return sorted(made, key=lambda p: (-sum(map(len, p.pages.values())), p.name))


def plan(needs, pages):
    """The steps of the pages that name these packages."""
    steps = {}
    left_out = []
    for page, found in pages.items():
        own = [place for place, block in enumerate(found) if block.needs == needs]
        for block in found[: own[-1] + 1] if own else ():
            if block.needs <= needs:
                made, reasons = followed(block)
                if block.needs != needs:  # the commands ran where no more than they need is there
                    made, reasons = [step for step in made if "lines" not in step], []
                place = {"page": page, "line": block.line}
                if made:
                    steps.setdefault(page, []).extend({**place, **step} for step in made)
                left_out += [f"{page}:{block.line} {reason}" for reason in reasons]
    return Plan(needs, steps, left_out)


def followed(block):
    """The steps of a block, and what of it is left out and why."""
    if block.not_run:
        return [], [block.not_run]
    if block.included:
        return [{"lines": [f"python {block.included}"], "output": block.output or None}], []
    if block.language == "python":
        return [{"python": block.text, "output": block.output}], []
    if block.language == "toml":
        name = block.text.partition("\n")[0].removeprefix("#").strip()
        return [{"write": name, "text": block.text}], []
    if block.language != "sh":
        return [], []
    steps = []
    left_out = []
    for line in block.lines:
        if line.startswith("pip install "):
            continue
        command = re.sub(r"^([A-Z_]+=\S+ )+", "", line)
        reasons = [reason for pattern, reason in ELSEWHERE.items() if re.match(pattern, command)]
        if reasons:
            left_out.append(f"{reasons[0]}: {line}")
        elif command.startswith("ragsieve serve"):
            steps.append({"serve": line})
        else:
            for start, limit in FEWER.items():
                line = re.sub(rf"^{start}", rf"\g<0> {limit}", line)
            steps.append({"lines": [line], "output": None})
    if block.output:
        lines = [line for step in steps for line in step["lines"]]
        steps = [{"lines": lines, "output": block.output}]
    return steps, left_out
