"""What an error says of an option is its rule: taken at the edges that it names, refused beyond."""

import math
import re
from dataclasses import fields, replace

from ragsieve.errors import InputError

HUGE = 10**9


def check_rule(name, value, make):
    """Hold a number among options to its rule: no count is negative, no time endless, none is NaN.

    Args:
        name: The option's, for the message of this check.
        value: One that it has. What is no number is not tried.
        make: Makes what has the option, of a value for it.

    Raises:
        AssertionError: If a wrong value is taken, or refused by anything but one line that shows
            it, or if an edge that the line names is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    lines = {wrong: refusal(make, wrong) for wrong in (math.nan, -1, -HUGE, HUGE)}
    must = [math.nan, *([HUGE] if name.endswith("_s") else [])]  # seconds end
    if isinstance(value, int):
        must += [-1, value + 0.5]
        lines[value + 0.5] = refusal(make, value + 0.5)
    assert all(lines[wrong] for wrong in must), f"{name}: {lines}"
    for wrong, line in lines.items():
        assert not line or (f"{wrong!r}" in line and "\n" not in line), f"{name}: {line!r}"
        check_edges(name, line, make, 1 if isinstance(value, int) else 0.01)


def check_fields(made):
    """Hold each field that a dataclass is made with to its rule."""
    for field in fields(made):
        if field.init:
            value = getattr(made, field.name)
            check_rule(field.name, value, lambda new, of=field.name: replace(made, **{of: new}))


def check_edges(name, line, make, step):
    """The last value that a rule in words allows is taken, and the next one is not."""
    low, high = "", ""
    if found := re.search(r"must be from (\S+) to ([-\d.]+)", line):
        low, high = found.groups()
    elif found := re.search(r"must be at least ([-\d.]+),", line):
        low = found[1]
    elif "not be negative" in line or "not negative" in line:
        low = "0"
    if "finite" in line:
        assert refusal(make, math.inf), f"{name} takes inf, though: {line}"
    for edge, way in ((low, -step), (high, step)):
        if re.fullmatch(r"-?[\d.]+", edge):
            last = type(step)(float(edge))
            shown = refusal(make, last)
            same = line.partition(", got")[0] == shown.partition(", got")[0]
            assert not same, f"{name} refuses its edge: {shown}"
            beyond = refusal(make, last + way)
            own = line.startswith(name.rpartition(".")[2])  # else a part's option of another name
            rule = line.partition(", got")[0] if own else ""
            assert beyond and beyond.startswith(rule), f"{name}: {beyond!r}, not {line!r}"


def refusal(make, value):
    """The line of an `InputError`; empty where the value is taken."""
    try:
        make(value)
    except InputError as error:
        return str(error)
    return ""
