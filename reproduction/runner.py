"""The runner of experiments: many settings in processes, finished ones kept in a CSV file."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from zlib import crc32

from joblib import Parallel, delayed, parallel_config
from numpy.random import SeedSequence

from graphmargin._progress import report_stage
from reproduction.records import R, append_csv, open_csv

S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T")
Parts: TypeAlias = Mapping[tuple[Any, ...], Any]


def seeds(name: str, *numbers: int) -> SeedSequence:
    """Return the seeds of all that is random in a setting.

    Examples
    --------
    >>> seeds("moons", 10, 0).entropy
    [2319972685, 10, 0]
    """
    # All results that were ever stored depend on this text.
    return SeedSequence([crc32(f"cell of {name}".encode()), *numbers])


def time_fit(fit: Callable[[], Any], measure: Callable[[Any], T]) -> tuple[T | None, float, str]:
    """Return what is measured of a fitted classifier, the seconds of `fit`, and the failure.

    Examples
    --------
    >>> result, seconds, failure = time_fit(lambda: 2.0, lambda model: model / 0)
    >>> result, failure
    (None, 'ZeroDivisionError: float division by zero')
    """
    start = time.perf_counter()
    seconds = None
    with warnings.catch_warnings():
        # Few labels do not reach all components, and label spreading ends after 30 iterations;
        # where it has no class mass at all, it divides by zero and predicts the first class.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            model = fit()
            seconds = time.perf_counter() - start
            return measure(model), seconds, ""
        except Exception as failure:  # noqa: BLE001 - what a method fails with is a result
            text = " ".join(f"{type(failure).__name__}: {failure}".split())
            return None, seconds or time.perf_counter() - start, text


def run_settings(
    kind: type[R],
    settings: Sequence[S],
    parts: Parts,
    compute: Callable[[S, Parts], list[R]],
    *,
    out: Path | None = None,
    n_jobs: int = 1,
    stage: str = "",
    verbose: bool = False,
) -> list[R]:
    """Return the records of all settings and parts, in this order.

    Parameters
    ----------
    kind : type
        Class of the records.
    settings : sequence of tuples
        Settings in the order in which they are computed.
    parts : mapping
        What there is a record of in each setting, such as methods by their names.
    compute : callable
        Function from a setting, and those of `parts` that are missing there, to their records.
    out : Path, optional
        CSV file to which every finished setting is appended at once. What it has already is not
        computed again.
    n_jobs : int, default=1
        Number of processes, each with a single thread; -1 is one for each core.
    stage : str, default=""
        Name under which progress is reported.
    verbose : bool, default=False
        Whether to report progress on standard error.
    """
    finished = [] if out is None else open_csv(out, kind)
    by_part = {(*record.setting, *record.part): record for record in finished}
    todo = {
        setting: {part: parts[part] for part in parts if (*setting, *part) not in by_part}
        for setting in settings
    }
    tasks = [delayed(compute)(setting, missing) for setting, missing in todo.items() if missing]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    with report_stage(stage, verbose and bool(tasks)) as progress:
        for done, records in enumerate(results, start=1):
            by_part |= {(*record.setting, *record.part): record for record in records}
            if out is not None:
                append_csv(out, records)
            if progress is not None:
                progress(done / len(tasks), ", ".join(map(str, records[0].setting)))
    return [by_part[*setting, *part] for setting in settings for part in parts]
