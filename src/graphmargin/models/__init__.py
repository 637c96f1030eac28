"""Models that are kept: for tables, and in files."""

from graphmargin.models.description import ModelInfo
from graphmargin.models.errors import ModelFileError
from graphmargin.models.model_file import load_model, model_info, save_model
from graphmargin.models.table_model import TableModel

__all__ = [
    "ModelFileError",
    "ModelInfo",
    "TableModel",
    "load_model",
    "model_info",
    "save_model",
]
