// What the strip of steps shows: steps in columns, phases in rows, and what each cell holds.
import {max, min} from "d3-array";

import {largestScaled} from "./report.js";

export const kAllOps = "all ops";

const kLeastColumn = 5;

/** The first and the last step that the report names, from step 0 where the runs begin there. */
function stepRange(report) {
  const named =
      [
        ...report.findings.map((finding) => finding.step),
        ...report.growth.map((point) => point.step), ...report.propagated.steps.flat()
      ].filter((step) => step !== null)
          .map(Number);
  const count = Number(report.reference.steps);
  const last = max(named) ?? -1;
  if (last < count) return count === 0 ? null : [0, count - 1];
  return [min(named), last];
}

/**
 * Columns of equally many steps for `room` pixels, the setup before them where it has findings.
 */
export function columnsOf(report, room) {
  const range = stepRange(report);
  const columns = report.findings.some((finding) => finding.step === null) ? [{setup: true}] : [];
  if (range === null) return columns;
  const steps = range[1] - range[0] + 1;
  const most = Math.max(Math.floor(room / kLeastColumn) - 2, 8);
  const each = Math.ceil(steps / most);
  for (let first = range[0]; first <= range[1]; first += each) {
    columns.push({first, last: Math.min(first + each - 1, range[1])});
  }
  return columns;
}

/** The column of a step; of setup the first one. */
function columnAt(columns, step) {
  if (step === null) return columns[0];
  const offset = columns[0].setup ? 1 : 0;
  const each = columns[offset].last - columns[offset].first + 1;
  return columns[offset + Math.floor((Number(step) - columns[offset].first) / each)];
}

/** "setup", "step 3", "steps 4 - 5" */
export function nameOf(column) {
  if (column.setup) return "setup";
  return column.first === column.last ? `step ${column.first}` :
                                        `steps ${column.first} - ${column.last}`;
}

/**
 * What each cell holds: its findings and the largest scaled difference of these, or of all ops of
 * the steps.
 */
export function cellsOf(report, columns) {
  const cells = new Map();
  const cell = (column, row) => {
    const key = `${columns.indexOf(column)} ${row}`;
    if (!cells.has(key))
      cells.set(key, {column, row, findings: 0, first: false, scaled: null, propagated: false});
    return cells.get(key);
  };
  const raise = (to, scaled) => {
    if (scaled !== null && (to.scaled === null || Number(scaled) > Number(to.scaled)))
      to.scaled = scaled;
  };
  for (const finding of report.findings) {
    const to = cell(columnAt(columns, finding.step), finding.phase);
    to.findings += 1;
    to.first ||= report.first !== null && finding.number === 0;
    raise(to, largestScaled(finding));
  }
  for (const column of columns.filter((each) => !each.setup)) {
    const spreads = report.propagated.steps.some(
        ([first, last]) => Number(first) <= column.last && Number(last) >= column.first);
    if (spreads) cell(column, kAllOps).propagated = true;
  }
  for (const point of report.growth)
    raise(cell(columnAt(columns, point.step), kAllOps), point.scaled_max);
  return [...cells.values()];
}
