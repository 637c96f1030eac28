"""Snapshots of a session as the JSON and the bytes that the page reads."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from graphmargin._typing import IntArray
from graphmargin.labels import UNLABELED
from graphmargin.studio.service import Studio
from graphmargin.studio.session import SKIPPED, UNSURE, Session, check_rows, read_integer
from graphmargin.studio.snapshot import Snapshot
from graphmargin.studio.table_view import select_rows

MAX_LIST = 1000
N_BEST = 5
N_BECAUSE = 3
SURE_DISAGREEMENT = 0.5
"""Confidence from which a predicted label counts as disagreeing with a new one."""
N_EXAMPLES = 6


def table_json(studio: Studio) -> dict[str, Any]:
    """Return what the page needs once: columns, images and notes."""
    view, task = studio.view, studio.task
    image: dict[str, Any] | None = None
    if view.pixels is not None:
        image = {"kind": "pixels", "width": view.pixels.width, "height": view.pixels.height}
    elif view.image_column is not None:
        image = {"kind": "files", "column": view.image_column}
    columns = [{"name": name, "kind": kind} for name, kind in view.kinds.items()]
    return {
        "name": studio.path.name,
        "rows": len(task.table),
        "target": task.target.name,
        "columns": columns,
        "image": image,
        "notes": list(studio.notes),
    }


def class_keys(session: Session) -> list[str | None]:
    """Return the key of each active class.

    If all names are digits, the key is the name; otherwise keys are 1 to 9 and 0, by order.
    """
    names = [known.name for known in session.active]
    if all(len(name) == 1 and name in "0123456789" for name in names):
        return list(names)
    keys = [*"1234567890"]
    return [keys[i] if i < len(keys) else None for i in range(len(names))]


def state_json(now: Snapshot) -> dict[str, Any]:
    """Return the state: classes, queue, questions, estimate, advice and models."""
    session, labels, fit = now.session, now.session.labels, now.fit
    predicted = now.predicted[labels == UNLABELED]
    classes = [
        {
            "id": known.code,
            "name": known.name,
            "labels": int((labels == known.code).sum()),
            "predicted": int((predicted == known.code).sum()),
            "key": key,
        }
        for known, key in zip(session.active, class_keys(session), strict=True)
    ]
    names = [known.name for known in session.classes]
    return {
        "version": now.version,
        "classes": classes,
        "n_labels": session.n_labels,
        "n_rows": len(labels),
        "n_skipped": int(((session.marks & SKIPPED) > 0).sum()),
        "n_unsure": int(((session.marks & UNSURE) > 0).sum()),
        "can_undo": session.can_undo,
        "can_redo": session.can_redo,
        "queue": [
            {
                "row": queued.row,
                "predicted": int(now.predicted[queued.row]),
                "confidence": float(now.confidence[queued.row]),
                "reason": queued.reason,
            }
            for queued in now.live.queue
        ],
        "questions": [
            {
                **asdict(question),
                "reason": f"labeled {names[question.label]!r}, but the other labels say "
                f"{names[question.expected]!r}",
            }
            for question in now.questions
        ],
        "estimate": None if now.estimate is None else asdict(now.estimate),
        "history": [list(point) for point in now.history],
        "advice": now.advice._asdict(),
        "model": {
            "shown": now.shown,
            "stale_labels": now.stale_labels,
            "fit": fit.status,
            "progress": fit.progress,
            "stage": fit.stage,
            "error": fit.error,
        },
        "map": "ready" if now.is_map_ready else "computing",
    }


def row_json(studio: Studio, row: int) -> dict[str, Any]:
    """Return a row: its cells, its label, its prediction, and the labels behind it."""
    now = studio.snapshot
    session = now.session
    check_rows([row], len(session.labels))
    distribution = now.distributions[row]
    best = np.argsort(-distribution, kind="stable")[:N_BEST]
    marks = int(session.marks[row])
    label = int(session.labels[row])
    decision = "unsure" if marks & UNSURE else "skipped" if marks & SKIPPED else None
    reasons = {queued.row: queued.reason for queued in now.live.queue}
    return {
        "row": row,
        "cells": studio.view.cells(row),
        "label": label,
        "decision": decision or (None if label == UNLABELED else "labeled"),
        "predicted": int(now.predicted[row]),
        "confidence": float(now.confidence[row]),
        "distribution": [[int(k), float(distribution[k])] for k in best if distribution[k] > 0],
        "because": [
            {"row": int(source), "label": int(session.labels[source]), "share": float(share)}
            for source, share in studio.live.state.explain(row, N_BECAUSE)
        ],
        "reason": reasons.get(row),
    }


def list_json(studio: Studio, options: dict[str, str]) -> dict[str, Any]:
    """Return a part of the rows that pass a filter, in the order that it names."""
    now = studio.snapshot
    rows = select_rows(studio.view, now, options)
    offset = max(0, read_integer("offset", options.get("offset", "0")))
    limit = min(MAX_LIST, max(0, read_integer("limit", options.get("limit", "100"))))
    return {
        "total": len(rows),
        "columns": studio.view.list_columns,
        "rows": [
            {
                "row": int(row),
                "label": int(now.session.labels[row]),
                "predicted": int(now.predicted[row]),
                "confidence": float(now.confidence[row]),
                "cells": studio.view.short_cells(int(row)),
            }
            for row in rows[offset : offset + limit]
        ],
    }


def preview_json(now: Snapshot, rows: IntArray, code: int) -> dict[str, Any]:
    """Return how many rows a label would change, and rows that disagree most."""
    labels = now.session.labels[rows]
    is_labeled = labels != UNLABELED
    others = ~is_labeled & (now.predicted[rows] != code)
    disagrees = others & (now.confidence[rows] >= SURE_DISAGREEMENT)
    relabeled = is_labeled & (labels != code)
    examples = np.concatenate([np.flatnonzero(relabeled), np.flatnonzero(disagrees)])
    order = np.argsort(-now.confidence[rows][examples], kind="stable")
    return {
        "rows": len(rows),
        "labeled": int(is_labeled.sum()),
        "relabeled": int(relabeled.sum()),
        "disagree": int(disagrees.sum()),
        "examples": rows[examples[order]][:N_EXAMPLES].tolist(),
    }


def predictions_bytes(now: Snapshot, rows: IntArray | None) -> bytes:
    """Return four bytes for each row or, for some rows, their numbers and these bytes."""
    if rows is None:
        return now.packed.tobytes()
    numbers = rows.astype("<u4").view(np.uint8).reshape(-1, 4)
    return np.hstack([numbers, now.packed[rows]]).tobytes()
