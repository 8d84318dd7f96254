from .folder import push_to_hub as push_to_hub
from .folder import read as read
from .folder import save as save
from .recipe import (
    Base as Base,
)
from .recipe import (
    Split as Split,
)
from .recipe import (
    Trained as Trained,
)
from .recipe import (
    TrainedPart as TrainedPart,
)
from .recipe import (
    TrainingData as TrainingData,
)
from .weights import sha256_of as sha256_of
