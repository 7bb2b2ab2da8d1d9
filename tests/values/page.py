"""A block of a Markdown page, by its number among those of a language: page.py PAGE LANGUAGE NUMBER"""

import sys

from markdown_it import MarkdownIt


def blocks(page, language):
    with open(page, encoding="utf-8") as file:
        tokens = MarkdownIt().parse(file.read())
    return [token.content for token in tokens if token.type == "fence" and token.info == language]


if __name__ == "__main__":
    print(blocks(*sys.argv[1:3])[int(sys.argv[3])], end="")
