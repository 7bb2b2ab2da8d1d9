"""html_test.py ULPSCOPE DUMPS PAGES CASE...: what a browser shows of an HTML report.

Reports of recorded runs are made of DUMPS; those of PAGES (make_pages) are what no small dump leads to.
"""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback

from browser import Browser

ulpscope, dumps, pages, *cases = sys.argv[1:]
kept = tempfile.TemporaryDirectory()
# Each has another kind of finding, settings, causes, a tolerance, a budget, ranks or none of these.
COMPARISONS = (["reference", "threads"], ["digests", "digests_threads", "--golden"], ["reference", "rate"],
               ["reference", "extra"], ["reference", "killed"], ["reference", "same"],
               ["ranks", "ranks_apart"], ["reference", "other_cpu"],
               ["reference", "threads", "--tolerance", "tolerance.toml"],
               ["factors", "factors_threads", "--budget", "--replay", "off"])


def grouped(number):
    return f"{int(number):,}"


def counted_findings(count):
    return f"{grouped(count)} finding{'' if count == 1 else 's'}"


def compare(arguments, folder):
    """The page of a comparison, and its report."""
    page, document = os.path.join(folder, "report.html"), os.path.join(folder, "report.json")
    result = subprocess.run([ulpscope, "compare", *arguments, "-o", f"html={page}", "-o", f"json={document}"],
                            cwd=dumps, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1, 2) and os.path.exists(page), f"{arguments}: {result.stderr}"
    with open(document, encoding="ascii") as file:
        return page, json.load(file)


def made(name):
    """A page that make_pages has made, and its report."""
    with open(os.path.join(pages, name + ".json"), encoding="ascii") as file:
        return os.path.join(pages, name + ".html"), json.load(file)


@functools.cache
def compared(*arguments):
    """What compare() makes, once for all cases."""
    folder = os.path.join(kept.name, str(compared.cache_info().currsize))
    os.mkdir(folder)
    return compare(arguments, folder)


def for_each_report(check):
    """Calls check(browser, report) with the page of each comparison open, and with that of a mixed report."""
    with Browser() as browser:
        for arguments in [*COMPARISONS, ["mixed"]]:
            page, report = compared(*arguments) if len(arguments) > 1 else made("mixed")
            browser.open(page)
            try:
                check(browser, report)
            except AssertionError as error:
                raise AssertionError(f"{' '.join(arguments)}: {error}") from error


def expect(shown, report):
    assert shown == report, f"the page has {shown!r}, the report {report!r}"


def ulp_of(finding):
    """The largest ULP distance among a finding's tensors, as the list prints it."""
    differences = [t["difference"] for t in finding["tensors"] if t["difference"]]
    distances = [int(d["ulp"]["max"]) for d in differences if int(d["differing"])]
    return f"{grouped(max(distances))} ULP" if distances else ""


def op_of(finding):
    if finding["op"] is None:
        return "ops outside of modules"
    return finding["op"] + ("." + finding["overload"] if finding["overload"] else "")


def document():
    def check(browser, report):
        expect(json.loads(browser.text("script#report")), report)
    for_each_report(check)


def verdict():
    def check(browser, report):
        words = browser.text("h1")
        if not report["summary"].startswith(report["verdict"]):
            words = words.removeprefix(report["verdict"] + " ")
        expect(words, report["summary"])
        expect(browser.text(".badge"), report["verdict"])
        expect(browser.texts(".run .path"), [report[run]["path"] for run in ("reference", "candidate")])
    for_each_report(check)


def findings():
    def check(browser, report):
        rows = list(zip(browser.texts(".row .kind"), browser.texts(".row .op"), browser.texts(".row .ulp")))
        expect(rows, [(f["kind"], op_of(f), ulp_of(f)) for f in report["findings"]])
        for finding, place in zip(report["findings"], browser.texts(".row .place")):
            assert (finding["module"] or "") in place and finding["phase"] in place, place
        if report["findings"]:
            expect(browser.text(".status"), counted_findings(len(report["findings"])))
    for_each_report(check)


