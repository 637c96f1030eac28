"""How the site is built: `make docs`. Nothing is fetched; a warning is an error."""

from __future__ import annotations

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

import graphmargin

project = "graphmargin"
author = "The graphmargin developers"
copyright = "the graphmargin developers"
version = release = graphmargin.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False

html_theme = "furo"
html_title = "graphmargin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = "$ "

plot_html_show_formats = False
plot_html_show_source_link = False
plot_formats = [("png", 150)]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "subsection_order": ["../examples/first", "../examples/data", "../examples/trust"],
    "ignore_pattern": r"^(?!plot_)",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/uses",
    "doc_module": ("graphmargin",),
    "reference_url": {"graphmargin": None},
    "parallel": 2,
    "remove_config_comments": True,
    "write_computation_times": False,
    "show_signature": False,
}


def setup(app: Sphinx) -> None:
    """Register what Sphinx has no option for."""
    # Browsers draw MathML without a script from elsewhere.
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("autodoc-skip-member", _is_inherited)


def _is_inherited(*event) -> bool | None:
    """Tell whether a member comes from scikit-learn, whose own site describes it."""
    obj = event[3]
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn") else None


def _inline(translator, node) -> None:
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise SkipNode


def _block(translator, node) -> None:
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise SkipNode
