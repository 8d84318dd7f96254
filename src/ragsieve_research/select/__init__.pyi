from .adaptive import Adaptive as Adaptive
from .distinct import Distinct as Distinct
from .extract import Extract as Extract
from .truncate import Truncate as Truncate
