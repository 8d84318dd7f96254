"""An HTML page that shows what a run kept and dropped, with sliders for the thresholds."""

from ragsieve.inspector.page import page
from ragsieve.inspector.views import view

__all__ = ["page", "view"]
