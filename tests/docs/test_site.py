# SPDX-License-Identifier: MIT
"""Opens every page of build/html in Chromium, narrow and wide, and follows the links of all of them."""

import contextlib
import functools
import glob
import http.server
import json
import os
import re
import threading
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlparse

import pytest

import manual
from contract import read

selenium = pytest.importorskip("selenium")

# pylint: disable=wrong-import-position
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SITE = os.path.join(TOP, os.environ.get("BUILD") or "build", "html")
PAGES = sorted(os.path.relpath(os.path.join(folder, name), SITE)
               for folder, _, names in os.walk(SITE) for name in names if name.endswith(".html"))
WIDTHS = (400, 1280)
# Of headers for C++.
DETAIL = re.compile(r"^namespace detail \{.*?^\} // namespace detail", re.MULTILINE | re.DOTALL)
PRIVATE = re.compile(r"^(?:private|protected):.*?^\};", re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"^(?:inline |\t(?!friend|static|template|return|throw|detail|[\t:*]))[^(=\n]*?\b(?!operator)(\w+)\((?!\w+\) = delete)",
                    re.MULTILINE)
# Against hangs only.
LIMIT = 20

# What is searched for, and a page that has to be found.
SEARCHES = {
    "quarantined": "glossary.html",
    "accel_pool_create": "reference/pool.html",
    "PACCEL_IOC_MEM_ALLOC": "reference/uapi.html",
    "max_user_bytes": "reference/sysfs.html",
    "copy_from": "reference/python.html",
    "stream_view": "reference/cpp.html",
    "eventfd": "concepts.html",
    "torch_npu": "torch.html",
}

# Elements that stick out of the window although no box that scrolls is around them.
STICKING_OUT = """
const scrolls = node => {
    for (; node && node !== document.body; node = node.parentElement)
        if (["auto", "scroll"].includes(getComputedStyle(node).overflowX))
            return true;
    return false;
};
return [...document.querySelectorAll("[role=main] *")]
    .filter(node => node.getBoundingClientRect().right > innerWidth + 1 && !scrolls(node))
    .map(node => node.outerHTML.slice(0, 120));
"""
# Text that is too small, as [size, text].
SMALL = """
const walker = document.createTreeWalker(document.querySelector("[role=main]"), NodeFilter.SHOW_TEXT);
const found = [];
while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
    if (text && parent.checkVisibility() && parseFloat(getComputedStyle(parent).fontSize) < 10)
        found.push([getComputedStyle(parent).fontSize, text.slice(0, 60)]);
}
return found;
"""
BAD_IMAGES = """
return [...document.images].filter(image => !image.complete || !image.naturalWidth || !image.alt.trim())
    .map(image => image.outerHTML.slice(0, 200));
"""


# --- without a browser ---------------------------------------------------------------------------