def filters():
    """Each control lists exactly the findings that it says, and what it did can be undone."""
    page, report = made("mixed")

    def listed(browser):
        return browser.run("return [...document.querySelectorAll('.row[role=option]')].map(row => +row.id.split('-')[1])")

    def those(passes):
        return [number for number, finding in enumerate(report["findings"]) if passes(finding)]

    def choose(browser, label, value):
        browser.run("const choice = document.querySelector(arguments[0]); choice.value = arguments[1];"
                    "choice.dispatchEvent(new Event('change'))", f"[aria-label={label}]", value)

    with Browser() as browser:
        browser.open(page)
        everything = those(lambda finding: True)
        expect(listed(browser), everything)
        for label in ("kind", "phase"):
            for value in {finding[label] for finding in report["findings"]}:
                choose(browser, label, value)
                expect(listed(browser), those(lambda finding: finding[label] == value))
            choose(browser, label, "")
        browser.click("#findings input[type=checkbox]")
        expect(listed(browser), those(lambda finding: finding["diverges"]))
        browser.click("#findings input[type=checkbox]")
        expect(listed(browser), everything)
        for name, count in zip(browser.texts(".module .name"), range(100)):
            browser.run("document.querySelectorAll('.module')[arguments[0]].click()", count)
            inside = [report["findings"][number] for number in listed(browser)]
            last = name.split(": ")[-1].split(".")[-1]
            assert inside == [] or all(last in (f["module"] or "no module").split(".") or last == f["root"]
                                       or name == "(no root module)" for f in inside), f"{name}: {inside}"
            browser.run("document.querySelectorAll('.module')[arguments[0]].click()", count)
        for cell in range(len(browser.texts(".cell[role=button]"))):
            browser.run("document.querySelectorAll('.cell[role=button]')[arguments[0]]"
                        ".dispatchEvent(new MouseEvent('click'))", cell)
            step, phase = browser.texts(".cell[role=button] title")[cell].split(";")[0].split(", ")
            expect(listed(browser), those(lambda finding: finding["phase"] == phase and step == (
                "setup" if finding["step"] is None else f"step {finding['step']}")))
        browser.run("[...document.querySelectorAll('.chip')].at(-1).click()")
        expect(listed(browser), everything)


def steps():
    """Each step and phase with findings has a cell that says how many, and how far apart they are."""
    def check(browser, report):
        cells = {}
        for finding in report["findings"]:
            step = "setup" if finding["step"] is None else f"step {finding['step']}"
            cells.setdefault((step, finding["phase"]), []).append(finding)
        expected = []
        for (step, phase), here in cells.items():
            words = f"{step}, {phase}; {len(here)} finding{'s' if len(here) > 1 else ''}"
            if report["first"] is not None and report["findings"][0] in here:
                words += "; the first difference"
            scaled = [t["difference"]["scaled_max"] for finding in here for t in finding["tensors"] if t["difference"]]
            scaled = [float(value) for value in scaled if value is not None]
            expected.append((words, max(scaled, default=None)))
        shown = browser.texts(".cell[role=button] title")
        expect(len(shown), len(expected))
        for title, (words, scaled) in zip(shown, expected):
            assert title.startswith(words), f"{title!r}, not {words!r}"
            said = re.search(r"at most (\S+) of", title)
            assert (said is None) == (scaled is None), title
            assert said is None or abs(float(said[1]) - scaled) <= 0.006 * scaled, title
    for_each_report(check)


def modules():
    """The tree has every module with findings, how many there are, and where it starts."""
    def check(browser, report):
        if not report["findings"]:
            return expect(browser.text(".tree"), None)
        counts = [int(re.match(r"[\d,]+", text)[0].replace(",", "")) for text in browser.texts(".module .count")]
        expect(sum(counts), len(report["findings"]))
        names = " ".join(browser.texts(".module .name")).replace(": ", " ").replace(".", " ").split()
        for finding in report["findings"]:
            for part in (finding["module"] or "").split("."):
                assert part == "" or part in names, f"{part} of {finding['module']}"
        starts = browser.run("""return [...document.querySelectorAll(".start")].map(
                                  start => start.closest("button").querySelector(".name").textContent)""")
        first = report["first"]
        expect(len(starts), 0 if first is None else 1)
        if first is not None and first["module"]:
            assert first["module"].endswith(starts[0].split(": ")[-1]), starts
        points = report["path"]["points"] if report["path"] else []
        expect(browser.texts("#spread tbody td:nth-child(2)"), [point["op"] for point in points])
        expect(browser.texts("#spread tbody td:nth-child(4)"), [grouped(point["ulp_max"]) for point in points])
    for_each_report(check)


