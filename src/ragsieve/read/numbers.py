"""How documents write numbers: raised, by letters, in Roman numerals."""

import re

_SIGNS = "0123456789+-\u2212=()abcdefghijklmnoprstuvwxyz"
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
# the marks of a link may be around it; letters alone end a word, as in 21st
_NUMBER = re.compile(rf"\x02?(?![a-z]{{2,}}\x03?\Z)[{re.escape(_SIGNS)}]+\x03?")
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


def raised(text: str) -> str:
    """A power or a mark as it is raised behind a word or number, "10⁵"; other text as it stands."""
    number = _NUMBER.fullmatch(text.strip())
    return text.translate(str.maketrans(_SIGNS, _RAISED)) if number else text


def integer(text: str | None, otherwise: int) -> int:
    """The whole number that a text is; another where it is none."""
    return int(text) if text and re.fullmatch(r"-?[0-9]{1,9}", text) else otherwise


def numeral(number: int, form: str) -> str:
    """A number as a list writes it: ``a``, ``A``, ``i``, ``I``, ``01``, or any other for digits.

    In digits, too, where it is too large.
    """
    if form in ("a", "A") and 0 < number <= 26 * 4:
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form in ("i", "I") and 0 < number < 4000:
        text = ""
        for value, letters in _ROMAN:
            text += letters * (number // value)
            number %= value
    else:
        return f"{number:02}" if form == "01" else str(number)
    return text.upper() if form.isupper() else text
