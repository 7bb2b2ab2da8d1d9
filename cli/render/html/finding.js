// One finding in full.
import {causeOf} from "./causes.js";
import {bounded, caption, code, element, facts, nameCode, shown} from "./dom.js";
import {mark} from "./mark.js";
import {counted, grouped} from "./numbers.js";
import {hasRanks} from "./report.js";
import {table} from "./table.js";
import {differencesOf, tensorsOf} from "./tensors.js";
import {eventPath, headline, moduleOf, opOf, timeOf} from "./words.js";

const kMostNames = 24;
const kMostNotes = 24;
const kMostCauses = 8;

function names(list) {
  if (list.length === 0) return "nothing";
  const more = list.length - kMostNames;
  return list.slice(0, kMostNames).map((name) => shown(name, 200)).join(", ") +
      (more > 0 ? ` and ${more} more` : "");
}

/** What only differs is worth a line: which ops it calls, which kernels it launches. */
function differing(label, {reference, candidate}, event) {
  if (JSON.stringify(reference) === JSON.stringify(candidate)) return [];
  return [
    event.reference === null ? null :
                               [`${label}, reference`, element("code", {}, names(reference))],
    event.candidate === null ? null : [`${label}, candidate`, element("code", {}, names(candidate))]
  ].filter(Boolean);
}

function events({event, ...finding}) {
  if (finding.of_file || (event.reference === null && event.candidate === null)) return null;
  if (event.reference === null) return `${eventPath(finding, event.candidate)} in the candidate`;
  const other = event.candidate === null  ? " in the reference" :
      event.candidate === event.reference ? "" :
                                            ` (candidate ${event.candidate})`;
  return `${eventPath(finding, event.reference)}${other}`;
}

function operation(finding) {
  const parents = finding.parents;
  return facts([
    ["device", shown(finding.device, 80)], ["root", shown(finding.root, 120)],
    [
      "at",
      finding.module !== null && finding.between !== null ?
          moduleOf({...finding, module: null}, 120) :
          null
    ],
    [
      "line",
      finding.where === null ?
          null :
          [
            code(finding.where, 300),
            finding.source === null ? null :
                                      element("code", {class: "source"}, shown(finding.source, 300))
          ]
    ],
    [
      "called by",
      parents.length === 0 ?
          null :
          element(
              "code", {}, parents.slice(0, kMostNames).map((name) => shown(name, 200)).join(" › "))
    ],
    ["forward op", finding.forward_op === null ? null : code(finding.forward_op, 200)],
    ...differing("calls", finding.children, finding.event),
    ...differing("launches", finding.kernels, finding.event), ["event", events(finding)]
  ]);
}

function argumentCells(argument) {
  const name = argument.of === null ? argument.name : `${argument.name} of ${argument.of}`;
  return [name, argument.reference ?? "absent", argument.candidate ?? "absent"].map(
      (text) => code(text));
}

function argumentsOf(finding) {
  if (finding.arguments.length === 0) return null;
  const headings = ["argument", "reference", "candidate"];
  return table({class: "arguments"}, headings, finding.arguments, argumentCells);
}

function neighbours(finding) {
  if (finding.neighbours.length === 0) return null;
  const row = (neighbour) => element(
      "tr", {class: neighbour.finding ? "here" : null},
      element("td", {}, mark(neighbour.equal, neighbour.note)),
      element("td", {class: "number"}, neighbour.event === null ? "" : String(neighbour.event)),
      element("td", {}, nameCode(neighbour.op, 120)),
      element("td", {}, nameCode(neighbour.module, 120)),
      element("td", {}, neighbour.finding ? "← this finding" : shown(neighbour.note ?? "")));
  return element(
      "div", {}, element("h3", {}, "Around it"),
      element(
          "div", {class: "scroll"},
          element(
              "table", {class: "neighbours"},
              element(
                  "tbody", {},
                  bounded(
                      finding.neighbours, kMostNames, row,
                      (more) => element(
                          "tr", {}, element("td", {colspan: 5}, counted(more, "more op"))))))));
}

function causes(finding) {
  const known = finding.causes.filter((cause) => cause.id !== "unknown");
  if (known.length === 0) return null;
  return element(
      "div", {}, element("h3", {}, "Why"),
      bounded(
          known, kMostCauses, (cause, index) => causeOf(cause, index === 0),
          (more) => caption(counted(more, "more cause"))));
}

function notes(finding) {
  if (finding.notes.length === 0) return null;
  return element(
      "ul", {class: "notes"},
      bounded(
          finding.notes, kMostNotes, (note) => element("li", {}, shown(note)),
          (more) => element("li", {}, counted(more, "more note"))));
}

function contents(report, finding) {
  const isFirst = report.first !== null && finding.number === 0;
  const where = [
    hasRanks(report) ? `rank ${finding.rank}` : null, finding.of_file ? null : timeOf(finding),
    finding.lane === "main" ? null : shown(finding.lane, 80),
    finding.of_file ? null : moduleOf(finding)
  ];
  return [
    element(
        "p", {class: "where"},
        element("span", {class: finding.diverges ? "kind" : "kind harmless"}, finding.kind),
        ` finding ${grouped(finding.number + 1)} of ${grouped(report.findings.length)}${
            isFirst ? ", the first difference" : ""}`,
        finding.diverges ? null : ", does not diverge"),
    element("h2", {id: "finding-title"}, nameCode(opOf(finding))),
    element("p", {class: "headline"}, headline(finding), "."),
    element("p", {class: "where"}, where.filter(Boolean).join(" / ")), operation(finding),
    notes(finding), argumentsOf(finding), tensorsOf(finding), ...differencesOf(finding),
    neighbours(finding), causes(finding)
  ];
}

/** Scrolls to the panel where it is above or below what is seen. */
function bringIntoView(panel) {
  const {top, bottom} = panel.getBoundingClientRect();
  if (top > 0.7 * innerHeight || bottom < 80) panel.scrollIntoView({block: "start"});
}

export function findingOf(report, state) {
  if (report.findings.length === 0) return null;
  const panel = element("section", {id: "finding", "aria-labelledby": "finding-title"});
  const show = () =>
      panel.replaceChildren(...contents(report, report.findings[state.selected]).filter(Boolean));
  state.watch((what) => {
    if (what !== "selected") return;
    show();
    bringIntoView(panel);
  });
  show();
  return panel;
}
