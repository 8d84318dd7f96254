from .blocks import Blocks as Blocks
from .sentences import Sentences as Sentences
