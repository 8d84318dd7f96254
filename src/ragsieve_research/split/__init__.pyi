from .semantic import Semantic as Semantic
