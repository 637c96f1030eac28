"""The folder of a reproduction: runs, sections and pages, each a file that is replaced as a whole.

``run.json`` names every run, ``sections/NAME.json`` is what a finished experiment adds to the page,
``images/`` has its pictures, and ``reproduction.md`` and ``reproduction.html`` are the page.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

from graphmargin._errors import InputError
from graphmargin._files import atomic_write
from reproduction.claims import Claim
from reproduction.options import RunOptions
from reproduction.page import Chapter, page_html, page_markdown
from reproduction.provenance import provenance
from reproduction.section import Section

SEED_RULE = (
    "No seed is chosen: the seeds of a setting are numpy.random.SeedSequence([crc32('cell of "
    "NAME'), its numbers]), where NAME is the problem (reproduction.runner.seeds); every run draws "
    "the same rows and labels, in whatever order and number of processes."
)


def check_folder(folder: Path) -> None:
    """Raise InputError unless results can be kept in the folder; it is created if need be."""
    try:
        atomic_write(folder / ".writable", b"")
        (folder / ".writable").unlink()
    except OSError as wrong:
        reason = "it is a file" if folder.is_file() else wrong.strerror
        msg = f"`out` must be a folder to write to, got {str(folder)!r} ({reason}); name another"
        raise InputError(msg) from wrong
    _check_stored(folder / "run.json", lambda stored: [run["id"] for run in stored["runs"]])
    for file in folder.glob("sections/*.json"):
        _check_stored(file, lambda stored: _chapter("", stored, []))


@contextmanager
def recorded_run(
    names: Sequence[str], options: RunOptions, command: str
) -> Iterator[Callable[[str], AbstractContextManager[None]]]:
    """Add a run to ``run.json``; yield a context for each experiment that it works on.

    The run is there from the beginning, so that even of one that was killed it is known which code
    computed the settings that it has finished.
    """
    run: dict[str, Any] = {
        "id": uuid4().hex,
        "command": command,
        "names": list(names),
        "begun": {},
        "options": _results_depend_on(options) | {"jobs": options.n_jobs},
        "provenance": provenance(),
        "started": _now(),
        "seconds": None,
        "outcome": "began",
    }
    start = time.perf_counter()

    def save() -> None:
        # Others may run in the same folder at the same time: only our own entry is replaced.
        runs = {other["id"]: other for other in _runs(options.folder)} | {run["id"]: run}
        _write(options.folder / "run.json", {"seed": SEED_RULE, "runs": list(runs.values())})

    @contextmanager
    def work_on(name: str) -> Iterator[None]:
        begun = time.perf_counter()
        run["begun"][name] = 0.0
        save()
        try:
            yield
        finally:
            run["begun"][name] = round(time.perf_counter() - begun, 3)
            save()

    save()
    try:
        yield work_on
        run["outcome"] = "finished"
    except KeyboardInterrupt:
        run["outcome"] = "interrupted"
        raise
    except Exception:
        run["outcome"] = "failed"
        raise
    finally:
        run["seconds"] = round(time.perf_counter() - start, 3)
        save()


def store_section(name: str, section: Section, options: RunOptions) -> None:
    """Save the pictures of a section, then all the rest of it."""
    for image, figure in section.figures.items():
        png = BytesIO()
        figure.savefig(png, format="png", dpi=150, bbox_inches="tight")
        atomic_write(options.folder / _address(image), png.getvalue())
    stored = {
        "title": section.title,
        "markdown": section.markdown,
        "images": list(section.figures),
        "claims": [asdict(claim) for claim in section.claims],
        "options": _results_depend_on(options),
        "finished": _now(),
    }
    _write(_section_file(options.folder, name), stored)


def page_files(folder: Path) -> tuple[Path, Path]:
    """Return the paths of the page in Markdown and in HTML."""
    return folder / "reproduction.md", folder / "reproduction.html"


def write_page(folder: Path, names: Sequence[str]) -> None:
    """Write the page of all sections that are finished, in the order of `names`."""
    finished = {name: _read(_section_file(folder, name)) for name in names}
    stored = {name: section for name, section in finished.items() if section is not None}
    runs = _runs(folder)
    text = page_markdown([_chapter(name, section, runs) for name, section in stored.items()])
    addresses = [_address(image) for section in stored.values() for image in section["images"]]
    images = {address: (folder / address).read_bytes() for address in addresses}
    markdown, html = page_files(folder)
    atomic_write(markdown, text.encode())
    atomic_write(html, page_html(text, images).encode())


def _chapter(name: str, stored: dict[str, Any], runs: Sequence[dict[str, Any]]) -> Chapter:
    claims = tuple(Claim(**claim) for claim in stored["claims"])
    own_runs = [run for run in runs if name in run["begun"]]
    sources = [run["provenance"] for run in own_runs]
    return Chapter(
        Section(stored["title"], stored["markdown"], claims=claims),
        command=_command(name, **stored["options"]),
        date=stored["finished"],
        seconds=sum(run["begun"][name] for run in own_runs),
        commits=tuple(dict.fromkeys(_code(source) for source in sources)),
        versions=tuple(dict.fromkeys(_versions(source) for source in sources)),
    )


def _command(name: str, *, quick: bool, draws: int | None) -> str:
    words = ["python", "-m", "reproduction", name]
    words += ["--quick"] if quick else []
    words += [] if draws is None else ["--draws", str(draws)]
    return " ".join(words)


def _code(source: dict[str, Any]) -> str:
    return source["commit"] or f"version {source['versions']['graphmargin']}"


def _versions(source: dict[str, Any]) -> str:
    packages = [f"{package} {version}" for package, version in source["versions"].items()]
    python = f"Python {source['python']}"
    return ", ".join([*packages, python, f"{source['machine']} with {source['cpus']} CPUs"])


def _results_depend_on(options: RunOptions) -> dict[str, Any]:
    return {"quick": options.quick, "draws": options.draws}


def _address(image: str) -> str:
    return f"images/{image}.png"


def _section_file(folder: Path, name: str) -> Path:
    return folder / "sections" / f"{name}.json"


def _runs(folder: Path) -> list[dict[str, Any]]:
    stored = _read(folder / "run.json")
    return [] if stored is None else stored["runs"]


def _check_stored(file: Path, use: Callable[[Any], Any]) -> None:
    """Raise InputError if there is a file that is not ours, or that another version wrote."""
    stored = _read(file)
    try:
        _ = stored if stored is None else use(stored)
    except (KeyError, TypeError) as wrong:
        msg = (
            f"`out` has a file of something else, {str(file)!r}; remove it, or name another folder"
        )
        raise InputError(msg) from wrong


def _read(file: Path) -> Any:
    """Return what a JSON file has, or None if there is no such file."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as wrong:
        msg = f"`out` has a file that is not JSON, {str(file)!r} ({wrong}); remove it"
        raise InputError(msg) from wrong


def _write(file: Path, content: Any) -> None:
    atomic_write(file, (json.dumps(content, indent=1) + "\n").encode())


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
