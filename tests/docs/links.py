#!/usr/bin/python3
"""Links of Markdown pages: each file and each heading that a relative link names is there, and addresses have
the form of one.

    links.py REPOSITORY
"""

import os
import re
import subprocess
import sys
from urllib.parse import unquote, urlsplit

from pages import PARSER, read


def inline_tokens(text):
    for token in PARSER.parse(text):
        yield from token.children or [token]


def links(text):
    for token in inline_tokens(text):
        target = token.attrGet("href") or token.attrGet("src")
        if target is not None:
            yield target


def heading_text(inline):
    return "".join(child.content for child in inline.children if child.type in ("text", "code_inline"))


def anchors(text):
    """Headings as GitHub makes anchors of them."""
    found = set()
    tokens = PARSER.parse(text)
    for opening, inline in zip(tokens, tokens[1:]):
        if opening.type == "heading_open":
            slug = re.sub(r"[^\w\- ]", "", heading_text(inline).strip().lower()).replace(" ", "-")
            repeats = sum(1 for each in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", each))
            found.add(f"{slug}-{repeats}" if slug in found and repeats else slug)
    return found


def wrong_link(page, target):
    """What is wrong with a link of a page; None if nothing is."""
    address = urlsplit(target)
    if address.scheme or address.netloc:
        is_sound = address.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", address.netloc)
        return None if is_sound else "is no address https://HOST/..."
    path = os.path.normpath(os.path.join(os.path.dirname(page), unquote(address.path))) if address.path else page
    if not os.path.exists(path):
        return "is not there"
    if address.fragment and address.fragment not in anchors(read(path)):
        return f"has no heading #{address.fragment}"
    return None


def main():
    repository = sys.argv[1]
    listed = subprocess.run(["git", "-C", repository, "ls-files", "--cached", "--others", "--exclude-standard",
                             "*.md"], capture_output=True, text=True, check=True).stdout.split()
    checked, wrong = 0, []
    for name in sorted(listed):
        page = os.path.join(repository, name)
        for target in links(read(page)):
            checked += 1
            problem = wrong_link(page, target)
            if problem:
                wrong.append(f"{name}: {target} {problem}")
    print("\n".join(wrong) or f"{checked} links of {len(listed)} pages")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
