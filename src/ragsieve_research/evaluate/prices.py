"""Prices of tokens."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragsieve.schema import Options, Weight

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Prices(Options):
    """Prices of a million tokens, in any currency; finite and not negative.

    Args:
        price_in: Of tokens that the generator reads.
        price_out: Of tokens that the generator writes.
        filter_price_in: Of tokens that a filter's LLM reads; as ``price_in`` where None.
        filter_price_out: Of tokens that a filter's LLM writes; as ``price_out`` where None.

    Raises:
        InputError: If a price is negative or not finite.
    """

    price_in: Weight = 1.0
    price_out: Weight = 4.0
    filter_price_in: Weight | None = None
    filter_price_out: Weight | None = None

    def filter(self, read: Values, written: Values) -> Values:
        """Price of a filter's tokens, each question's or a sum, times a million."""
        price_in = self.price_in if self.filter_price_in is None else self.filter_price_in
        price_out = self.price_out if self.filter_price_out is None else self.filter_price_out
        return np.asarray(price_in * read + price_out * written)

    def generator(self, read: Values, written: Values) -> Values:
        """The same of the generator's tokens."""
        return np.asarray(self.price_in * read + self.price_out * written)
