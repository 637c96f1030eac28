"""The max-margin graph cut on a Dask cluster, from Parquet files to Parquet files."""

from importlib.util import find_spec

for _package in ("cryptography", "dask", "distributed", "pandas", "pyarrow"):
    if find_spec(_package) is None:
        msg = f'graphmargin.distributed needs {_package}; pip install "graphmargin[dask]"'
        raise ImportError(msg)

from graphmargin.distributed.cluster_errors import ClusterError  # noqa: E402 - these need Dask
from graphmargin.distributed.estimator import DistributedGraphCut  # noqa: E402

__all__ = ["ClusterError", "DistributedGraphCut"]
