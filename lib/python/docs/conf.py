# SPDX-License-Identifier: MIT
"""The reference of the modules, of their docstrings: sphinx-build lib/python/docs DIRECTORY"""

import accel

project = "accel"
version = release = accel.__version__
extensions = ["sphinx.ext.autodoc"]
autodoc_default_options = {"members": True, "undoc-members": True, "special-members":
                           "__enter__,__exit__,__await__,__getitem__,__setitem__,__len__,__dlpack__"}
html_theme = "alabaster"
