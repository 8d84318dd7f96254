"""Options as replies: how probable each is by a reply's first token."""

from collections.abc import Sequence

from ragsieve.models.base import Odds

LEAST_MASS = 0.05
"""Probability that all options need together, of a reply's first token, to decide anything."""

_AMBIGUOUS = 0.01  # largest share of probability on tokens that begin several options


def first_token_odds(top: Sequence[tuple[str, float]], options: Sequence[str]) -> Odds | None:
    """Probabilities of ``options`` by the token that each begins with, in any case.

    None where too little lies on options together (`LEAST_MASS`), or over 1 % of that on tokens
    that begin several.
    """
    forms = [option.strip().casefold() for option in options]
    cased = str.casefold if len({*forms} - {""}) == len(forms) else str
    begins = [(cased(o.strip()), cased(o.strip().lstrip("["))) for o in options]
    sums, shared = [0.0] * len(options), 0.0
    for token, probability in top:
        text = cased(token.strip())
        starts = [any(form.startswith(text) for form in forms) for forms in begins]
        begun = [i for i, one in enumerate(starts) if text and one]
        if len(begun) == 1:
            sums[begun[0]] += probability
        elif begun:
            shared += probability
    total = sum(sums)
    if total < LEAST_MASS or shared > _AMBIGUOUS * (total + shared):
        return None
    return [value / total for value in sums]
