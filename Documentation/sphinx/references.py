# SPDX-License-Identifier: MIT
"""Directives for references that are not written as pages: what kernel-doc and doxygen have made of the
headers (rules.mk), the files of Documentation/ABI, and manual pages."""

import glob
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

# A DOC comment, as kernel-doc writes it: a label and its name in bold.
DOC = re.compile(r"^\.\. _(.+):\n\n\*\*\1\*\*\n", re.MULTILINE)
ENTRY = re.compile(r"^What:\s+(\S+)\n(.*?)(?=^What:|\Z)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r'<h([12]) class="S[hs]"[^>]*><a[^>]*>(.*?)</a></h\1>', re.DOTALL)
SECTION = re.compile(r'</?section\b[^>]*>|</?div class="manual-text">|<table class="(?:head|foot)">.*?</table>|'
                     r"</div>\s*\Z", re.DOTALL)

# `detail` has one class that is part of the interface: the base class of all resources.
NAMESPACES = ("accel", "accel::detail")


class _File(SphinxDirective):
    """A directive whose argument is a file."""

    required_arguments = 1
    folder = ""

    def path(self):
        path = os.path.normpath(os.path.join(self.env.srcdir, self.folder, self.arguments[0]))
        self.env.note_dependency(path)
        return path

    def read(self):
        with open(self.path(), encoding="utf-8") as file:
            return file.read()

    def section(self, title, name):
        section = nodes.section(ids=[nodes.make_id(name)])
        section += nodes.title(title, title)
        self.state.document.note_explicit_target(section)
        return section


class Generated(_File):
    """The text that kernel-doc makes of a header. Its DOC comments are sections."""

    def run(self):
        self.folder = self.config.reference_folder
        text = DOC.sub(lambda doc: f"{doc[1]}\n{'-' * len(doc[1])}\n", self.read())
        self.state_machine.insert_input([".. highlight:: c", "", *text.split("\n")], self.path())
        return []


class Cpp(SphinxDirective):
    """A header for C++, of which doxygen has made XML: a section for each class, in the order of the header, with
    the functions before and after it."""

    required_arguments = 1

    def run(self):
        lines = []
        for _, directive, name, title in sorted(self.entities(), key=lambda entity: entity[0]):
            if title:
                lines += [title, "^" * len(title), ""]
            lines += [f".. {directive}:: {name}", *(["   :members:", "   :undoc-members:"] if title else []), ""]
        self.state_machine.insert_input(lines, self.arguments[0])
        return []

    def entities(self):
        """(line, directive of breathe, name, title or None)"""
        for path in sorted(glob.glob(f"{self.config.breathe_projects['paccel']}/*.xml")):
            self.env.note_dependency(path)
            for compound in ElementTree.parse(path).iter("compounddef"):
                name = compound.findtext("compoundname")
                # Classes in classes are among their members.
                if compound.get("kind") in ("class", "struct") and name.rpartition("::")[0] in NAMESPACES:
                    yield from self.entity(compound, "doxygenclass", name, name.removeprefix("accel::"))
                elif compound.get("kind") == "namespace" and name == "accel":
                    for member in compound.iter("memberdef"):
                        qualified = f"accel::{member.findtext('name')}{member.findtext('argsstring') or ''}"
                        yield from self.entity(member, f"doxygen{member.get('kind')}", qualified, None)

    def entity(self, element, directive, name, title):
        location = element.find("location")
        if os.path.basename(location.get("file")) == self.arguments[0]:
            yield int(location.get("line")), directive, name, title


class Sysfs(_File):
    """A file of Documentation/ABI: a section for each What, all in one for their folder."""

    folder = "ABI/testing"

    def run(self):
        entries = ENTRY.findall(self.read())
        folder = os.path.dirname(os.path.commonprefix([what for what, _ in entries]))
        section = self.section(folder, folder)
        for what, text in entries:
            section += self.section(what[len(folder) + 1:], what)
            for part in re.split(r"\n\s*\n", text.partition("Description:\n")[2].strip()):
                section[-1] += nodes.paragraph("", " ".join(part.split()))
        return [section]


class Manual(_File):
    """A manual page, by mandoc. Its headings are sections of this page."""

    folder = "man"

    def run(self):
        page = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", self.path()], check=True,
                              capture_output=True, text=True).stdout
        # What is before the first heading, then level, heading and text of each.
        parts = HEADING.split(SECTION.sub("", page))
        sections = []
        for level, title, text in zip(parts[1::3], parts[2::3], parts[3::3]):
            section = self.section(title.capitalize() if title.isupper() else title, f"{self.arguments[0]}-{title}")
            section += nodes.raw("", text, format="html")
            (sections[-1] if level == "2" else sections).append(section)
        return sections


def setup(app):
    app.add_config_value("reference_folder", None, "env")
    app.add_directive("generated", Generated)
    app.add_directive("cpp-header", Cpp)
    app.add_directive("sysfs", Sysfs)
    app.add_directive("manual", Manual)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