class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = set(), set()
        with open(os.path.join(SITE, path), encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        self.links |= {attributes[name] for name in ("href", "src") if attributes.get(name)}


@functools.cache
def page_at(path):
    return Page(path)


def targets(path):
    """(path in the site, anchor) of the links of a page that do not leave it."""
    for link in page_at(path).links:
        target, anchor = urldefrag(urljoin(f"http://site.invalid/{path}", link))
        if urlparse(target).netloc == "site.invalid":
            yield unquote(urlparse(target).path).lstrip("/"), unquote(anchor)


def test_there_is_a_site():
    assert "index.html" in PAGES, f"no index.html in {SITE}: run make html"


@pytest.mark.parametrize("path", PAGES)
def test_links(path):
    """Links lead to files of the site, and to anchors in them."""
    bad = []
    for target, anchor in targets(path):
        if not os.path.isfile(os.path.join(SITE, target)):
            bad.append(f"there is no {target}")
        elif anchor and anchor not in page_at(target).anchors:
            bad.append(f"{target} has no anchor {anchor}")
    assert not bad, "\n".join(sorted(bad))


def test_every_page_is_linked():
    seen, todo = set(), {"index.html"}
    while todo:
        seen |= todo
        todo = {target for path in todo for target, _ in targets(path) if target in PAGES} - seen
    assert sorted(seen) == PAGES


def declared():
    """(name, part of an anchor) of what the headers and modules declare."""
    for path in glob.glob(f"{TOP}/include/accel/*.h") + glob.glob(f"{TOP}/lib/acl/include/acl/acl*.h") + \
            glob.glob(f"{TOP}/include/uapi/linux/*.h"):
        code = manual.COMMENT.sub("", read(TOP, path))
        for name in manual.FUNCTION.findall(code) + re.findall(r"^(?:struct|enum) (\w+) \{", code, re.M):
            if name != "__attribute__":
                yield name, f"c.{name}\n"
    for path in glob.glob(f"{TOP}/include/accel/*.hpp"):
        code = PRIVATE.sub("", DETAIL.sub("", manual.COMMENT.sub("", read(TOP, path))))
        for name in re.findall(r"^class (\w+)", code, re.M):
            yield name, f"5accel{len(name)}{name}E\n"
        for name in set(MEMBER.findall(code)):
            yield name, f"{len(name)}{name}E"
    # The base class of all resources, the only one of `detail`.
    yield "allocate", "6detail9allocator8allocateE"
    for module, stub in (("accel", "accel/__init__.pyi"), ("acl", "acl/__init__.pyi"), ("acl.rt", "acl/rt.pyi")):
        for name in re.findall(r"^(?:def|class) ([a-zA-Z]\w*)", read(TOP, f"lib/python/{stub}"), re.M):
            yield name, f"{module}.{name}\n"


def test_the_reference_is_complete():
    anchors = [anchor for path in PAGES if path.startswith("reference/") for anchor in page_at(path).anchors
               # Names of C++ have three, for old links.
               if not anchor.startswith(("_CPPv2", "_CPPv3"))]
    text = "\n".join(anchors + [""])
    names = list(declared())
    assert len(names) > 300
    assert [name for name, anchor in names if anchor not in text] == []


# --- in the browser ------------------------------------------------------------------------------

class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module", name="address")
def fixture_address():
    """Where the site is served. All but this machine is unknown to the browser."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module", name="browser")
def fixture_browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                 "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                 f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(word)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService if hasattr(webdriver, "ChromeService") else webdriver.chrome.service.Service
    with contextlib.closing(_Browser(webdriver.Chrome(options=options, service=service("/usr/bin/chromedriver")))) \
            as browser:
        yield browser


class _Browser:
    """Chromium with what it has logged."""

    def __init__(self, driver):
        self.driver = driver
        driver.set_page_load_timeout(LIMIT)

    def close(self):
        self.driver.quit()

    def open(self, url, width):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.messages(), self.requests()
        self.driver.get(url)

    def run(self, script):
        return self.driver.execute_script(script)

    def wait_for(self, script):
        return WebDriverWait(self.driver, LIMIT).until(lambda _: self.run(script))

    def messages(self):
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]

    def requests(self):
        """URLs of all that was asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events
                if event["method"] == "Network.requestWillBeSent"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", PAGES)
def test_page(browser, address, path, width):
    browser.open(address + path, width)
    browser.wait_for("return document.readyState === 'complete' && document.fonts.status === 'loaded'")
    assert browser.run("return innerWidth") == width
    requests = browser.requests()
    assert address + path in requests
    assert not [url for url in requests if not url.startswith((address, "data:"))]
    assert not browser.messages()
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert not browser.run(STICKING_OUT)
    assert not browser.run(SMALL)
    assert not browser.run(BAD_IMAGES)
    if path != "search.html":
        assert browser.run("return document.querySelector('[role=main] h1').innerText.trim()")


def results(browser):
    """The pages that a search has found."""
    browser.wait_for("return document.querySelector('.search-summary')?.innerText.includes('finished')")
    links = browser.run("return [...document.querySelectorAll('#search-results li > a')].map(a => a.href)")
    return {urlparse(link).path.lstrip("/") for link in links}


@pytest.mark.parametrize("words", SEARCHES)
def test_search(browser, address, words):
    browser.open(f"{address}search.html?q={words}", 1280)
    found = results(browser)
    assert SEARCHES[words] in found
    assert len(found) < len(PAGES) / 2


def test_search_box(browser, address):
    """A reader types into the box of any page."""
    browser.open(address + "reference/uapi.html", 1280)
    box = browser.driver.find_element(By.CSS_SELECTOR, "input[name=q]")
    box.send_keys("granule")
    box.submit()
    WebDriverWait(browser.driver, LIMIT).until(lambda driver: "search.html" in driver.current_url)
    assert results(browser)
    assert not browser.messages()


def test_search_for_nothing(browser, address):
    browser.open(address + "search.html?q=xyzzyplugh", 1280)
    browser.wait_for("return document.querySelector('#search-results').innerText.includes('did not match')")
    assert not browser.run("return document.querySelectorAll('#search-results li').length")


def test_narrow_navigation(browser, address):
    """A narrow window hides the list of pages until its button is pressed."""
    browser.open(address + "index.html", 400)
    left = "return document.querySelector('.wy-nav-side').getBoundingClientRect().left"
    assert browser.run(left) < 0
    browser.driver.find_element(By.CSS_SELECTOR, "[data-toggle=wy-nav-top]").click()
    browser.wait_for(left + " === 0")
    browser.driver.find_element(By.CSS_SELECTOR, ".wy-nav-side a[href='glossary.html']").click()
    WebDriverWait(browser.driver, LIMIT).until(lambda driver: driver.current_url.endswith("glossary.html"))
