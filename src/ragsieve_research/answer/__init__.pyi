from .agent import Agent as Agent
from .critic import Critic as Critic
from .demonstrations import read_demonstrations as read_demonstrations
from .reasoning import Reasoning as Reasoning
