"""The campaign's kinds by name; see CONTRIBUTING.md."""

from .clocks import CLOCK_KIND
from .damage import DAMAGED
from .disks import DISKS
from .folders import BITS, FOLDERS
from .kills import KILLS
from .large import BOMB_FILES, LARGE
from .poisoned import POISONED
from .replies import REPLIES
from .requests import REQUESTS
from .sources import SOURCES
from .streams import STREAMS
from .waits import WAITS

ALL = (
    *(REPLIES, DAMAGED, FOLDERS, BITS, SOURCES, REQUESTS, CLOCK_KIND, KILLS, DISKS, WAITS),
    *(STREAMS, LARGE, BOMB_FILES, POISONED),
)
KINDS = {kind.name: kind for kind in ALL}