def whole_model():
    """The model's own result is a place on the way to the loss, and no module inside of it."""
    page, report = made("by_layers")
    with Browser() as browser:
        browser.open(page)
        roots = browser.run("""return [...document.querySelectorAll(".tree > li > .module")].map(root =>
                                 [".name", ".order"].map(part => root.querySelector(part).textContent))""")
        expect(roots, [[report["first"]["root"], "→ 2"]])
        assert report["first"]["root"] not in browser.texts(".tree li li .name")


def growth():
    def check(browser, report):
        rows = browser.run("""return [...document.querySelectorAll("#growth tbody tr")].map(
                                row => [...row.children].map(cell => cell.textContent))""")
        expect(len(rows), len(report["growth"]))
        for row, point in zip(rows, report["growth"]):
            expect(row[:2], [str(point["step"]), "" if point["ulp_max"] is None else grouped(point["ulp_max"])])
            if point["loss"] is not None:
                losses = [point["loss"]["reference"], point["loss"]["candidate"]]
                expect([float(f"{float(value):.9g}") for value in row[3:]], [float(f"{loss:.9g}") for loss in losses])
                expect(row[3] == row[4], losses[0] == losses[1])
                if "e" not in row[3] and abs(losses[0] - losses[1]) > 1e-6:
                    assert max(map(len, row[3:])) <= 11, f"{row} has more digits than a float32 has"
        has_losses = any(point["loss"] for point in report["growth"])
        expect(len(browser.texts("#growth thead th")), (5 if has_losses else 3) if rows else 0)
        expect(len(browser.texts("#growth .chart")), 0 if len(rows) < 2 else 2 + any(p["loss"] for p in report["growth"]))
        expect(len(browser.texts("#growth circle.line-1")), sum(p["loss"] is not None for p in report["growth"])
               if len(rows) > 1 else 0)
    for_each_report(check)


def listed(finding):
    """Its tensors without what an in-place op returns, which is an argument that it has modified."""
    def same(one, other):
        apart = [(tensor["difference"] or {"differing": 0})["differing"] for tensor in (one, other)]
        return apart[0] == apart[1] and all(one[key] == other[key] for key in ("dtype", "shape", "equal"))
    modified = [t for t in finding["tensors"] if t["role"] == "mutated" and (finding["op"] or "").endswith("_")]
    return [t for t in finding["tensors"] if t["role"] != "output" or not any(same(t, other) for other in modified)]


def in_place():
    """What an in-place op has modified and returns stands once, as in the text report; another result stays."""
    page, report = made("in_place")
    with Browser() as browser:
        browser.open(page)
        for number, slots in ((0, ["in", "mut", "out 1"]), (1, ["in", "mut", "out 0", "out 1"])):
            browser.click(f"#finding-{number}")
            expect(browser.texts(".tensors .slot"), slots)
            apart = [t for t in listed(report["findings"][number]) if not t["equal"] and t["difference"]]
            expect(len(browser.texts(".difference")), len(apart))
    with Browser(scripts=False) as browser:
        browser.open(page)
        body = browser.driver.find_element("tag name", "body").text
        expect(body.count("out 0"), 1)  # of the second finding


