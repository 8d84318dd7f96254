"""Progress as lines of a log, where standard error is no terminal."""

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import Progress, Task, TaskID


class Lines(Progress):
    """Tells how far a task is, at most every so many seconds and every tenth of it.

    Args:
        tell: Is given each line.
        console: Where a command prints beside them.
        every_s: Seconds between two lines at least.
    """

    def __init__(
        self, tell: Callable[[str], object], console: Console | None = None, every_s: float = 30.0
    ) -> None:
        super().__init__(console=console, disable=True)
        self._tell, self._every_s = tell, every_s
        self._told: dict[TaskID, tuple[float, float]] = {}  # when, and what was done then

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """See `rich.progress.Progress`; ``failed`` is how many ended in an error."""
        super().update(task_id, **changes)
        with self._lock:
            task, now = self._tasks[task_id], time.monotonic()
            when, done = self._told.setdefault(task_id, (now - (task.elapsed or 0.0), 0.0))
            later = now - when >= self._every_s and task.visible
            if later and task.completed - done >= (task.total or 0) / 10:
                self._told[task_id] = now, task.completed
                self._tell(_line(task))


def _line(task: Task) -> str:
    of = f" of {task.total:,.0f}" if task.total else ""
    parts = [f"{task.description or 'questions'}: {task.completed:,.0f}{of} done"]
    if failed := task.fields.get("failed"):
        parts.append(f"{failed:,} failed")
    if task.total and task.completed:
        left = (task.elapsed or 0.0) / task.completed * (task.total - task.completed)
        parts.append(f"about {_time(left)} left")
    return ", ".join(parts)


def _time(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
