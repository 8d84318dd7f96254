from .app import create_app as create_app
from .settings import Limits as Limits
from .settings import Settings as Settings
from .settings import Upstream as Upstream
