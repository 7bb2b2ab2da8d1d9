#!/usr/bin/env python3
"""Reports for other programs, read by readers that are not ours.

    formats_test.py CASE ULPSCOPE DUMPS HOSTILE SOURCE [SARIF_SCHEMA]

DUMPS are those of make_dumps, HOSTILE those of make_hostile, SOURCE is the repository. Exit code 77:
a reader is not installed.
"""

import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))

try:
    import jsonschema
    import junitparser
    import markdown_it
    import schemas
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# Dumps, options, exit code: every verdict, several ranks, tolerances and budgets.
PAIRS = [
    (("reference", "same"), [], 0),
    (("reference", "extra"), [], 0),
    (("reference", "threads"), [], 1),
    (("reference", "threads"), ["--max-ulp", "64"], 0),
    (("reference", "threads"), ["--tolerance", "tolerance.toml"], 0),
    (("reference", "rate"), [], 1),
    (("reference", "killed"), [], 2),
    (("digests", "digests_threads"), ["--golden"], 1),
    (("factors", "factors_threads"), ["--budget", "--replay", "off"], 0),
    (("ranks", "ranks_apart"), [], 1),
    (("layers", "layers"), ["--by", "layers"], 0),
]
PRINTED = ("text", "json", "markdown", "junit", "sarif", "github")
FORMATS = (*PRINTED, "svg")


class Reports:
    """What one comparison writes in all forms, as bytes by their names."""

    def __init__(self, ulpscope, folder, dumps, options, code):
        self.what = f"{' '.join(dumps)} {' '.join(options)}"
        self.code = code
        with tempfile.TemporaryDirectory() as output:
            outputs = [word for name in FORMATS for word in ("-o", f"{name}={output}/report.{name}")]
            result = subprocess.run([ulpscope, "compare", *dumps, *options, *outputs], cwd=folder,
                                    capture_output=True, check=False, env={"NO_COLOR": "1"})
            assert result.returncode == code, (self.what, result.returncode, result.stderr)
            assert sorted(os.listdir(output)) == sorted(f"report.{name}" for name in FORMATS)
            for name in FORMATS:
                with open(f"{output}/report.{name}", "rb") as file:
                    setattr(self, name, file.read())
        self.document = json.loads(self.json)


def is_error(document, finding):
    return finding["diverges"] and document["verdict"] != "within"


# --- JSON


def golden_documents(source):
    """The name of its schema, its file and the document."""
    for path in sorted(glob.glob(f"{source}/tests/cli/golden/*json*") +
                       glob.glob(f"{source}/tests/unit/render/golden/*.json")):
        if path.endswith(".stderr.txt"):
            continue
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        yield document["format"].removeprefix("ulpscope-"), path, document


def golden_reports(source):
    for name, path, document in golden_documents(source):
        if name == "report":
            yield path, document


def schema_golden(test):
    """Every golden document fits its schema, which names all of its fields."""
    counts = {}
    for name, path, document in golden_documents(test.source):
        errors = schemas.errors(name, document)
        assert not errors, (path, errors)
        counts[name] = counts.get(name, 0) + 1
    assert counts["report"] >= 3 and counts["inspect"] >= 3, counts
    assert all(counts.get(name) for name in ("env", "verify", "recover")), counts


def schema_real(test):
    """So does every report that is made here."""
    for reports in test.reports():
        errors = schemas.errors("report", reports.document)
        assert not errors, (reports.what, errors)


def several(test):
    """What compare says of three dumps."""
    dumps = ("reference", "same", "threads")
    result = subprocess.run([test.ulpscope, "compare", *dumps, "--format", "json"], cwd=test.dumps,
                            capture_output=True, check=False)
    assert result.returncode == 1, result.stderr
    return json.loads(result.stdout)


def schema_several(test):
    """The answer of compare for several dumps is a document of check."""
    document = several(test)
    errors = schemas.errors("check", document)
    assert not errors, errors
    assert len(document["results"]) == 2 and document["report"]["verdict"] == "diverged"


