"""Errors about a cluster, and about the folder of a run."""

from __future__ import annotations

from graphmargin._errors import InputError


class ClusterError(InputError):
    """Raised if the workers cannot run a fit; the message is one line that says what to do.

    Examples
    --------
    >>> from graphmargin.distributed import ClusterError, DistributedGraphCut
    >>> model = DistributedGraphCut()
    >>> try:
    ...     model.fit("rows.parquet", label="kind", client="nowhere", work_dir="run")
    ... except ClusterError as error:
    ...     print(str(error).partition(" (")[0])
    no Dask scheduler answers at 'nowhere'
    """


class WorkDirError(InputError):
    """Raised if the folder for a run has another run, this one already, or other files."""
