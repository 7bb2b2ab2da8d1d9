#!/usr/bin/python3
"""site_test.py ULPSCOPE SITE REPOSITORY CASE: what the built site of the documentation has."""

import json
import os
import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from pages import read

ulpscope, site, repository, case = sys.argv[1:5]
HERE = os.path.dirname(os.path.abspath(__file__))


class Page(HTMLParser):
    """What a page names: its anchors, where it links to, and what a browser loads with it."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(read(path))

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        self.anchors |= {names[key] for key in ("id", "name") if names.get(key)}
        if tag == "a" and names.get("href"):
            self.links.append(names["href"])
        elif tag == "link" and names.get("rel") not in ("canonical", "prev", "next") and names.get("href"):
            self.loads.append(names["href"])
        elif names.get("src"):
            self.loads.append(names["src"])


def site_pages():
    found = {}
    for place, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html") and name != "404.html":  # that one is served at any address
                path = os.path.join(place, name)
                found[path] = Page(path)
    assert len(found) > 60, f"{site} has {len(found)} pages"
    return found


def text_of(path):
    return re.sub(r"<[^>]*>", "", read(os.path.join(site, path)))


def links():
    """Links and their anchors lead somewhere, and nothing is loaded from elsewhere."""
    pages = site_pages()
    wrong, checked = [], 0
    for path, page in pages.items():
        for target in page.links + page.loads:
            address = urlsplit(target)
            if address.scheme in ("data", "javascript"):
                continue
            if address.scheme or address.netloc:
                if target in page.loads:
                    wrong.append(f"{path} loads {target}")
                elif address.scheme != "https":
                    wrong.append(f"{path}: {target} is no address https://HOST/...")
                continue
            checked += 1
            other = os.path.normpath(os.path.join(os.path.dirname(path), unquote(address.path))) if address.path else path
            if os.path.isdir(other):
                other = os.path.join(other, "index.html")
            if not os.path.isfile(other):
                wrong.append(f"{path}: {target} is not there")
            elif address.fragment and other in pages and unquote(address.fragment) not in pages[other].anchors:
                wrong.append(f"{path}: {target} has no such anchor")
    assert not wrong, "\n".join(wrong)
    print(f"{checked} links of {len(pages)} pages")


def printed(*arguments):
    return subprocess.run([ulpscope, *arguments], capture_output=True, text=True, check=True).stdout


def options():
    """Each command has a page with a heading for every option of its --help, and its variable."""
    commands = re.findall(r"^  ([a-z]+) ", printed("-h").split("commands:")[1].split("examples:")[0], re.MULTILINE)
    assert "compare" in commands and "explain" in commands, commands
    for command in commands:
        page = text_of(f"reference/commands/{command}.html")
        text = printed(command, "--help")
        names = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)
        for name in names:
            assert name == "--help" or name in page, f"{command} {name} is not in the reference"
        for variable in re.findall(r"\[(ULPSCOPE_\w+)\]", text):
            assert variable in page, f"{variable} of {command} is not in the reference"


def causes():
    """Each cause that explain lists has a page, and the list of causes leads to it."""
    listed = re.findall(r"^(\S+) +(.*)$", printed("explain"), re.MULTILINE)
    overview = Page(os.path.join(site, "reference/causes/index.html")).links
    for cause, meaning in listed:
        assert f"{cause}.html" in overview, f"{cause} is not listed"
        assert meaning in text_of(f"reference/causes/{cause}.html"), f"the page of {cause} does not say: {meaning}"


def words():
    """Verdicts and kinds are those of the report's schema; settings are those of a dump."""
    with open(os.path.join(repository, "cli/assets/report.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    page = read(os.path.join(repository, "cli/docs/reference/verdicts.md"))
    sections = dict(re.findall(r"^## (.*)\n([^#]*)", page, re.MULTILINE))

    def rows(section):
        return re.findall(r"^\| `([a-z]+)` \|", sections[section], re.MULTILINE)

    assert rows("Verdicts") == schema["properties"]["verdict"]["enum"]
    kinds = schema["$defs"]["finding"]["properties"]["kind"]["enum"]
    assert sorted(rows("Kinds of findings")) == sorted(kinds)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def browser():
    """Pages load without the console saying anything, and fit a narrow and a wide window."""
    sys.path.insert(0, os.path.join(HERE, "..", "html"))
    from browser import Browser
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server, Browser() as chromium:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for width in (400, 1400):
            for page in ("index", "tutorials/loss-differs", "reference/commands/compare", "report", "recording",
                         "reference/settings", "explanation/ulp", "reference/causes/threads"):
                chromium.visit(f"http://127.0.0.1:{server.server_port}/{page}.html", width=width)
                wide = chromium.run("return document.documentElement.scrollWidth")
                assert wide <= width, f"{page} is {wide} pixels wide in a window of {width}"
        server.shutdown()


if __name__ == "__main__":
    {"links": links, "options": options, "causes": causes, "words": words, "browser": browser}[case]()
