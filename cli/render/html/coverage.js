// What was compared, and what a tolerance or budget has decided.
import {code, element, facts, section, shown, table} from "./dom.js";
import {counted, grouped, percentage, short} from "./numbers.js";

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
  const {coverage} = report;
  const alone =
      [
        [coverage.only_reference, "only in the reference"],
        [coverage.only_candidate, "only in the candidate"]
      ].filter(([count]) => Number(count) !== 0)
          .map(([count, words]) => `, ${grouped(count)} ${words}`)
          .join("");
  return section(
      "coverage", "What was compared", facts([
        ["aligned", `${counted(coverage.aligned, "event")}${alone}`],
        [
          "outcomes",
          coverage.outcomes_recorded ? counted(coverage.outcomes, "value") :
                                       "not recorded in both runs"
        ],
        ["not compared", leftOut(coverage.not_compared)], ["ranks matched", ranks(report)],
        ...coverage.unseen.slice(0, 40).map((text) => ["unseen", shown(text)])
      ]));
}

function limits(rule) {
  return [["max_ulp", rule.max_ulp], ["rtol", rule.rtol], ["atol", rule.atol]]
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `${name} ${short(value)}`)
      .join(", ");
}

export function tolerancesOf(report) {
  const {rules, budget} = report;
  const ruleTable = rules.length === 0 ?
      null :
      table(
          {}, ["rule", "op", "module", "limits", "reason", "expires", "passed", "failed"],
          rules.slice(0, 200).map(
              (rule, index) =>
                  [String(index + 1), code(rule.op, 120), code(rule.module ?? "", 120),
                   limits(rule), shown(rule.reason ?? "", 200),
                   `${shown(rule.expires ?? "", 40)}${rule.expired ? " (expired)" : ""}`,
                   grouped(rule.passed), grouped(rule.failed)]),
          [0, 6, 7]);
  const budgets = budget === null ? null : [
    facts([
      [
        "results",
        `${grouped(budget.inside)} inside, ${grouped(budget.allowed)} outside but allowed, ${
            grouped(budget.outside)} outside`
      ],
      [
        "not judged",
        `${grouped(budget.without_bytes)} without bytes, ${
            grouped(budget.without_model)} of ops whose rounding is not known`
      ]
    ]),
    table(
        {}, ["op", "results", "outside", "largest share", "why"],
        budget.ops.slice(0, 200).map(
            (op) =>
                [code(op.op, 120), grouped(op.results), grouped(op.outside),
                 op.largest_used === null ? "" : percentage(op.largest_used, 1),
                 shown(op.why, 200)]),
        [1, 2, 3])
  ];
  return [
    section("rules", "Tolerance", ruleTable), section("budget", "Error budget", ...(budgets ?? []))
  ];
}
