from .corpus import About as About
from .corpus import By as By
from .corpus import Change as Change
from .corpus import Corpus as Corpus
from .corpus import Search as Search
