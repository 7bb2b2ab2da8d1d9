// The page of a report: reads the document in it and builds the sections.
import {causesOf} from "./causes.js";
import {coverageOf} from "./coverage.js";
import {element, shown} from "./dom.js";
import {findingOf} from "./finding.js";
import {growthOf} from "./growth.js";
import {listenForKeys} from "./keyboard.js";
import {List} from "./list.js";
import {modelsTableOf} from "./models.js";
import {openForPrint} from "./print.js";
import {readReport} from "./report.js";
import {saveButton} from "./save.js";
import {settingsOf} from "./settings.js";
import {spreadOf} from "./spread.js";
import {State} from "./state.js";
import {stripOf} from "./strip.js";
import {themeSwitch} from "./theme.js";
import {tolerancesOf} from "./tolerances.js";
import {modulesOf} from "./tree.js";
import {runsOf, verdictOf} from "./verdict.js";

function column(name, ...sections) {
  const present = sections.flat().filter(Boolean);
  return present.length === 0 ? null : element("div", {class: name}, present);
}

/** Modules have the room that a short list of findings leaves, whatever its filter. */
function columnsClass(report) {
  if (report.findings.length === 0) return "columns single";
  return report.findings.length < 4 ? "columns few" : "columns";
}

function build() {
  const report = readReport();
  const state = new State();
  const list = report.findings.length === 0 ? null : new List(report, state);
  document.title = `${shown(report.verdict)}: Ulpscope report`;
  document.getElementById("view").append(
      element(
          "header", {}, element("span", {class: "product"}, "Ulpscope report"),
          element("span", {class: "space"}),
          list === null ?
              null :
              element(
                  "span", {class: "keys"}, element("kbd", {}, "j"), element("kbd", {}, "k"),
                  " next, previous ", element("kbd", {}, "/"), " search"),
          saveButton(), themeSwitch()),
      element(
          "main", {class: report.verdict === "within" ? "within" : null}, verdictOf(report),
          runsOf(report), stripOf(report, state) ?? "",
          element(
              "div", {class: columnsClass(report)},
              column("aside", modulesOf(report, state), list?.section) ?? "",
              column(
                  "body", findingOf(report, state), spreadOf(report), growthOf(report),
                  causesOf(report, state), modelsTableOf(report), settingsOf(report),
                  tolerancesOf(report), coverageOf(report)))));
  if (list !== null) {
    list.mark();
    listenForKeys(list);
  }
  openForPrint();
}

build();
