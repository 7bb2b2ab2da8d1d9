// The answer in a sentence, its first cause, and both runs.
import {code, commandCode, element, facts, sentenceWithNames, shown} from "./dom.js";
import {counted} from "./numbers.js";
import {isOfFiles} from "./report.js";
import {settingsTable} from "./settings.js";

const kMostWords = 60;
const kMostWord = 300;
const kMostCommand = kMostWords * (kMostWord + 40);

/** The summary, its first word marked where it is the verdict. */
function sentence(report) {
  const {verdict, summary} = report;
  const begins = summary.startsWith(verdict);
  return element(
      "h1", {id: "verdict"}, element("span", {class: `badge ${verdict}`}, shown(verdict)),
      begins ? null : " ",
      sentenceWithNames(shown(begins ? summary.slice(verdict.length) : summary, 2000)));
}

function firstCause(report) {
  const cause = report.first === null ? undefined : report.findings[0].causes[0];
  if (cause === undefined || cause.id === "unknown") return null;
  return element(
      "p", {class: "because"}, "Cause: ", element("strong", {}, shown(cause.id)),
      ` (${shown(cause.confidence)})`,
      cause.evidence.length > 0 ? `: ${shown(cause.evidence[0], 200)}` : null);
}

function golden(report) {
  if (report.golden === null) return null;
  const {same_conditions: same, differ} = report.golden;
  if (same)
    return element(
        "p", {}, "Golden: recorded with the same instruction set, threads and libraries.");
  return element(
      "div", {class: "note"},
      element(
          "p", {},
          "Golden: recorded under other conditions than the candidate, so that bits may differ without a fault of the program:"),
      settingsTable(differ));
}

export function verdictOf(report) {
  return element("div", {class: "verdict"}, sentence(report), firstCause(report), golden(report));
}

function command(words) {
  if (words.length === 0) return null;
  const more = words.length - kMostWords;
  const text = words.slice(0, kMostWords).map((word) => shown(word, kMostWord)).join(" ");
  return commandCode(more > 0 ? `${text} … (${more} more words)` : text, kMostCommand);
}

function run(name, summary, report) {
  const parts =
      isOfFiles(report) ? [shown(summary.format, 40), counted(summary.values, "tensor")] : [
        counted(summary.steps, "step"), counted(summary.events, "event"),
        counted(summary.values, "value")
      ];
  if (summary.level !== "") parts.push(`level ${shown(summary.level)}`);
  if (Math.max(report.reference.ranks, report.candidate.ranks) > 1)
    parts.unshift(counted(summary.ranks, "rank"));
  if (!summary.complete) parts.push("incomplete");
  return element(
      "section", {class: "run", "aria-label": name}, element("h2", {}, name),
      element("p", {class: "path"}, code(summary.path)),
      facts([["holds", parts.join(", ")], ["command", command(summary.command)]]));
}

export function runsOf(report) {
  return element(
      "div", {class: "runs"}, run("Reference", report.reference, report),
      run("Candidate", report.candidate, report));
}
