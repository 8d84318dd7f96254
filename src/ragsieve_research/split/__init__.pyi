from .semantic import Semantic as Semantic
from .windows import Windows as Windows
