"""What can be wrong with a cluster."""

from __future__ import annotations

from graphmargin._errors import InputError


class ClusterError(InputError):
    """The workers cannot do the job as it is, in one line that tells the way out."""


class WorkDirError(InputError):
    """A folder for a run holds another one, this one already, or something else."""
