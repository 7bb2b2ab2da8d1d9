// Causes, with what speaks for and against them.
import {bounded, caption, commandCode, element, section, shown} from "./dom.js";
import {counted} from "./numbers.js";

const kMostCauses = 40;
const kMostLines = 12;

function lines(label, texts, asCode) {
  if (texts.length === 0) return null;
  const said = bounded(
      texts, kMostLines,
      (text) => element("div", {}, asCode ? commandCode(text, 1000) : shown(text)),
      (more) => element("div", {}, counted(more, "more line")));
  return element("div", {class: label}, element("dt", {}, label), element("dd", {}, said));
}

/** One cause; `more` stands beside its name. */
export function causeOf(cause, open, ...more) {
  return element(
      "details", {class: "cause", open},
      element(
          "summary", {}, element("strong", {}, shown(cause.id)), " ",
          element(
              "span", {class: `confidence ${shown(cause.confidence, 20)}`},
              shown(cause.confidence, 20)),
          ...more),
      element(
          "dl", {class: "facts evidence"}, lines("for", cause.evidence),
          lines("against", cause.against), lines("try", cause.try, true),
          element(
              "div", {}, element("dt", {}, "more"),
              element("dd", {}, element("code", {}, `ulpscope explain ${shown(cause.id, 80)}`)))));
}

/** Causes that say the same of several findings, once. */
function alike(causes) {
  const groups = new Map();
  for (const cause of causes) {
    const key =
        JSON.stringify([cause.id, cause.confidence, cause.evidence, cause.against, cause.try]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(cause);
  }
  return [...groups.values()];
}

export function causesOf(report, state) {
  const groups = alike(report.causes);
  const link = (cause) => {
    const made = element("a", {href: "#finding"}, `finding ${cause.finding + 1}`);
    made.addEventListener("click", () => state.select(cause.finding));
    return [" ", made];
  };
  return section(
      "causes", "Causes",
      bounded(
          groups, kMostCauses,
          (group) => causeOf(
              group[0], true,
              element(
                  "span", {class: "of"}, " of", group.slice(0, 8).map(link),
                  group.length > 8 ? ` and ${counted(group.length - 8, "more finding")}` : null)),
          (more) => caption(`${counted(more, "more cause")}: each finding shows its own.`)));
}