def panel():
    """Every finding, selected in the list, is shown in full: tensors, worst elements, histograms."""
    def check(browser, report):
        for number, finding in enumerate(report["findings"]):
            browser.click(f"#finding-{number}")
            expect(browser.text("#finding h2"), op_of(finding))
            tensors = listed(finding)
            expect(len(browser.texts(".tensors tbody tr")), len(tensors))
            apart = [t["difference"] for t in tensors if not t["equal"] and t["difference"]]
            expect(len(browser.texts(".difference")), len(apart))
            expect([bits for d in apart if d["worst"] for bits in d["worst"]["bits"]],
                   browser.texts(".worst td:nth-child(3)"))
            expect(browser.texts(".worst td.number"),
                   [str(d["worst"][run]) for d in apart if d["worst"] for run in ("reference", "candidate")])
            bins = [grouped(b[1]) for d in apart if any(int(b[0]) for b in d["ulp"]["histogram"])
                    for b in d["ulp"]["histogram"]]
            expect(browser.texts(".difference figure details td:last-child"), bins)
            expect(browser.texts(".axes th"), [f"dim {i}" for d in apart for i in range(len(d["axes"]))])
            expect(len(browser.texts(".axes svg")), sum(len(d["axes"]) for d in apart))
            expect(browser.texts("#finding .cause strong"), [
                cause["id"] for cause in report["causes"] if cause["finding"] == number and cause["id"] != "unknown"])
            for note in finding["notes"]:
                assert note in browser.texts(".notes li"), note
            expect(browser.texts(".arguments tbody code"),
                   [text for a in finding["arguments"]
                    for text in (a["name"] + (f" of {a['of']}" if a["of"] else ""),
                                 *("absent" if a[run] is None else a[run] for run in ("reference", "candidate")))])
            if finding["meaning"]:
                expect(browser.text("#finding .headline"), finding["meaning"] + ".")
    for_each_report(check)


def models():
    """A row for each difference of the models."""
    def check(browser, report):
        expect(len(browser.texts("#models")), 1 if report["models"] else 0)
        rows = []
        for model in report["models"]:
            name = model["path"] or model["root"]
            place = name if model["what"] in ("shape", "tensor") else f"{model['what']} of {name}"
            rows += [place, *(model[run] or "(none)" for run in ("reference", "candidate"))]
        expect(browser.texts("#models tbody code"), rows)
    for_each_report(check)


def settings():
    def check(browser, report):
        rows = browser.texts("#settings tbody tr")
        ordered = sorted(report["environment"], key=lambda setting: not setting["can_change_bits"])
        expect(len(rows), len(ordered))
        for row, setting in zip(rows, ordered):
            assert row.startswith(setting["key"]), row
            for run in ("reference", "candidate"):
                assert (setting[run] if setting[run] is not None else "(unset)")[:300] in row, row
    for_each_report(check)


def causes():
    def check(browser, report):
        shown = " ".join(browser.texts("#causes .cause"))
        expect(len(browser.texts("#causes .of a")), len(report["causes"]))
        known = [c for c in report["causes"] if c["finding"] == 0 and report["first"]][:1]
        if known and known[0]["id"] != "unknown":
            assert f"{known[0]['id']} ({known[0]['confidence']})" in browser.text(".because"), known
        for cause in report["causes"]:
            assert f"{cause['id']} {cause['confidence']}" in shown, cause["id"]
            for line in [*cause["evidence"], *cause["against"], *cause["try"]]:
                assert line in shown, line
    for_each_report(check)


def judged():
    """What was compared, and what rules and budgets have decided."""
    def check(browser, report):
        coverage = report["coverage"]
        assert f"{grouped(coverage['aligned'])} event" in browser.text("#coverage"), browser.text("#coverage")
        for unseen in coverage["unseen"]:
            assert unseen in browser.text("#coverage"), unseen
        rules = browser.run("""return [...document.querySelectorAll("#rules tbody tr")].map(
                                 row => [1, 6, 7].map(column => row.children[column].textContent))""")
        expect(rules, [[rule["op"], grouped(rule["passed"]), grouped(rule["failed"])] for rule in report["rules"]])
        ops = browser.run("""return [...document.querySelectorAll("#budget tbody tr")].map(
                               row => [0, 1, 2].map(column => row.children[column].textContent))""")
        budget = report["budget"] or {"ops": []}
        expect(ops, [[op["op"], grouped(op["results"]), grouped(op["outside"])] for op in budget["ops"]])
        conditions = report["golden"]["differ"] if report["golden"] else []
        expect(len(browser.texts(".verdict tbody tr")), len(conditions))
    for_each_report(check)


