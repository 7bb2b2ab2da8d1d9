// How the difference spreads in its step from where the runs diverge.
import {caption, element, nameCode, section, shown} from "./dom.js";
import {levelClass} from "./levels.js";
import {counted, grouped, short} from "./numbers.js";
import {table} from "./table.js";

const kMostRanges = 8;

/** ", in step 0", ", in steps 0 - 3, 7" */
function stepsOf(ranges) {
  if (ranges.length === 0) return "";
  const words =
      ranges.slice(0, kMostRanges)
          .map(([first, last]) => (first === last ? String(first) : `${first} - ${last}`));
  const one = ranges.length === 1 && ranges[0][0] === ranges[0][1];
  return `, in step${one ? "" : "s"} ${words.join(", ")}${
      ranges.length > kMostRanges ? ", …" : ""}`;
}

export function spreadOf(report) {
  const {path, propagated} = report;
  const note = Number(propagated.events) === 0 ?
      null :
      caption(
          `${counted(propagated.events, "event")} inherited it${stepsOf(propagated.steps)}`,
          propagated.note === null ? "." : `: ${shown(propagated.note)}.`);
  if (path === null) return section("spread", "How it spreads", note);
  const cells = (point, index) =>
      [String(index + 1), nameCode(point.op, 120), nameCode(point.module, 160),
       grouped(point.ulp_max), point.scaled_max === null ? "" : short(point.scaled_max),
       element("i", {class: levelClass(point.scaled_max)})];
  return section(
      "spread", `How it spreads in step ${path.step}`, note,
      table({}, ["", "op", "module", "largest ULP", "scaled", ""], path.points, cells, [0, 3, 4]));
}
