"""Kept segments → prompt → answer."""

from ragsieve.answer.reader import Reader

__all__ = ["Reader"]
