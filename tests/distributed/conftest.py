import pytest


@pytest.fixture(scope="session")
def client(cluster):
    """Return the client of the shared cluster."""
    return cluster.client