def schema_refuses(test):
    """A missing field, an unknown verdict, kind, phase or confidence, a number that is a text."""
    for _, document in golden_reports(test.source):
        assert not list(schemas.accepted_without("report", document))
        assert not list(schemas.accepted_with("report", document, [
            (("verdict",), "equal"), (("verdict",), None), (("format",), "report"),
            (("schema_version",), 2), (("findings", 0, "kind"), "change"),
            (("findings", 0, "phase"), "loss"), (("findings", 0, "rank"), "first"),
            (("causes", 0, "confidence"), "sure"), (("causes", 0, "evidence"), "text"),
            (("coverage", "aligned"), 1.5)]))
        assert list(schemas.accepted_with("report", document, [(("new",), 1)])), "fields may be added"


def schema_refuses_several(test):
    """The same of a document of check, down to the report inside."""
    document = several(test)
    assert not list(schemas.accepted_without("check", document))
    assert not list(schemas.accepted_with("check", document, [
        (("format",), "ulpscope-report"), (("observer",), "yes"), (("runs", 0, "result"), "first"),
        (("runs", 0, "run"), 0), (("results", 0, "runs"), []), (("rate", "interval_95"), [0.5]),
        (("rate", "interval_95"), [0, 2]), (("distribution", "kind"), "normal"),
        (("splits", 0, "first", "kind"), "change"), (("report", "verdict"), "equal")]))


# Dump, path: each list, and names of strange bytes.
INSPECTED = [("reference", "", "lanes"), ("reference", "steps", "steps"), ("reference", "settings", "settings"),
             ("reference", "checks", "checks"), ("ranks", "checks", "checks"), ("reference", "layers", "modules"),
             ("layers", "fc", "modules"), ("reference", "setup", "events"), ("reference", "1/18", "events"),
             ("statistics", "event:0", "events"), ("layers", "event:3", "events"), ("layers", "**", "values"),
             ("layers", "event:3/output.1", "values"), ("statistics", "event:0/output.0", "values"),
             ("layers", "0/2/*", "values"), ("{hostile}/names", "1", "events")]


def inspected_text(test, dump, path):
    dump = dump.format(hostile=test.hostile)
    result = subprocess.run([test.ulpscope, "inspect", dump, *([path] if path else []), "--format", "json"],
                            cwd=test.dumps, capture_output=True, check=False)
    assert result.returncode == 0, (dump, path, result.stderr)
    return result.stdout.decode("ascii")


def inspected(test, dump, path):
    return json.loads(inspected_text(test, dump, path))


def schema_inspect(test):
    """Each document of inspect fits the schema, which names all of its fields, and has the list that it says."""
    for dump, path, lists in INSPECTED:
        document = inspected(test, dump, path)
        errors = schemas.errors("inspect", document)
        assert not errors, (dump, path, errors)
        full = {name for name, value in document.items() if isinstance(value, list)}
        assert document["lists"] == lists and full == {lists}, (dump, path, full)
        assert document[lists], (dump, path)


def inspected_layout(test):
    """Documents that are printed event by event are laid out as those that are printed as a whole."""
    for dump, path, lists in INSPECTED:
        if lists in ("events", "lanes"):
            text = inspected_text(test, dump, path)
            laid_out = json.dumps(json.loads(text), indent=2).replace("\x7f", "\\u007f") + "\n"
            assert text == laid_out, (dump, path)


def schema_refuses_inspect(test):
    """A field that is missing or of another type."""
    for dump, path, _ in INSPECTED:
        assert not list(schemas.accepted_without("inspect", inspected(test, dump, path))), (dump, path)
    event = inspected(test, "reference", "1/18")
    assert not list(schemas.accepted_with("inspect", event, [
        (("format",), "ulpscope-report"), (("lists",), "ops"), (("dump", "complete"), "yes"), (("events", 0, "kind"), "call"),
        (("events", 0, "phase"), "loss"), (("events", 0, "state"), ["fast"]), (("events", 0, "event"), 1.5),
        (("events", 0, "tensors", 0, "role"), "in"), (("events", 0, "tensors", 0, "tensor"), {}),
        (("events", 0, "tensors", 0, "tensor", "shape"), "[3, 4]"), (("values",), "none")]))


