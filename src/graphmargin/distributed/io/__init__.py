"""Tables on the way in and on the way out: Parquet files, labels, encoded rows."""
