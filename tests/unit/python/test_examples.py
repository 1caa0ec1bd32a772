# SPDX-License-Identifier: MIT
"""The programs of examples/python on a device of the mock: each prints what its docstring says."""

import ast
import glob
import os
import subprocess
import sys
import textwrap
import unittest

import mock

PROGRAMS = sorted(glob.glob(os.path.join(mock.HERE, "../../../examples/python/*.py")))


class Examples(unittest.TestCase):
    def test_programs(self):
        self.assertGreaterEqual(len(PROGRAMS), 10)
        for path in PROGRAMS:
            with self.subTest(os.path.basename(path)):
                with open(path, encoding="utf-8") as file:
                    words = ast.get_docstring(ast.parse(file.read())).split("Prints:\n")[1]
                result = subprocess.run([sys.executable, "-W", "error", path], stdout=subprocess.PIPE,
                                        text=True, stderr=subprocess.STDOUT, check=False,
                                        timeout=mock.PATIENCE, env={**os.environ, "MOCK_CARDS": "0"})
                self.assertEqual((result.returncode, result.stdout),
                                 (0, textwrap.dedent(words).rstrip() + "\n"))