def saved():
    """The button writes the JSON report."""
    page, report = made("mixed")
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        browser.open(page)
        browser.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        browser.click("#save")
        place = os.path.join(folder, "ulpscope-report.json")
        for _ in range(600):
            if os.path.exists(place):
                break
            time.sleep(0.1)
        with open(place, encoding="ascii") as file:
            expect(json.load(file), report)
        expect(browser.console(), [])


def hostile_names():
    """Names that are markup run no script, make no element, and are there to be read."""
    page, report = made("hostile")
    with Browser() as browser:
        browser.open(page)
        expect(json.loads(browser.text("script#report")), report)
        for number in range(len(report["findings"])):
            browser.click(f"#finding-{number}")
            browser.click("#finding .difference summary") if browser.text("#finding .difference") else None
            expect(browser.run("return document.querySelectorAll('script').length"), 2)
            expect(browser.run("return document.querySelectorAll('img, iframe, object, embed, link').length"), 0)
            assert "<script>harm=1</script><img src=x onerror=harm=1>" in browser.text("#finding h2")
        assert browser.run("return typeof harm") == "undefined", "a name has run as a script"
        assert "<script>" in browser.text("h1") and "\\u202e" in browser.text("h1"), browser.text("h1")
        for steering in ("\u2028", "\u202e", "\x01"):
            assert steering not in browser.text("#view"), f"U+{ord(steering):04X} is in the page"
        expect(browser.console(), [])


def long_names():
    """Of a name of 10 MB the page shows the beginning, and how much there is; the document has all of it."""
    page, report = made("long_names")
    with Browser() as browser:
        browser.open(page)
        expect(len(json.loads(browser.text("script#report"))["first"]["op"]), len(report["first"]["op"]))
        assert re.search(r"x… \([\d,]+ more characters\)", browser.text("#finding h2")), "nothing is left out"
        assert len(browser.text("#view")) < 100_000, "a long name is in the page"
        assert browser.run("return document.querySelectorAll('#view *').length") < 2_000


