"""Kept segments → prompt → answer."""

from ragsieve.answer.agent import Agent
from ragsieve.answer.critic import Critic
from ragsieve.answer.demonstrations import read_demonstrations
from ragsieve.answer.reader import Demonstration, Reader
from ragsieve.answer.reasoning import Reasoning

__all__ = ["Agent", "Critic", "Demonstration", "Reader", "Reasoning", "read_demonstrations"]
