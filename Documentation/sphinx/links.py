# SPDX-License-Identifier: MIT
"""Links of the site that need more than Sphinx: to files of the tree, which get pages of their own, and from
the names of functions, structs and classes to their descriptions."""

import html
import os
import re

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

LITERAL = re.compile(r"(?:(?:struct|enum|union) )?([A-Za-z_][\w.:]*)(?:\(\))?\Z")
IN_TEXT = re.compile(r"\b((?:accel|acl|paccel|SUN)\w*)\(\)|\b(?:struct|enum|union) (\w+)")
KINDS = ("function", "macro", "struct", "enum", "union", "class", "method", "exception")

# Pages of the tree that others take the place of.
INSTEAD = {"Documentation/README.md": "index", "Documentation/ABI/testing": "reference/sysfs",
           "CHANGELOG.md": "changelog"}


# --- files of the tree ---------------------------------------------------------------------------

class TreeLinks(SphinxTransform):
    """[x](../tests/check) leads to a page that shows the file, or lists the folder."""

    default_priority = 300

    def apply(self, **_):
        for node in list(self.document.findall(addnodes.download_reference)) + \
                list(self.document.findall(addnodes.pending_xref)):
            target, _, anchor = node["reftarget"].partition("#")
            # A page, for MyST 4: relative to the sources, and without its suffix.
            if node.get("refdomain") == "doc" and node["reftype"] == "myst":
                self.replace(node, os.path.join(self.env.srcdir, target + ".md"), node.get("reftargetid") or "")
            elif not node.get("refdomain") and target:
                # Of a file that a page includes, the links are relative to that file.
                self.replace(node, os.path.join(os.path.dirname(node.source), target), anchor)

    def replace(self, node, target, anchor):
        top = os.path.dirname(self.env.srcdir)
        path = os.path.relpath(target, top)
        docname = os.path.splitext(os.path.relpath(target, self.env.srcdir))[0]
        if not os.path.exists(target):
            return
        if path in INSTEAD:
            page = INSTEAD[path]
        elif docname in self.env.found_docs and node.source == self.env.doc2path(self.env.docname):
            # Sphinx knows it.
            return
        elif docname in self.env.found_docs:
            page = docname
        else:
            self.env.metadata[self.env.docname].setdefault("tree_links", []).append(path)
            page, anchor = page_of(path), ""
        uri = self.app.builder.get_relative_uri(self.env.docname, page) + (anchor and f"#{anchor}")
        link = nodes.reference("", "", internal=True, refuri=uri)
        link += nodes.inline("", "", *node.children[0].children)
        node.replace_self(link)


def page_of(path):
    return f"tree/{path}"


def source_page(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        lexer = get_lexer_for_filename(path)
    except ClassNotFound:
        lexer = TextLexer()
    return highlight(text, lexer, HtmlFormatter())


def tree_pages(app):
    """Yields the pages of what is linked, and of the files in folders that are linked."""
    top = os.path.dirname(app.srcdir)
    linked = {path for data in app.env.metadata.values() for path in data.get("tree_links", ())}
    folders = {path: sorted(name for name in os.listdir(os.path.join(top, path)) if name[0] != ".")
               for path in linked if os.path.isdir(os.path.join(top, path))}
    files = {os.path.join(path, name) for path, names in folders.items() for name in names}
    for path in sorted(linked | files):
        if path in folders:
            items = []
            for name in folders[path]:
                target = os.path.join(path, name)
                uri = app.builder.get_relative_uri(page_of(path), page_of(target))
                items.append(f'<li><a href="{html.escape(uri)}"><code>{html.escape(name)}</code></a></li>'
                             if os.path.isfile(os.path.join(top, target)) or target in linked else
                             f"<li><code>{html.escape(name)}/</code></li>")
            body = f"<ul>{''.join(items)}</ul>"
        elif os.path.isfile(os.path.join(top, path)):
            body = source_page(os.path.join(top, path))
        else:
            continue
        body = f"<h1>{html.escape(path)}</h1>{body}"
        yield page_of(path), {"title": path, "body": body, "parents": []}, "page.html"


# --- names in the text ---------------------------------------------------------------------------

class NameLinks(SphinxPostTransform):
    """`accel_device_open()` leads to the description of the function."""

    default_priority = 700
    formats = ("html",)

    def run(self, **_):
        self.objects = {name: (docname, anchor)
                        for domain in ("cpp", "py", "c")
                        for name, _, kind, docname, anchor, _ in self.env.domains[domain].get_objects()
                        if kind in KINDS}
        for node in list(self.document.findall(nodes.literal)):
            found = LITERAL.match(node.astext())
            if found and self.is_plain(node) and found[1] in self.objects:
                node.replace_self(self.link(found[1], node.deepcopy()))
        for node in list(self.document.findall(nodes.Text)):
            if IN_TEXT.search(node) and self.is_plain(node):
                self.link_text(node)

    @staticmethod
    def is_plain(node):
        while node := node.parent:
            if isinstance(node, (nodes.reference, nodes.title, nodes.literal, nodes.literal_block, nodes.raw,
                                 addnodes.desc_signature)):
                return False
        return True

    def link(self, name, child):
        docname, anchor = self.objects[name]
        return make_refnode(self.app.builder, self.env.docname, docname, anchor, child)

    def link_text(self, node):
        parts, end = [], 0
        for found in IN_TEXT.finditer(node):
            name = found[1] or found[2]
            if name in self.objects:
                parts += [nodes.Text(node[end:found.start()]), self.link(name, nodes.literal("", found[0]))]
                end = found.end()
        if parts:
            node.parent.replace(node, parts + [nodes.Text(node[end:])])


def setup(app):
    app.add_transform(TreeLinks)
    app.add_post_transform(NameLinks)
    app.connect("html-collect-pages", tree_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
