#!/usr/bin/python3
"""Builds the site of cli/docs.

    build.py ULPSCOPE OUTPUT

The pages go to OUTPUT/pages, the site to OUTPUT/site. Pages of commands are what ULPSCOPE says of its
options, those of causes what `ulpscope explain` prints. Files of the repository that a page links to
become pages, too, below repository/.
"""

import os
import re
import shutil
import subprocess
import sys

try:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
except ImportError:
    print("mkdocs and mkdocs-material are not installed (bash cli/setup.sh)")
    sys.exit(77)

SITE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.dirname(SITE)
REPOSITORY = os.path.dirname(os.path.dirname(DOCS))
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Pages:
    """The folder of pages that the site is made of."""

    def __init__(self, ulpscope, folder):
        self.ulpscope = ulpscope
        self.folder = folder
        self.of_repository = {}  # path in the repository -> path of its page

    def printed(self, *arguments):
        return subprocess.run([self.ulpscope, *arguments], capture_output=True, text=True, check=True).stdout

    def add(self, path, text):
        write(os.path.join(self.folder, path), text)

    def add_written(self):
        """What is in cli/docs."""
        for place, folders, names in os.walk(DOCS):
            if place == DOCS:
                folders.remove(os.path.basename(SITE))
            for name in names:
                source = os.path.join(place, name)
                page = os.path.relpath(source, DOCS)
                self.of_repository[os.path.relpath(source, REPOSITORY)] = page
                if name.endswith(".md"):
                    self.add(page, read(source))
                else:
                    os.makedirs(os.path.dirname(os.path.join(self.folder, page)), exist_ok=True)
                    shutil.copyfile(source, os.path.join(self.folder, page))
        for name in os.listdir(DOCS):
            if name.endswith(".md"):
                self.link_pages(os.path.relpath(os.path.join(DOCS, name), REPOSITORY))
        for path in list(self.of_repository):
            if path.endswith(".md") and "/docs/" in path:
                self.link_pages(path)

    def add_commands(self):
        """A page for each command, and one that lists them; the navigation's entries."""
        listed = re.findall(r"^  ([a-z]+) +(.*)$", self.printed("-h").split("commands:")[1], re.MULTILINE)
        commands = [(name, summary) for name, summary in listed if name != "ulpscope"]
        table = "".join(f"| [{name}]({name}.md) | {summary} |\n" for name, summary in commands)
        self.add("reference/commands/index.md",
                 "# Commands\n\nThese pages say what `ulpscope COMMAND --help` says.\n\n"
                 f"| command | |\n|---|---|\n{table}\n"
                 "Every option has a variable, which its page names: a flag wins over the variable, the variable over "
                 "the default. In the variable of an option that may be repeated, commas separate the values.\n")
        for name, _ in commands:
            self.add(f"reference/commands/{name}.md", self.printed(name, "--markdown"))
        return ["reference/commands/index.md"] + [f"reference/commands/{name}.md" for name, _ in commands]

    def add_causes(self):
        """A page for each cause, and one that lists them; the navigation's entries."""
        causes = re.findall(r"^(\S+) +(.*)$", self.printed("explain"), re.MULTILINE)
        table = "".join(f"| [`{cause}`]({cause}.md) | {meaning} |\n" for cause, meaning in causes)
        self.add("reference/causes/index.md",
                 "# Causes\n\nWhat a report names after `cause`. `ulpscope explain ID` prints the same pages.\n\n"
                 f"| cause | meaning |\n|---|---|\n{table}")
        for cause, _ in causes:
            self.of_repository[f"cli/assets/explain/{cause}.md"] = f"reference/causes/{cause}.md"
            text = read(os.path.join(REPOSITORY, "cli/assets/explain", cause + ".md"))
            self.add(f"reference/causes/{cause}.md", re.sub(r"^(## .*)$", r"\1\n", text, flags=re.MULTILINE))
        return ["reference/causes/index.md"] + [{cause: f"reference/causes/{cause}.md"} for cause, _ in causes]

    def page_of(self, path):
        """The page of a file of the repository, made if there is none yet; None of what is no file."""
        if os.path.isdir(os.path.join(REPOSITORY, path)):
            path = os.path.join(path, "README.md")
        if not os.path.isfile(os.path.join(REPOSITORY, path)):
            return None
        if path not in self.of_repository:
            page = os.path.join("repository", path if path.endswith(".md") else path + ".md")
            self.of_repository[path] = page
            text = read(os.path.join(REPOSITORY, path))
            if not path.endswith(".md"):
                language = os.path.splitext(path)[1].lstrip(".")
                text = f"# {path}\n\n````{language}\n{text}````\n"
            self.add(page, text)
            if path.endswith(".md"):
                self.link_pages(path)
        return self.of_repository[path]

    def link_pages(self, path):
        """Lets the links of a page, which say where files are in the repository, say where pages are."""
        page = self.of_repository[path]

        def linked(match):
            target = match[2]
            if re.match(r"[a-z]+:", target):
                return match[0]
            other = self.page_of(os.path.normpath(os.path.join(os.path.dirname(path), target)))
            if other is None:
                return match[0]  # MkDocs says so
            return f"{match[1]}{os.path.relpath(other, os.path.dirname(page))}{match[3] or ''}{match[4]}"

        parts = FENCE.split(read(os.path.join(REPOSITORY, path)))
        parts[::2] = [LINK.sub(linked, part) for part in parts[::2]]
        self.add(page, "".join(parts))


def filled(nav, lists):
    """nav with its empty lists replaced by those of `lists`."""
    if isinstance(nav, list):
        return [filled(each, lists) for each in nav]
    if isinstance(nav, dict):
        return {title: lists[title] if entry == [] else filled(entry, lists) for title, entry in nav.items()}
    return nav


def main():
    ulpscope, output = sys.argv[1:3]
    folder = os.path.join(os.path.abspath(output), "pages")
    shutil.rmtree(folder, ignore_errors=True)
    pages = Pages(ulpscope, folder)
    generated = {"Commands": pages.add_commands(), "Causes": pages.add_causes()}
    pages.add_written()
    shutil.copyfile(os.path.join(SITE, "site.css"), os.path.join(folder, "site.css"))
    config = load_config(os.path.join(SITE, "mkdocs.yml"), docs_dir=folder,
                         site_dir=os.path.join(os.path.abspath(output), "site"), strict=True)
    config["nav"] = filled(config["nav"], generated)
    build(config)


if __name__ == "__main__":
    main()
