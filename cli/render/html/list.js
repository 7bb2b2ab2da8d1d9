// All findings that pass the filter, a page at a time.
import {breakable, button, caption, element, section, shown} from "./dom.js";
import {Filter} from "./filter.js";
import {levelClass} from "./levels.js";
import {counted, grouped, short} from "./numbers.js";
import {hasRanks, largestScaled, largestUlp} from "./report.js";
import {kNoFilter} from "./state.js";
import {kKinds, kPhases, opOf, placeOf} from "./words.js";

const kPage = 100;
const kMostName = 120;

function choice(label, values, apply) {
  const made = element(
      "select", {"aria-label": label}, element("option", {value: ""}, `any ${label}`),
      values.map((value) => element("option", {value}, value)));
  made.addEventListener("change", () => apply(made.value));
  return made;
}

export class List {
  constructor(report, state) {
    this.report = report;
    this.state = state;
    this.filter = new Filter(report.findings);
    this.passing = report.findings.map((finding) => finding.number);
    this.page = 0;
    this.build();
    this.show();
    state.watch((what) => (what === "filter" ? this.filtered() : this.selected()));
  }

  build() {
    const of = (read) => new Set(this.report.findings.map(read));
    const [kinds, phases] = [of((finding) => finding.kind), of((finding) => finding.phase)];
    this.search = element("input", {
      type: "search",
      id: "search",
      placeholder: "Search op, module, step 3…",
      "aria-label": "Search findings",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: 200
    });
    this.search.addEventListener("input", () => this.state.narrow({words: this.search.value}));
    this.kind = choice(
        "kind", kKinds.filter((kind) => kinds.has(kind)), (kind) => this.state.narrow({kind}));
    this.phase = choice(
        "phase", kPhases.filter((phase) => phases.has(phase)),
        (phase) => this.state.narrow({phase, steps: null}));
    this.diverging = element("input", {type: "checkbox"});
    this.diverging.addEventListener(
        "change", () => this.state.narrow({diverging: this.diverging.checked}));
    this.chips = element("span", {class: "chips"});
    this.status = element("span", {role: "status", class: "status"});
    this.before = button({"aria-label": "Previous page"}, () => this.turn(-1), "‹");
    this.after = button({"aria-label": "Next page"}, () => this.turn(1), "›");
    this.rows =
        element("div", {role: "listbox", tabindex: 0, "aria-label": "Findings", class: "rows"});
    this.section = section(
        "findings", "All findings",
        element(
            "div", {class: "controls"}, this.search, this.kind, this.phase,
            element("label", {}, this.diverging, " diverging only")),
        element(
            "div", {class: "controls"}, this.status, this.chips, element("span", {class: "space"}),
            this.before, this.after),
        this.rows);
  }

  /** The rows of the current page, and what is said of it. */
  show() {
    const first = this.page * kPage;
    const part = this.passing.slice(first, first + kPage);
    this.rows.replaceChildren(...part.map((number) => this.row(this.report.findings[number])));
    if (part.length === 0) this.rows.append(caption("No finding passes the filter."));
    const all = this.report.findings.length;
    const range = this.passing.length > kPage ?
        `${grouped(first + 1)} – ${grouped(first + part.length)} of ` :
        "";
    const of = this.passing.length === all ? "" : ` (of ${grouped(all)})`;
    this.status.textContent = `${range}${counted(this.passing.length, "finding")}${of}`;
    this.before.disabled = this.page === 0;
    this.after.disabled = first + kPage >= this.passing.length;
    this.mark();
  }

  row(finding) {
    const [ulp, scaled] = [largestUlp(finding), largestScaled(finding)];
    const made = element(
        "div", {
          role: "option",
          id: `finding-${finding.number}`,
          class: finding.diverges ? "row" : "row harmless"
        },
        element("span", {class: "kind"}, finding.kind),
        element("span", {class: "op"}, breakable(opOf(finding, kMostName))),
        element("span", {class: "ulp"}, ulp === null ? "" : `${grouped(ulp)} ULP`), element("i", {
          class: scaled === null ? "none" : levelClass(scaled),
          title: scaled === null ? null : `${short(scaled)} scaled`
        }),
        element(
            "span", {class: "place"}, hasRanks(this.report) ? `rank ${finding.rank} / ` : "",
            placeOf(finding, kMostName)));
    made.addEventListener("click", () => this.state.select(finding.number));
    return made;
  }

  /** The filter has changed: its controls may not be what changed it. */
  filtered() {
    const {words, kind, phase, diverging, module, steps} = this.state.filter;
    if (this.search.value !== words) this.search.value = words;
    [this.kind.value, this.phase.value, this.diverging.checked] = [kind, phase, diverging];
    const chip = (text, change) => button(
        {class: "chip", "aria-label": `Remove the filter ${text}`}, () => this.state.narrow(change),
        `${text} ×`);
    const chips = [];
    if (steps !== null)
      chips.push(chip(
          steps === "setup"         ? "setup" :
              steps[0] === steps[1] ? `step ${steps[0]}` :
                                      `steps ${steps[0]} - ${steps[1]}`,
          {steps: null}));
    if (module !== null) chips.push(chip(this.nameOf(module), {module: null}));
    if (Object.keys(kNoFilter).some((key) => this.state.filter[key] !== kNoFilter[key])) {
      chips.push(button({class: "chip"}, () => this.state.narrow(kNoFilter), "clear"));
    }
    this.chips.replaceChildren(...chips);
    this.passing = this.filter.passing(this.state.filter);
    this.page = Math.max(Math.floor(this.passing.indexOf(this.state.selected) / kPage), 0);
    this.show();
  }

  nameOf(module) {
    const [root, path] = module.split("\n");
    if (path === "-") return "no module";
    return shown(path === "" ? root : path, 60);
  }

  /** Another finding is selected, perhaps on a different page. */
  selected() {
    const place = this.passing.indexOf(this.state.selected);
    const page = Math.floor(place / kPage);
    if (place === -1 || page === this.page) return this.mark();
    this.page = page;
    return this.show();
  }

  mark() {
    for (const row of this.rows.querySelectorAll("[aria-selected=true]"))
      row.removeAttribute("aria-selected");
    const row = this.rows.querySelector(`#finding-${this.state.selected}`);
    this.rows.setAttribute("aria-activedescendant", row === null ? "" : row.id);
    if (row === null) return;
    row.setAttribute("aria-selected", "true");
    this.scrollTo(row);
  }

  /** Only the list scrolls, not the page. */
  scrollTo(row) {
    const {rows} = this;
    const top = row.offsetTop;
    if (top < rows.scrollTop) rows.scrollTop = top;
    const bottom = top + row.offsetHeight - rows.clientHeight;
    if (bottom > rows.scrollTop) rows.scrollTop = bottom;
  }

  turn(by) {
    this.page += by;
    this.show();
    this.rows.scrollTop = 0;
  }

  /** Selects the finding `by` places further in the list. */
  move(by) {
    const place = this.passing.indexOf(this.state.selected);
    const to = place === -1 ? 0 : Math.min(Math.max(place + by, 0), this.passing.length - 1);
    if (this.passing.length > 0) this.state.select(this.passing[to]);
  }
}
