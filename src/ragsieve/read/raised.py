"""Raised numbers as characters of their own."""

import re

_NUMBER = re.compile("\x02?[-+\u2212]?[0-9]+\x03?")  # the marks of a link may be around it
_PLAIN, _RAISED = "0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻"


def raised(text: str) -> str:
    """A number as it is raised behind a word or number, "10⁵"; any other text as it stands."""
    number = _NUMBER.fullmatch(text.strip())
    return text.translate(str.maketrans(_PLAIN, _RAISED)) if number else text
