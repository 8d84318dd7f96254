from . import answer as answer
from . import models as models
from . import score as score
from . import select as select
from . import split as split
from . import systems as systems
from .errors import InputError as InputError
from .errors import MissingExtra as MissingExtra
from .errors import ModelError as ModelError
from .errors import RagsieveError as RagsieveError
from .pipeline import Pipeline as Pipeline
from .rerank import rank as rank
from .result import Result as Result
from .system import System as System
from .trace import Trace as Trace
from .typed import load as load
from .types import Answer as Answer
from .types import Document as Document
from .types import Example as Example
from .types import Query as Query
from .types import Segment as Segment

__version__: str
