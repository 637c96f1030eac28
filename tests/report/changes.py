"""Changes of a report, which several tests of pages share."""

from dataclasses import fields, replace


def change(report, **values):
    """Return the report with other values of its fields, or of those of its summary."""
    own = {field.name for field in fields(report)} & set(values)
    summary = replace(
        report.summary, **{name: value for name, value in values.items() if name not in own}
    )
    return replace(report, summary=summary, **{name: values[name] for name in own})
