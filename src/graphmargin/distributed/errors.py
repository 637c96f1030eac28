"""What can be wrong with a cluster."""

from __future__ import annotations

from graphmargin._errors import InputError


class ClusterError(InputError):
    """The workers cannot do the job as it is, in one line that tells the way out.

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
    """A folder for a run holds another one, this one already, or something else."""
