"""Models for the rows of arrays and tables, and model files."""

from graphmargin.models.array_model import ArrayModel
from graphmargin.models.description import ModelInfo
from graphmargin.models.model_errors import ModelFileError
from graphmargin.models.model_file import load_model, model_info, save_model
from graphmargin.models.table_model import TableModel

__all__ = [
    "ArrayModel",
    "ModelFileError",
    "ModelInfo",
    "TableModel",
    "load_model",
    "model_info",
    "save_model",
]
