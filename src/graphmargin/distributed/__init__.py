"""The same job on a Dask cluster, from Parquet to Parquet."""