def recovered(test):
    """What recover says of a recording that was killed."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(f"{test.hostile}/killed", f"{work}/killed")
        result = subprocess.run([test.ulpscope, "recover", "killed", "--format", "json"], cwd=work, capture_output=True,
                                check=True)
    return json.loads(result.stdout)


def schema_refuses_of_dumps(test):
    """Documents of env, verify and recover, with a field that is missing or of another type."""
    documents = {name: document for name, _, document in golden_documents(test.source) if name in ("env", "verify")}
    documents["recover"] = recovered(test)
    assert documents["recover"]["ranks"], "nothing was recovered"
    assert not schemas.errors("recover", documents["recover"])
    changes = {
        "env": [(("ranks", 0, "reference"), "first"), (("ranks", 0, "total"), None), (("ranks", 0, "settings", 0, "key"), 1),
                (("ranks", 0, "settings", 0, "reference"), 1), (("ranks", 0, "settings", 0, "can_change_bits"), "yes")],
        "verify": [(("dump",), None), (("sound",), "yes"), (("empty",), None), (("reason",), False), (("events",), 1.5),
                   (("problems",), "none"), (("problems", 0), None)],
        "recover": [(("dump",), None), (("ranks", 0, "rank"), -1), (("ranks", 0, "events"), "many"),
                    (("ranks", 0, "unread_bytes"), None)]}
    for name, document in documents.items():
        assert not list(schemas.accepted_without(name, document)), name
        wrong = [(("format",), "ulpscope-report"), (("schema_version",), 2), *changes[name]]
        assert not list(schemas.accepted_with(name, document, wrong)), name


def inspected_words(test):
    """What a document says of an event and of a value is what the text says."""
    for dump, path in (("reference", "1/18"), ("layers", "event:3/output.1"), ("statistics", "event:0/output.0")):
        text = subprocess.run([test.ulpscope, "inspect", dump, path], cwd=test.dumps, capture_output=True, check=True,
                              text=True, env={"NO_COLOR": "1"}).stdout
        document = inspected(test, dump, path)
        for event in document["events"] or []:
            assert f"step {event['step']}, event {event['event']}" in text and f"{event['op']}.{event['overload']}" in text
            said = [event["phase"], *(word for tensor in event["tensors"] for word in (tensor["digest"], tensor["name"])),
                    *(word for argument in event["arguments"] for word in (argument["name"], argument["value"]))]
            assert all(word in text for word in said), (said, text)
        for value in document["values"] or []:
            said = [value["path"], value["digest"], value["tensor"]["dtype"], str(value["tensor"]["shape"]),
                    *(str(number).removesuffix(".0") for number in value["statistics"].values()),
                    *map(str, value["elements"] or [])]
            assert all(word in text for word in said), (said, text)


def fields_of(part, prefix=""):
    """Each field below a part of the schema as the documentation writes it: where both runs have
    the same fields, these once, as `name.*.field`."""
    for option in part.get("anyOf", []):
        yield from fields_of(option, prefix)
    if part.get("type") == "array":
        yield from fields_of(part["items"], prefix[:-1] + "[]." if prefix else "")
    properties = part.get("properties", {})
    if prefix and list(properties) == ["reference", "candidate"]:
        yield from fields_of(properties["reference"], f"{prefix}*.")
        return
    for name, value in properties.items():
        yield prefix + name
        yield from fields_of(value, f"{prefix}{name}.")


def documented(test, page):
    """The fields of each section of a page."""
    with open(f"{test.source}/cli/docs/{page}.md", encoding="utf-8") as file:
        sections = re.split(r"^## ", file.read(), flags=re.MULTILINE)[1:]
    written = {}
    for section in sections:
        title, _, text = section.partition("\n")
        fields = set(re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE))
        if fields:
            written[title] = fields
    return written


def parts_of(name, title):
    """The parts of a schema that have fields, by the titles of their sections."""
    schema = schemas.schema(name)
    return {title: schema, **{part: value for part, value in schema.get("$defs", {}).items()
                              if "properties" in value}}


def schema_documented(test):
    """The pages have a row for each field of the schemas, and no other."""
    pages = {"report": parts_of("report", "The document"),
             "check-report": {**parts_of("check", "The document"), **parts_of("replay", "replay"),
                              **parts_of("bisect", "bisect")},
             "inspect-report": parts_of("inspect", "The document"),
             "dump-reports": {**parts_of("env", "env"), **parts_of("verify", "verify"), **parts_of("recover", "recover")}}
    for page, parts in pages.items():
        written = documented(test, page)
        assert set(written) == set(parts), (page, set(written) ^ set(parts))
        for title, part in parts.items():
            wrong = written[title] ^ set(fields_of(part))
            assert not wrong, (page, title, wrong)


# --- SARIF


def sarif_schema(test):
    """Every log is valid SARIF 2.1.0 by the standard's schema."""
    if not os.path.exists(test.sarif_schema):
        print(f"skipped: no {test.sarif_schema} (bash cli/setup.sh)")
        sys.exit(77)
    with open(test.sarif_schema, encoding="utf-8") as file:
        schema = json.load(file)
    assert "sarif" in schema.get("$id", schema.get("id", "")) and "2.1.0" in schema["title"]
    validator = jsonschema.validators.validator_for(schema)(schema)
    for reports in test.reports():
        errors = [error.message[:200] for error in validator.iter_errors(json.loads(reports.sarif))]
        assert not errors, (reports.what, errors)


