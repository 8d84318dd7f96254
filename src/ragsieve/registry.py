"""Members of a kind by name: an entry stands beside its member, another package's are found.

    SYSTEMS = Registry("system", "ragsieve.systems", SystemEntry, package="ragsieve.systems")

A name is looked for in the modules of the kind's package, first in that which is called like it
or like its beginning (``chunkrag-x`` in ``chunkrag.py``). Where none has it, entry points of the
kind's group are read: one names a module that registers members, a package of such modules, or one
member.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ragsieve.errors import InputError, RagsieveError, nearest, typed_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_log = logging.getLogger(__name__)

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries of a kind by name; modules are imported when a name asks for them.

    Args:
        kind: What a member is, for messages.
        group: Entry points by which other packages add members.
        entry: The class of entries.
        package: The package whose modules register members; where empty, all are registered by
            whoever makes the registry.
        names: What a name must match, a regular expression.
        rank: Order of the names; that of registration where None.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        entry: type[Entry],
        *,
        package: str = "",
        names: str = "[a-z0-9]+(-[a-z0-9]+)*",
        rank: Callable[[str], Any] | None = None,
    ) -> None:
        self.kind, self.group, self.package = kind, group, package
        self._entry, self._rank = entry, rank
        self._names = re.compile(names)
        self._entries: dict[str, Entry] = {}
        self._members: dict[str, object] = {}
        self._packages: list[str] | None = None  # of entry points, once they were read
        self._lock = threading.RLock()

    def register(self, name: str, entry: Entry, member: object = None) -> None:
        """Add a member; that of the same place in the code may come again.

        Args:
            name: Its name.
            entry: What is known of it.
            member: The function or class that the entry stands beside; the entry where None.

        Raises:
            InputError: If the name is another member's, or breaks its rule.
        """
        member = entry if member is None else member
        if not self._names.fullmatch(name):
            rule = "of a-z, 0-9 and dashes" if "-" in self._names.pattern else "a name"
            raise InputError(f"a {self.kind}'s name must be {rule}, got {name!r}")
        if name in self._members and _place(self._members[name]) != _place(member):
            new, old = _place(member)[0], _place(self._members[name])[0]
            raise InputError(f"{self.kind} {name!r} of {new} is there: {old} has it")
        self._entries[name], self._members[name] = entry, member

    def __getitem__(self, name: str) -> Entry:
        if not isinstance(name, str) or not self._names.fullmatch(name):
            raise KeyError(name)
        for load in self._loads(f"{name}-".replace("-", "_")):
            if name in self._entries:
                break
            load()
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        for load in self._loads():
            load()
        return iter(sorted(self._entries, key=self._rank) if self._rank else [*self._entries])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def entries(self) -> Mapping[str, Entry]:
        """Those registered so far; imports nothing."""
        return self._entries

    def find(self, name: str) -> Entry:
        """The entry of ``name``.

        Raises:
            InputError: If there is none; it names those there are, and what may have been meant.
        """
        if name not in self:
            raise InputError(self.unknown(name))
        return self[name]

    def unknown(self, name: object, *others: str) -> str:
        """A message that no member is called ``name``.

        Args:
            name: The unknown name.
            others: What else would have been possible.
        """
        known, near = ", ".join([*self, *others]) or "none", nearest(str(name), self)
        return f"{self.kind} must be one of {known}, got {name!r}{near}{more(self.group)}"

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """What is registered inside ``with`` is gone after it; entry points are read anew."""
        for load in self._loads():
            load()
        known = {**self._entries}, {**self._members}
        self._packages = None
        try:
            yield
        finally:
            self._entries, self._members = known
            self._packages = None

    def _loads(self, spelt: str = "") -> Iterator[Callable[[], object]]:
        """What imports modules, one after the other: those spelt like a name come first."""

        def loads(package: str) -> list[Callable[[], object]]:
            nearness = {module: spelt.startswith(f"{module}_") for module in _modules(package)}
            near_first = sorted(nearness, key=lambda module: not nearness[module])
            return [partial(self._import, f"{package}.{m}", nearness[m]) for m in near_first]

        yield from loads(self.package) if self.package else ()
        yield self._read_points
        for package in self._packages or ():
            yield from loads(package)

    def _import(self, place: str, near: bool) -> None:
        """Import a module; one of another package that cannot be is left out with a warning."""
        own = place.startswith(f"{self.package}.")
        try:
            import_module(place)
        except Exception as error:  # whatever a module raises when it is imported
            if (own or near) and isinstance(error, RagsieveError):
                raise  # the name may be this module's: say what it lacks
            if own:
                reason = typed_line(error)
                raise ImportError(f"module {place} cannot be imported: {reason}") from error
            _log.warning("module %s of %s is left out: %s", place, self.group, error)

    def _read_points(self) -> None:
        """Import what entry points name; what cannot be imported is left out with a warning."""
        with self._lock:  # who asks meanwhile waits
            if self._packages is not None:
                return
            self._packages = []
            for point in points(self.group):
                try:
                    self._read_point(point)
                except Exception as error:  # as above
                    left_out = point.name, self.group, error
                    _log.warning("entry point %s of %s is left out: %s", *left_out)

    def _read_point(self, point: "EntryPoint") -> None:
        value = point.load()
        if isinstance(value, self._entry):
            self.register(point.name, value)
        elif isinstance(value, ModuleType):
            if hasattr(value, "__path__") and self.package:
                assert self._packages is not None
                self._packages.append(value.__name__)
        elif not any(value is member for member in self._members.values()):
            name = f"{self._entry.__module__}.{self._entry.__qualname__}"
            rule = f"must be a module, a {name} or registered as one"
            raise InputError(f"{point.value} {rule}, got {value!r:.80}")


def points(group: str) -> "list[EntryPoint]":
    """Entry points of a group, of whatever is installed."""
    from importlib.metadata import entry_points  # which imports a parser of mails

    return [*entry_points(group=group)]


def more(group: str, extra: str = "research") -> str:
    """The end of a message about an unknown name, where no other package has any."""
    return "" if points(group) else f" (more come with: pip install 'ragsieve[{extra}]')"


@cache
def _modules(package: str) -> list[str]:
    """Names of the modules of a package, none imported."""
    return [module.name for module in iter_modules(import_module(package).__path__)]


def _place(member: object) -> tuple[object, object]:
    return getattr(member, "__module__", member), getattr(member, "__qualname__", member)
