"""Drawn examples have no deadline, and torch has one thread: a machine that others share is late
now and then."""

import sys

import pytest
from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")


@pytest.fixture(scope="module", autouse=True)
def one_thread_of_torch(request):
    """See `one_thread`; torch is not imported for it."""
    if "torch" in sys.modules:
        request.getfixturevalue("one_thread")