def farthest(finding):
    """Of the results that differ, or else of the inputs."""
    ulps = {"input": [], "output": [], "mutated": []}
    for tensor in finding["tensors"]:
        if tensor["difference"] and not tensor["equal"]:
            ulps[tensor["role"]].append(int(tensor["difference"]["ulp"]["max"]))
    return max(ulps["output"] + ulps["mutated"] or ulps["input"], default=None)


def sarif_content(test):
    """A result for each finding, with its rule, level, and places inside the repository."""
    for reports in test.reports():
        document = reports.document
        run, = json.loads(reports.sarif)["runs"]
        rules = run["tool"]["driver"]["rules"]
        assert run["tool"]["driver"]["name"] == "ulpscope"
        assert run["invocations"][0]["executionSuccessful"] == (document["verdict"] != "inconclusive")
        assert len({rule["id"] for rule in rules}) == len(rules)
        assert len(run["results"]) == len(document["findings"]), reports.what
        for number, (result, finding) in enumerate(zip(run["results"], document["findings"])):
            causes = [cause["id"] for cause in document["causes"] if cause["finding"] == number]
            assert result["ruleId"] == (causes or ["unknown"])[0], reports.what
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] == ("error" if is_error(document, finding) else "note")
            assert result["properties"].get("ulp_max") == farthest(finding), reports.what
            for location in result.get("locations", []):
                uri = location.get("physicalLocation", {}).get("artifactLocation", {}).get("uri", "")
                parts = urllib.parse.urlsplit(uri)
                assert not parts.scheme and not parts.netloc and not uri.startswith("/"), uri
                assert re.fullmatch(r"[A-Za-z0-9._~/%-]*", uri), uri
        for rule in rules:
            assert rule["help"]["markdown"].startswith(f"# {rule['id']}: "), rule["id"]
            assert rule["fullDescription"]["text"] in rule["help"]["text"]
            assert len(rule["fullDescription"]["text"]) > 50, rule["id"]


# --- JUnit


def junit(test):
    """A JUnit parser sees a case for the verdict and one for each diverging finding."""
    for reports in test.reports():
        document = reports.document
        xml.etree.ElementTree.fromstring(reports.junit)
        suite, = junitparser.JUnitXml.fromstring(reports.junit)
        cases = list(suite)
        counted = (suite.tests, suite.failures, suite.errors)
        suite.update_statistics()
        assert counted == (suite.tests, suite.failures, suite.errors), reports.what
        diverging = [finding for finding in document["findings"] if finding["diverges"]]
        assert len(cases) == 1 + len(diverging), reports.what
        expected = {"identical": [], "within": [], "diverged": [junitparser.Failure],
                    "inconclusive": [junitparser.Error]}[document["verdict"]]
        results = [result for result in cases[0].result
                   if isinstance(result, (junitparser.Failure, junitparser.Error))]
        assert [type(result) for result in results] == expected, reports.what
        for result in results:
            assert result.message.startswith(document["verdict"].upper()), result.message
            assert result.text == reports.text.decode(), reports.what
        for case, finding in zip(cases[1:], diverging):
            failed = [result for result in case.result if isinstance(result, junitparser.Failure)]
            assert bool(failed) == is_error(document, finding), reports.what
            assert all(failure.type == finding["kind"] for failure in failed)


