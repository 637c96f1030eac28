"""Errors about a cluster, and about the folder of a run."""

from __future__ import annotations

from graphmargin._errors import InputError


class ClusterError(InputError):
    """Raised if the workers cannot do the fit as it is; one line that tells the way out.

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
    """Raised if the folder of a run holds another run, this one already, or something else."""
