// What was compared.
import {bounded, facts, section, shown} from "./dom.js";
import {counted, grouped} from "./numbers.js";
import {isOfFiles} from "./report.js";

const kMostUnseen = 40;

const kLeftOut = {
  uninitialised: "uninitialized",
  handle: "handles",
  layout: "in a different layout",
  no_bytes: "without bytes",
  ignored: "ignored",
  opaque: "opaque"
};

const kRankMatches = {
  number: "by number",
  declared: "by the rank they declare",
  creation: "by creator and order of creation",
  content: "by what they compute"
};

function leftOut(counts) {
  return Object.entries(kLeftOut)
      .filter(([key]) => Number(counts[key]) !== 0)
      .map(([key, words]) => `${grouped(counts[key])} ${words}`)
      .join(", ");
}

function ranks(report) {
  if (report.rank_pairs.length < 2) return null;
  const by = {};
  for (const pair of report.rank_pairs) by[pair.by] = (by[pair.by] ?? 0) + 1;
  return Object.entries(by)
      .map(([how, count]) => `${grouped(count)} ${kRankMatches[how] ?? shown(how, 40)}`)
      .join(", ");
}

export function coverageOf(report) {
  if (isOfFiles(report)) return null;
  const {coverage} = report;
  const beside =
      [
        [coverage.moved, "of them in another order"],
        [coverage.only_reference, "only in the reference"],
        [coverage.only_candidate, "only in the candidate"]
      ].filter(([count]) => Number(count) !== 0)
          .map(([count, words]) => `, ${grouped(count)} ${words}`)
          .join("");
  return section(
      "coverage", "What was compared", facts([
        ["aligned", `${counted(coverage.aligned, "event")}${beside}`],
        [
          "outcomes",
          coverage.outcomes_recorded ? counted(coverage.outcomes, "value") :
                                       "not recorded in both runs"
        ],
        ["not compared", leftOut(coverage.not_compared)], ["ranks matched", ranks(report)],
        ...bounded(
            coverage.unseen, kMostUnseen, (text) => ["unseen", shown(text)],
            (more) => ["", `${counted(more, "more line")} in the JSON document`])
      ]));
}