# --- Markdown


def tokens_of(text):
    parser = markdown_it.MarkdownIt("commonmark").enable("table")
    for token in parser.parse(text):
        yield token
        yield from token.children or []


def markdown(test):
    """A reader of Markdown finds tables and text: nothing of a dump is markup."""
    for reports in test.reports():
        text = reports.markdown.decode()
        assert len(reports.markdown) <= 60_000
        for token in tokens_of(text):
            assert token.type not in ("link_open", "image", "heading_open", "code_block"), reports.what
            assert token.type != "html_inline", token.content
            if token.type == "html_block":
                inside = re.sub(r"</?(details|summary|pre)>", "", token.content)
                assert "<" not in inside, token.content
            if token.type == "text":
                assert not re.search(r"[@#]|://|www\.", token.content), token.content
        # A table is as wide in every row as in its head.
        for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(widths) == 1, table
        folded = re.search(r"<pre>\n(.*)</pre>", text, flags=re.DOTALL)
        if folded:
            plain = folded.group(1).replace("&lt;", "<").replace("&amp;", "&")
            assert plain == reports.text.decode(), reports.what


# --- GitHub


def github(test):
    """Each line is one workflow command, and what it says is what the report says."""
    command = re.compile(rb"::(error|notice) (?:file=([^:,\r\n]*),line=(\d+),)?title=([^:,\r\n]*)::([^\r\n]*)")
    for reports in test.reports():
        document = reports.document
        lines = reports.github.split(b"\n")
        assert lines.pop() == b"", reports.what
        matches = [command.fullmatch(line) for line in lines]
        assert all(matches), (reports.what, lines)
        first, *others = ([urllib.parse.unquote(part.decode()) if part else None
                           for part in match.groups()] for match in matches)
        assert first[0] == ("error" if reports.code else "notice")
        assert first[3] == f"ulpscope: {document['verdict']}"
        assert first[4].startswith(document["verdict"].upper())
        assert not re.search(r"[\x00-\x1f]", "".join(part or "" for part in first + sum(others, [])))
        findings = document["findings"][1 if document["first"] else 0:]
        assert len(others) == len(findings), reports.what
        for said, finding in zip(others, findings):
            assert said[0] == ("error" if is_error(document, finding) else "notice")
            assert said[3] == f"ulpscope: {finding['kind']}"


# --- SVG


def svg(test):
    """A picture of known elements alone, whose bars are the bins of the first finding's histogram."""
    known = {"svg", "text", "line", "rect", "polyline", "circle"}
    for reports in test.reports():
        root = xml.etree.ElementTree.fromstring(reports.svg)
        elements = [element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in root.iter()]
        assert set(elements) <= known, set(elements) - known
        assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]
        findings = reports.document["findings"]
        histograms = [tensor["difference"]["ulp"]["histogram"] for tensor in findings[0]["tensors"]
                      if tensor["difference"]] if findings else []
        bins = {sum(1 for least, count in histogram if least and count) for histogram in histograms}
        assert elements.count("rect") in (bins or {0}), reports.what
        growth = [point for point in reports.document["growth"] if point["scaled_max"]]
        assert elements.count("circle") == (len(growth) if len(growth) > 1 else 0), reports.what


# --- PNG


