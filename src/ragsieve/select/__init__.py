"""Scored segments → kept segments: drops or reorders, never scores."""

from typing import TYPE_CHECKING, Any

from ragsieve.select.adaptive import Adaptive
from ragsieve.select.cut import Cut
from ragsieve.select.extract import Extract
from ragsieve.select.order import Order
from ragsieve.select.threshold import Threshold
from ragsieve.select.top import Budget, TopK
from ragsieve.select.truncate import Truncate

if TYPE_CHECKING:
    from ragsieve.select.distinct import Distinct

__all__ = [
    "Adaptive",
    "Budget",
    "Cut",
    "Distinct",
    "Extract",
    "Order",
    "Threshold",
    "TopK",
    "Truncate",
]


def __getattr__(name: str) -> Any:
    if name == "Distinct":  # needs scikit-learn
        from ragsieve.select.distinct import Distinct

        return Distinct
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
