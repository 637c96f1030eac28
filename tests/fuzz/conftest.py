"""The number of cases that a run has tried, which `make fuzz` adds up."""

from collections import Counter

import pytest
from hypothesis import settings

# `make fuzz` loads this profile, with another seed in each round.
settings.register_profile(
    "fuzz", deadline=None, derandomize=False, database=None, max_examples=250, print_blob=True
)
CASES = Counter()


@pytest.fixture(scope="session")
def count_case():
    """Return a function that counts a case of a test."""

    def count(name):
        CASES[name] += 1

    return count


def pytest_terminal_summary(terminalreporter):
    for name, number in sorted(CASES.items()):
        terminalreporter.write_line(f"cases of {name}: {number}")


def pytest_collection_modifyitems(items):
    """Let a failure be reported as it is, though its arguments, such as model files, are long."""
    for item in items:
        if "tests/fuzz" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings("ignore:Generating overly large repr"))