def chunks_of(png):
    """Its chunks as (type, data), each with a matching checksum."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", png[:8]
    chunks, at = [], 8
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        data = png[at + 8:at + 8 + length]
        assert struct.unpack_from(">I", png, at + 8 + length)[0] == zlib.crc32(kind + data), kind
        chunks.append((kind, data))
        at += 12 + length
    return chunks


def png(test):
    """The picture of the SVG at twice its size, with something drawn in it."""
    if not shutil.which("rsvg-convert"):
        print("skipped: no rsvg-convert")
        sys.exit(77)
    for dumps, code in ((("reference", "threads"), 1), (("reference", "same"), 0)):
        reports = Reports(test.ulpscope, test.dumps, dumps, [], code)
        result = subprocess.run([test.ulpscope, "compare", *dumps, "-o", "png=-", "--format", "github"],
                                cwd=test.dumps, capture_output=True, check=False, env={"NO_COLOR": "1"})
        assert result.returncode == code, result.stderr
        assert result.stdout.endswith(reports.github), result.stdout[-200:]
        chunks = chunks_of(result.stdout.removesuffix(reports.github))
        assert chunks[0][0] == b"IHDR" and chunks[-1] == (b"IEND", b""), [kind for kind, _ in chunks]
        width, height, depth, colors = struct.unpack_from(">IIBB", chunks[0][1])
        svg_root = xml.etree.ElementTree.fromstring(reports.svg)
        assert [width, height] == [2 * float(svg_root.get(name)) for name in ("width", "height")]
        assert (depth, colors) == (8, 6), (depth, colors)  # red, green, blue, opacity
        pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
        assert len(pixels) == height * (4 * width + 1)
        assert len(set(pixels)) > 16, reports.what


def png_missing(test):
    """One line names the package, and no file is left or replaced."""
    programs = {"none": None, "fails": "#!/bin/sh\n[ $1 = --version ] || { echo oh no >&2; exit 3; }\n",
                "silent": "#!/bin/sh\ncat >/dev/null\n", "partial": "#!/bin/sh\n[ $1 = --version ] || "
                "{ printf '\\211PNG\\r\\n\\032\\n'; kill -9 $$; }\n"}
    for name, script in programs.items():
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as path:
            if script:
                with open(os.path.join(path, "rsvg-convert"), "w", encoding="utf-8") as file:
                    file.write(script)
                os.chmod(file.name, 0o755)
            for tool in ("sh", "cat"):
                os.symlink(shutil.which(tool), os.path.join(path, tool))
            picture = os.path.join(folder, "report.png")
            for before in (None, b"what was there"):
                if before:
                    with open(picture, "wb") as file:
                        file.write(before)
                result = subprocess.run([test.ulpscope, "compare", "reference", "threads", "-o", f"png={picture}"],
                                        cwd=test.dumps, capture_output=True, text=True, check=False,
                                        env={"NO_COLOR": "1", "PATH": path})
                assert result.returncode == 2, (name, result)
                assert result.stdout == "", (name, result)
                lines = result.stderr.splitlines()
                assert len(lines) == 2 and lines[1].startswith("help: "), (name, lines)
                assert "rsvg-convert (Debian package librsvg2-bin)" in lines[0], (name, lines)
                assert os.listdir(folder) == (["report.png"] if before else []), (name, os.listdir(folder))
                if before:
                    with open(picture, "rb") as file:
                        assert file.read() == before, name


# --- all of them


def printed(test):
    """--format prints what -o writes, and so does the file -."""
    dumps = ("reference", "threads")
    reports = Reports(test.ulpscope, test.dumps, dumps, [], 1)
    for name in PRINTED:
        for options in (["--format", name], ["-o", f"{name}=-", "--format", "github"]):
            result = subprocess.run([test.ulpscope, "compare", *dumps, *options], cwd=test.dumps,
                                    capture_output=True, check=False, env={"NO_COLOR": "1"})
            after = reports.github if "-o" in options else b""
            assert result.stdout == getattr(reports, name) + after, (name, options)


class Test:
    def __init__(self, ulpscope, dumps, hostile, source, schema=""):
        self.ulpscope, self.dumps, self.hostile = (os.path.realpath(path) for path in
                                                   (ulpscope, dumps, hostile))
        self.source, self.sarif_schema = source, schema

    def reports(self):
        for pair, options, code in PAIRS:
            yield Reports(self.ulpscope, self.dumps, pair, options, code)
        yield Reports(self.ulpscope, self.hostile, ("names", "names_other"), [], 1)


CASES = [schema_golden, schema_real, schema_several, schema_refuses, schema_refuses_several, schema_inspect,
         schema_refuses_inspect, schema_refuses_of_dumps, inspected_layout, inspected_words, schema_documented,
         sarif_schema, sarif_content, junit, markdown, github, svg, png, png_missing, printed]


if __name__ == "__main__":
    {case.__name__: case for case in CASES}[sys.argv[1]](Test(*sys.argv[2:]))
