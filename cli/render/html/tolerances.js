// What a tolerance or an error budget has decided.
import {code, facts, section, shown} from "./dom.js";
import {grouped, percentage, short} from "./numbers.js";
import {table} from "./table.js";

function limits(rule) {
  return [["max_ulp", rule.max_ulp], ["rtol", rule.rtol], ["atol", rule.atol]]
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `${name} ${short(value)}`)
      .join(", ");
}

function ruleCells(rule, index) {
  return [
    String(index + 1), code(rule.op, 120), code(rule.module ?? "", 120), limits(rule),
    shown(rule.reason ?? "", 200),
    `${shown(rule.expires ?? "", 40)}${rule.expired ? " (expired)" : ""}`, grouped(rule.passed),
    grouped(rule.failed)
  ];
}

function rulesOf({rules}) {
  if (rules.length === 0) return null;
  const headings = ["rule", "op", "module", "limits", "reason", "expires", "passed", "failed"];
  return section("rules", "Tolerance", table({}, headings, rules, ruleCells, [0, 6, 7]));
}

function opCells(op) {
  return [
    code(op.op, 120), grouped(op.results), grouped(op.outside),
    op.largest_used === null ? "" : percentage(op.largest_used, 1), shown(op.why, 200)
  ];
}

function budgetOf({budget}) {
  if (budget === null) return null;
  const counts = facts([
    ["inside", grouped(budget.inside)], ["outside", grouped(budget.outside)],
    ["allowed", `${grouped(budget.allowed)} outside, but the tolerance allows it`],
    [
      "not judged",
      `${grouped(budget.without_bytes)} without bytes, ${
          grouped(budget.without_model)} of ops whose rounding is not known`
    ]
  ]);
  const headings = ["op", "results", "outside", "largest share", "why"];
  return section(
      "budget", "Error budget", counts, table({}, headings, budget.ops, opCells, [1, 2, 3]));
}

export function tolerancesOf(report) {
  return [rulesOf(report), budgetOf(report)];
}
