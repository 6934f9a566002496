"""The documentation site: what Sphinx reads. `make docs` builds it, by tools/docs_site/build.py.

Sources are not this folder but a copy in build/site/source: there everything that is generated has
its place (tools/docs_site/sources.py), and docs/*.md stay as they are read in the repository.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "examples" / "gallery"
sys.path[:0] = [str(ROOT / "tools" / "docs_site"), str(GALLERY)]
os.environ.setdefault("MPLBACKEND", "agg")

import api_links  # noqa: E402

from kernelight import __version__  # noqa: E402

project = "kernelight"
author = "The kernelight developers"
copyright = "2026, The kernelight developers"
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "api_links",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
templates_path = [str(ROOT / "docs" / "_templates")]  # autosummary looks beside the sources
exclude_patterns = ["_assets", "gallery/*.ipynb", "gallery/*.py", "gallery/GALLERY_HEADER.rst"]
smartquotes = False  # "tune" in a docstring is Python
nitpicky = False  # types in docstrings are words, not names

# -- Markdown ------------------------------------------------------------------------------------
# A formula is between dollars without a space inside, so that prices stay prices.
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
myst_heading_anchors = 4  # links to headings as a forge makes them
myst_fence_as_directive: list[str] = []

# -- Formulas: MathJax, which its package brings along ---------------------------------------------
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {
    "options": {"enableMenu": False},  # its menu would load more files
    "chtml": {"displayAlign": "left", "displayIndent": "1.5em"},
}

# -- Reference -----------------------------------------------------------------------------------
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstring says what a parameter is
autodoc_member_order = "alphabetical"
autodoc_mock_imports = ["pyspark"]
maximum_signature_line_length = 76
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the templates list them
numpydoc_xref_param_type = False
default_role = "api"  # `Name` in a docstring is a link where it is public
viewcode_line_numbers = True

# -- Gallery -------------------------------------------------------------------------------------
sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": os.path.relpath(GALLERY, ROOT / "build/site/source"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(?:^|/)_",  # helpers of examples are none
    # the look of the pictures, each for light and for dark pages, and their order
    "image_scrapers": ("_style.scraper",),
    "reset_modules": ("_style.reset",),
    "within_subsection_order": "_style.Order",
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # its page takes scripts from elsewhere
    "show_signature": False,
    "min_reported_time": 1,
    "download_all_examples": False,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("kernelight",),
    "reference_url": {"kernelight": None},
    "plot_gallery": os.environ.get("KERNELIGHT_GALLERY", "1") != "0",
}
warnings.filterwarnings("ignore", message=".*non-GUI backend.*")

# -- The look ------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "kernelight"
html_static_path = ["_static", str(ROOT / "build" / "site" / "source" / "_assets")]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system has it
html_theme_options: dict[str, Any] = {
    "logo": {"text": "kernelight"},
    "navbar_align": "left",
    "navbar_center": ["navbar-nav"],
    "header_links_before_dropdown": 8,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "collapse_navigation": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "search_bar_text": "Search, such as GCWS",
}
html_sidebars = {"index": [], "start": [], "compare": [], "command-reference": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def skip_foreign(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool:
    """Whether to leave a member out: those of scikit-learn have their own documentation."""
    home = getattr(value, "__module__", None) or ""
    metadata_request = name.startswith("set_") and name.endswith("_request")
    return bool(skip or metadata_request or (home and not home.startswith("kernelight")))


def setup(app: Any) -> None:
    """Connect what is ours."""
    app.connect("autodoc-skip-member", skip_foreign)
    assert api_links is not None
