"""Kept segments → prompt → answer."""

from ragsieve.answer.demonstrations import Demonstration, read_demonstrations
from ragsieve.answer.reader import Reader

__all__ = ["Demonstration", "Reader", "read_demonstrations"]