def policy():
    """Only the page's script and style are allowed."""
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        page, _ = compare(COMPARISONS[0], folder)
        browser.open(page)
        content = browser.run("return document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
        assert content.startswith("default-src 'none'; script-src 'sha256-"), content
        assert "unsafe" not in content and "http" not in content, content
        browser.run("""const script = document.createElement("script");
                       script.textContent = "window.added = 1";
                       document.body.append(script);
                       const image = document.createElement("div");
                       image.innerHTML = "<b style='color: red' onclick='window.clicked = 1'>x</b>";
                       document.body.append(image);
                       image.firstChild.click();""")
        expect(browser.run("return [typeof added, typeof clicked]"), ["undefined", "undefined"])
        expect(browser.run("return getComputedStyle(document.querySelector('div > b')).color === 'rgb(255, 0, 0)'"), False)
        expect(browser.run("return performance.getEntriesByType('resource').length"), 0)
        refused = browser.console()
        assert len(refused) >= 3 and all("Content Security Policy" in line for line in refused), refused


def many_findings():
    """10,000 findings: a part is listed, all are searched, the last can be reached."""
    page, report = made("many_findings")
    count = len(report["findings"])
    with Browser() as browser:
        browser.open(page)
        expect(browser.text(".status"), f"1 – 100 of {counted_findings(count)}")
        expect(len(browser.texts(".row[role=option]")), 100)
        browser.press("/")
        browser.press(f"backward conv{count - 1}")
        expect(browser.texts(".row .ulp"), [ulp_of(report["findings"][-1])])
        expect(browser.text(".status"), f"1 finding (of {grouped(count)})")
        browser.click(f"#finding-{count - 1}")
        assert report["findings"][-1]["module"] in browser.text("#finding"), "it is not shown"
        browser.run("const search = document.getElementById('search'); search.value = 'threads';"
                    "search.dispatchEvent(new Event('input'))")
        expect(browser.text(".status"), f"{grouped(count - 99)} – {grouped(count)} of {counted_findings(count)}")
        browser.run("search.value = 'nothing has this name'; search.dispatchEvent(new Event('input'))")
        expect(browser.texts(".row[role=option]"), [])


def narrow():
    """380 pixels are enough: only tables scroll sideways."""
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        made_pages = [made(name)[0] for name in ("mixed", "hostile", "long_names", "many_findings", "in_place", "identical")]
        for arguments in [*COMPARISONS, None]:
            for page in made_pages if arguments is None else [compare(arguments, folder)[0]]:
                browser.open(page, width=380)
                browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
                wide, room = browser.run("const page = document.documentElement; return [page.scrollWidth, page.clientWidth]")
                assert wide <= room <= 380, f"{page}: {wide} pixels wide in {room}"


# Each part of a text that stands between places where it may break, and in how many lines it is.
PIECES_IN_LINES = """return arguments[0].flatMap(selector => [...document.querySelectorAll(selector)]).flatMap(each => {
    const texts = document.createTreeWalker(each, NodeFilter.SHOW_TEXT), pieces = [];
    while (texts.nextNode())
      for (const found of texts.currentNode.data.matchAll(/[^ ]+/g)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, found.index);
        range.setEnd(texts.currentNode, found.index + found[0].length);
        pieces.push([found[0], new Set([...range.getClientRects()].map(box => box.top)).size]);
      }
    return pieces; })"""


def narrow_numbers():
    """At 380 pixels nothing that is drawn leaves its frame, and how far apart values are is seen without scrolling."""
    page, report = made("mixed")
    with Browser() as browser:
        browser.open(page, width=380)
        histograms = 0
        for finding in range(len(report["findings"])):
            browser.click(f"#finding-{finding}")
            browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
            drawn = browser.run("""return [...document.querySelectorAll("svg.histogram")].map(svg => {
                const frame = svg.closest("figure").getBoundingClientRect();
                return [...svg.querySelectorAll("rect, text")].every(each => {
                  const box = each.getBoundingClientRect();
                  return box.left >= frame.left - 1 && box.right <= frame.right + 1; }); })""")
            assert all(drawn), f"finding {finding}: a histogram leaves its frame"
            histograms += len(drawn)
        assert histograms > 1, histograms
        rights = browser.run("""return [...document.querySelectorAll("#spread tbody td.number")].map(
                                    cell => cell.getBoundingClientRect().right)""")
        assert rights and max(rights) <= 380, rights
        expect(browser.texts(".run:last-child .word"), report["candidate"]["command"])
        lines = browser.run("return [...document.querySelectorAll('.run .word')].map(word => word.offsetHeight)")
        expect(len(set(lines)), 1)  # no word is in two lines
        counts = browser.run("""return [...document.querySelectorAll("#modules .far")].map(each =>
            [each.getBoundingClientRect().right, each.closest("button").getBoundingClientRect().right])""")
        assert counts and all(right > room - 40 for right, room in counts), f"numbers of modules are not in a column: {counts}"


def dimensions():
    """What differs in a dimension is said beside its bar, however narrow that is."""
    page, report = made("mixed")
    with Browser() as browser:
        for width in (380, 900, 1100, 1600):
            browser.open(page, width=width)
            partial = 0
            for finding in range(len(report["findings"])):
                browser.click(f"#finding-{finding}")
                browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
                rows = browser.run("""return [...document.querySelectorAll(".axes tr")].map(row => {
                    const words = document.createTreeWalker(row.lastElementChild, NodeFilter.SHOW_TEXT);
                    const range = document.createRange(), bar = row.querySelector("svg").getBoundingClientRect();
                    range.selectNodeContents(words.nextNode());
                    const said = range.getBoundingClientRect();
                    const rights = [...row.querySelectorAll("rect")].map(each => each.getBoundingClientRect().right);
                    const right = Math.max(bar.right, ...rights) - 1;
                    return [row.textContent, said.left >= right && said.top < bar.bottom]; })""")
                assert all(beside for _, beside in rows), f"{width} pixels, finding {finding}: {rows}"
                partial += sum(":" in text for text, _ in rows)
            assert partial > 0, "no finding leaves indices of a dimension out"


def scrolling():
    """Whatever scrolls shows at its sides that there is more."""
    pages_that_scroll = [made(name)[0] for name in ("mixed", "many_findings", "in_place")]
    pages_that_scroll.append(compared("reference", "rate")[0])
    with Browser() as browser:
        scrolled = set()
        for page in pages_that_scroll:
            for width in (380, 1400):
                browser.open(page, width=width)
                found = browser.run("""return [...document.querySelectorAll("#view *")].flatMap(each => {
                    const style = getComputedStyle(each), name = each.id || each.className;
                    const layers = style.backgroundAttachment.split(", ").filter(one => one === "local").length;
                    const moves = (overflow, far) => ["auto", "scroll"].includes(overflow) && far > 1;
                    const sides = 2 * moves(style.overflowX, each.scrollWidth - each.clientWidth) +
                                  2 * moves(style.overflowY, each.scrollHeight - each.clientHeight);
                    return sides === 0 ? [] : [[name, layers >= sides]]; })""")
                assert all(shown for _, shown in found), f"{page}, {width} pixels: {found}"
                scrolled.update(name for name, _ in found)
        assert len(scrolled) > 2, scrolled


def fits():
    """What there is room for does not scroll: many modules above few findings, numbers over the steps on a phone."""
    page, _ = made("spreading")
    with Browser() as browser:
        browser.open(page, width=1400)
        shown, there = browser.run("const tree = document.getElementById('modules');"
                                   "return [tree.clientHeight, tree.scrollHeight]")
        assert shown == there > 400, f"{shown} pixels of {there} of the modules are shown"
        browser.open(page, width=380)
        shown, there = browser.run("const table = document.querySelector('#growth .scroll');"
                                   "return [table.clientWidth, table.scrollWidth]")
        assert shown == there, f"{shown} pixels of {there} of the numbers over the steps are shown"


def narrow_names():
    """At 380 pixels names in the verdict and folders of commands break between their parts."""
    page, report = made("in_place")
    with Browser() as browser:
        browser.open(page, width=380)
        pieces = browser.run(PIECES_IN_LINES, ["h1", ".run .word"])
        assert all(lines == 1 for _, lines in pieces), f"parts of names are in several lines: {pieces}"
        # A name that fits into a line is not in two.
        expect(browser.run("""return [...document.querySelectorAll("h1 .word")].map(word =>
            [word.textContent, word.offsetHeight < 1.5 * parseFloat(getComputedStyle(word).lineHeight)])"""),
               [["torch::autograd::AccumulateGrad", False], ["layer2.0.conv1", True], ["aten::uniform_", True]])
        expect("".join(piece for piece, _ in pieces).count(report["candidate"]["command"][0]), 2)


def keyboard():
    """j and k go through the list, arrows within it; / searches, Escape ends that."""
    page, report = made("many_findings")
    selected = "return [...document.querySelectorAll('[aria-selected=true]')].map(row => row.id)"
    with Browser() as browser:
        browser.open(page)
        expect(browser.run(selected), ["finding-0"])
        browser.press("jjjk")
        expect(browser.run(selected), ["finding-2"])
        browser.press("j" * 98)
        expect(browser.run(selected), ["finding-100"])
        assert browser.text(".status").startswith("101 – 200 "), browser.text(".status")
        browser.press("j" * 40)
        seen = browser.run("""const [list, row] = [".rows", "[aria-selected=true]"].map(
                                name => document.querySelector(name).getBoundingClientRect());
                              return row.top >= list.top - 1 && row.bottom <= list.bottom + 1""")
        assert seen, "the selected finding is not in the visible part of the list"
        browser.press("k" * 40)
        assert f"finding 101 of {grouped(len(report['findings']))}" in browser.text("#finding")
        browser.run("document.querySelector('.rows').focus()")
        browser.press("\ue015\ue015\ue013")  # down, down, up
        expect(browser.run(selected), ["finding-101"])
        expect(browser.run("return document.querySelector('.rows').getAttribute('aria-activedescendant')"), "finding-101")
        assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid", "focus is invisible"
        browser.press("/")
        expect(browser.run("return document.activeElement.id"), "search")
        browser.press("jk")
        expect(browser.run("return document.activeElement.value"), "jk")
        browser.press("\ue00c")  # Escape
        expect(browser.run("return document.activeElement === document.body"), True)


def cells():
    """The strip of steps by keys: one stop of the tab key, arrows go on, Enter filters."""
    page, report = made("mixed")
    with Browser() as browser:
        browser.open(page)
        expect(len(browser.texts(".cell[tabindex='0']")), 1)
        browser.run("document.querySelector(\".cell[tabindex='0']\").focus()")
        browser.press("\ue014")  # right
        title = browser.run("return document.activeElement.querySelector('title').textContent")
        expect(title, browser.texts(".cell[role=button] title")[1])
        browser.press("\ue007")  # Enter
        phase = title.split(";")[0].split(", ")[1]
        expect(browser.run("return document.querySelector('[aria-label=phase]').value"), phase)
        expect(len(browser.texts(".row[role=option]")), int(re.search(r"(\d+) finding", title)[1]))
        browser.press("\ue012")  # left
        expect(browser.run("return document.activeElement.querySelector('title').textContent"),
               browser.texts(".cell[role=button] title")[0])
        expect(len(browser.texts(".cell[tabindex='0']")), 1)


def themes():
    """Light and dark, as the system has it or as chosen."""
    page, _ = made("hostile")
    ground = "return getComputedStyle(document.body).backgroundColor"
    with Browser() as browser:
        browser.open(page, theme="light")
        light = browser.run(ground)
        browser.open(page, theme="dark")
        dark = browser.run(ground)
        assert light != dark, light
        for theme, color in (("light", light), ("dark", dark), ("system", dark)):
            browser.run("const choice = document.getElementById('theme'); choice.value = arguments[0];"
                        "choice.dispatchEvent(new Event('change'))", theme)
            expect(browser.run(ground), color)


def paper():
    """Printed, everything is open and nothing is to be pressed."""
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        page, _ = compare(COMPARISONS[0], folder)
        browser.open(page)
        closed = "return document.querySelectorAll('#view details:not([open])').length"
        before = browser.run(closed)
        assert before > 0, "nothing is closed"
        browser.run("window.during = null; addEventListener('beforeprint', () => setTimeout(() => 0) &&"
                    "(window.during = document.querySelectorAll('#view details:not([open])').length))")
        browser.command("Page.printToPDF")
        expect(browser.run("return window.during"), 0)
        expect(browser.run(closed), before)
        browser.command("Emulation.setEmulatedMedia", media="print")
        expect(browser.run("return getComputedStyle(document.getElementById('save')).display"), "none")
        expect(browser.run("return getComputedStyle(document.querySelector('.rows')).maxHeight"), "none")


def without_scripts():
    """Where a mail program runs no scripts, the page is the report as text."""
    page, _ = made("hostile")
    with Browser(scripts=False) as browser:
        browser.open(page)
        body = browser.driver.find_element("tag name", "body").text
        assert body.startswith("DIVERGED"), body[:80]
        assert "error[origin]" in body and "<script>harm=1</script>" in body, body
        expect(len(browser.driver.find_elements("css selector", "img")), 0)


def unwritable():
    """A page that cannot be written: one line, exit code 2, and nothing of it is left."""
    with tempfile.TemporaryDirectory() as folder:
        for place, reason in ((os.path.join(folder, "missing", "report.html"), "No such file or directory"),
                              (folder, "Is a directory"), ("/dev/full", "No space left on device")):
            result = subprocess.run([ulpscope, "compare", "reference", "threads", "-o", f"html={place}"],
                                    cwd=dumps, capture_output=True, text=True, check=False)
            expect(result.returncode, 2)
            assert f"'{place}' could not be written: {reason}" in result.stderr, result.stderr
            expect(result.stdout, "")
            expect(os.listdir(folder), [])


def main():
    failed = []
    for case in cases:
        try:
            globals()[case]()
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
            failed.append(case)
    if failed:
        sys.exit(f"failed: {' '.join(failed)}")


if __name__ == "__main__":
    main()
