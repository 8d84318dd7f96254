"""The campaign's kinds by name; see CONTRIBUTING.md."""

from __future__ import annotations

from .clocks import CLOCK_KIND
from .damage import DAMAGED
from .folders import FOLDERS
from .kills import KILLS
from .networks import NETWORKS
from .pages import PAGES
from .replies import REPLIES
from .requests import REQUESTS
from .sources import SOURCES
from .texts import TEXTS

ALL = (REPLIES, TEXTS, DAMAGED, FOLDERS, SOURCES, REQUESTS, NETWORKS, CLOCK_KIND, PAGES, KILLS)
KINDS = {kind.name: kind for kind in ALL}
