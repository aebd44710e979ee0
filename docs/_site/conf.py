"""The documentation site: ``make docs`` builds it from ``docs`` into ``build/docs``, without network or warnings."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import isthmus

project = "isthmus"
author = copyright = "The isthmus developers"
version = release = isthmus.__version__
root_doc = "index"
exclude_patterns = [
    "_site",
    "sg_execution_times.rst",
    "auto/examples/*.ipynb",
    "auto/examples/*.py",
    "auto/examples/*.md5",
]
templates_path = ["templates"]
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "mathml",
    "pages",
]

# Code that only shows a shape of use may contain an ellipsis.
suppress_warnings = ["misc.highlighting_failure"]

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
smartquotes = False

autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": "BaseEstimator,Exception,Warning"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "auto/examples",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "show_memory": False,
    "copyfile_regex": "",
    "matplotlib_animations": False,
    "capture_repr": (),
    "thumbnail_size": (360, 240),
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "min_reported_time": 5,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "isthmus"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "isthmus"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
