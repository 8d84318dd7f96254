"""What a run kept and dropped, and why, as a page that can be looked through and cut again."""

from ragsieve.inspector.page import page
from ragsieve.inspector.views import view

__all__ = ["page", "view"]
