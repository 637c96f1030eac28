"""The same job on a Dask cluster, from Parquet to Parquet."""

try:
    import distributed as _  # noqa: F401 - the extra that brings all of them
except ImportError as error:
    msg = "graphmargin.distributed needs Dask; pip install 'graphmargin[dask]'"
    raise ImportError(msg) from error

from graphmargin.distributed.errors import ClusterError
from graphmargin.distributed.estimator import DistributedGraphCut

__all__ = ["ClusterError", "DistributedGraphCut"]
