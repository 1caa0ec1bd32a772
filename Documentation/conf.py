# SPDX-License-Identifier: MIT
"""The site of `make html`: these pages, and the references that other targets of make have generated from the
sources (rules.mk)."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(HERE), os.environ.get("BUILD") or "build")
sys.path[:0] = [os.path.join(HERE, "sphinx"), os.path.join(BUILD, "lib/python")]

project = "paccel"
copyright = author = "the authors of paccel"
extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe", "references", "links"]
exclude_patterns = ["README.md", "ABI", "man", "sphinx"]
nitpicky = True
# Types in declarations: of the kernel, of libc, of SUNDIALS, and those that a header only names.
nitpick_ignore_regex = [("(c|cpp):identifier", ".*")]

myst_heading_anchors = 4
c_id_attributes = ["ACL_FUNC_VISIBILITY", "__user", "__rcu", "__iomem", "ACL_DEPRECATED"]
reference_folder = os.path.join(BUILD, "docs")
breathe_projects = {"paccel": os.path.join(BUILD, "docs/cpp/xml")}
breathe_default_project = "paccel"
autodoc_default_options = {"members": True, "undoc-members": True, "special-members":
                           "__enter__,__exit__,__await__,__getitem__,__setitem__,__len__,__dlpack__"}

html_theme = "sphinx_rtd_theme"
html_theme_options = {"navigation_depth": 3}
html_title = "paccel"
html_show_sourcelink = html_copy_source = html_show_sphinx = False
html_static_path = ["sphinx/static"]
html_css_files = ["paccel.css"]
html_favicon = "sphinx/static/icon.svg"
html_domain_indices = False
