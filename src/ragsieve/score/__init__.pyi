from .embedding import Cosine as Cosine
from .lexical import BM25 as BM25
from .ngrams import Ngrams as Ngrams
from .pair import Pair as Pair
from .pruner import Pruner as Pruner
