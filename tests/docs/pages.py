"""Pages of documentation as their tests read them."""

import re

from markdown_it import MarkdownIt

PARSER = MarkdownIt("commonmark").enable("table")
NUMBERS_VARY = "<!-- numbers vary -->"
NEEDS_GPU = "<!-- needs a GPU -->"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Block:
    """A file that a page shows, or a terminal: commands, each with the lines that it prints."""

    def __init__(self, token, numbers_vary):
        self.line = token.map[0] + 1
        self.numbers_vary = numbers_vary
        title = re.search(r'title="([^"]+)"', token.info)
        self.file = title[1] if title else None
        self.text = token.content
        self.commands = []
        if token.info.split()[:1] == ["console"]:
            for line in token.content.splitlines():
                if line.startswith("$ "):
                    self.commands.append((line[2:], []))
                elif self.commands:
                    self.commands[-1][1].append(line)
                else:
                    raise ValueError(f"line {self.line}: a console begins with a command")


def blocks(path):
    """The files and terminals of a page, in their order."""
    found = []
    numbers_vary = False
    for token in PARSER.parse(read(path)):
        if token.type == "fence":
            block = Block(token, numbers_vary)
            if block.file or block.commands:
                found.append(block)
        numbers_vary = token.type == "html_block" and NUMBERS_VARY in token.content
    return found
