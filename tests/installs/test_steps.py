"""Sections of pages, and what a reader of each does."""

from tests.blocks import CORE, EXTRAS, PAGES, blocks
from tests.installs.steps import plan, plans

PAGE = """# Sieve

```python
import ragsieve
```

```sh
pip install 'ragsieve[serve]'
ragsieve serve
```

<!-- install: cohere -->
```python
import cohere
```

```text
ranked
```

<!-- install: ragsieve -->
<!-- not run: weights of the hub -->
```sh
ragsieve systems
```
"""


def test_a_line_of_installation_opens_a_section():
    """A comment does, too; a line without ragsieve adds to its section."""
    found = blocks(PAGE)
    serve = frozenset({"[serve]"})

    assert [CORE, serve, serve | {"cohere"}, CORE] == [block.needs for block in found]
    assert ["", "", "", "weights of the hub"] == [block.not_run for block in found]
    assert "ranked\n" == found[2].output


def test_a_section_begins_with_those_that_it_includes():
    """Their Python and their servers; their commands ran where no more is installed."""
    pages = {"page.md": blocks(PAGE)}
    core = plan(CORE, pages)
    cohere = plan(frozenset({"[serve]", "cohere"}), pages)

    assert [3] == [step["line"] for step in core.pages["page.md"]]
    assert ["page.md:23 weights of the hub"] == core.left_out
    assert [3, 7, 13] == [step["line"] for step in cohere.pages["page.md"]]
    assert "ragsieve serve" == cohere.pages["page.md"][1]["serve"]


def test_commands_for_other_programs_are_left_out():
    """With the reason and the command; so are those of real questions and of weights elsewhere."""
    lines = [
        "vllm serve NAME",
        "OMP_WAIT_POLICY=active python benchmarks/contention.py hotpotqa.jsonl.gz",
        "ragsieve ask --llm transformers:OWNER/NAME -q QUESTION FILE…",
    ]
    script = "\n".join([*lines, "ragsieve bench run.toml"])
    made = plan(CORE, {"page.md": blocks(f"```sh\n{script}\n```\n")})
    reasons = ("another program", "a checkout and real questions", "weights of the hub")

    assert made.left_out == [
        f"page.md:1 {reason}: {line}" for reason, line in zip(reasons, lines, strict=True)
    ]
    assert [["ragsieve bench --limit 1 run.toml"]] == [
        step["lines"] for step in made.pages["page.md"]
    ]


def test_every_extra_that_a_page_installs_has_an_environment():
    """Whether a block or a sentence names it; `peers` goes with a checkout."""
    named = {
        f"[{extra}]"
        for page in PAGES
        for found in EXTRAS.findall(page.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    tried = frozenset().union(*(made.needs for made in plans()))

    assert {"[peers]"} == named - tried
