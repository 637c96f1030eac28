import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_python_example_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})
    printed = capsys.readouterr().out
    assert printed.startswith("graph: 5,620 points")
    assert "\nvertex 7 -> '" in printed


def test_pictures_and_pages_exist():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text())
    assert targets
    for target in targets:
        assert (README.parent / target).exists(), target
