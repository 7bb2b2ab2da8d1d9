// What the report's fields are called in the page.
import {shown} from "./dom.js";
import {grouped, percentage} from "./numbers.js";

export const kPhases = ["setup", "data", "forward", "backward", "optimizer", "eval"];
export const kKinds =
    ["origin", "arguments", "sequence", "rng", "data", "parameter", "write", "metadata"];

const kHeadlines = {
  origin: "Identical inputs and arguments, different result",
  arguments: "The same op with other arguments",
  rng: "The generator's state before this op differs",
  data: "This op reads a tensor that differs, which no recorded op explains",
  parameter: "A parameter or buffer differs at its first use",
  write: "A tensor changed between its last recorded write and this read, in one run only",
};

function onlyIn(finding) {
  return finding.event.reference === null && finding.event.candidate !== null ? "candidate" :
                                                                                "reference";
}

function consequence(finding) {
  if (finding.absorbed !== null) {
    return `, and what differs because of it ends at ${shown(finding.absorbed.op)}`;
  }
  return finding.diverges ? "" : ", and no difference follows from it";
}

export function headline(finding) {
  if (finding.meaning !== null) return shown(finding.meaning);
  if (finding.of_file && finding.kind === "parameter") return "The values of this tensor differ";
  if (finding.of_file && finding.kind === "sequence") return `Only in the ${onlyIn(finding)}`;
  if (finding.kind === "arguments" && finding.absorbed !== null) {
    return `Different arguments${consequence(finding)}`;
  }
  if (finding.kind === "sequence") {
    return `Runs in the ${onlyIn(finding)} only${consequence(finding)}`;
  }
  if (finding.kind === "metadata") {
    return finding.diverges ? "dtype or shape differs" : "Layout or device differs";
  }
  return kHeadlines[finding.kind] ?? "The runs differ here";
}

/** "step 17", "setup" */
export function stepOf(finding) {
  return finding.step === null ? "setup" : `step ${finding.step}`;
}

/** "step 17 / backward", "setup" */
export function timeOf(finding) {
  return finding.step === null && finding.phase === "setup" ?
      "setup" :
      `${stepOf(finding)} / ${finding.phase}`;
}

/** "layer2.0.conv1 (Conv2d)", "Net (root module)", "after fc" */
export function moduleOf(finding, most) {
  if (finding.module === null) {
    const [before, after] = (finding.between ?? ["", ""]).map((name) => shown(name, most));
    if (before === "" && after === "") return "no module";
    if (after === "") return `after ${before}`;
    if (before === "") return `before ${after}`;
    return before === after ? `between ops of ${before}` : `between ${before} and ${after}`;
  }
  if (finding.module === "") return `${shown(finding.root, most)} (root module)`;
  const type = finding.module_type === null ? "" : ` (${shown(finding.module_type, most)})`;
  return shown(finding.module, most) + type;
}

/** "step 17 / backward / layer2.0.conv1 (Conv2d)" */
export function placeOf(finding, most) {
  return finding.of_file ? "" : `${timeOf(finding)} / ${moduleOf(finding, most)}`;
}

/** "aten::add_.Scalar", of files the tensor */
export function opOf(finding, most) {
  if (finding.of_file) return shown(finding.tensors[0]?.name ?? "", most);
  if (finding.op === null) return "ops outside of modules";
  return shown(finding.op, most) +
      (finding.overload === "" ? "" : `.${shown(finding.overload, most)}`);
}

/** "17/140913", as `ulpscope inspect` takes it. */
export function eventPath(finding, event) {
  return `${finding.step === null ? "setup" : finding.step}/${event}`;
}

/** "in", "out 1", "mut 0", with the place in a list: "in 0 [2]" */
export function slotOf(tensor) {
  const label = {input: "in", output: "out", mutated: "mut"}[tensor.role];
  const index = tensor.role === "output" || tensor.name === "" ? ` ${tensor.index}` : "";
  return `${label}${index}${tensor.element === 0 ? "" : ` [${tensor.element}]`}`;
}

function sizes(shape) {
  return `[${shape.join(", ")}]`;
}

/** Both runs have the tensor in the same shape. */
export function hasOneShape({shape}) {
  return sizes(shape.reference) === sizes(shape.candidate);
}

/** "float32 [128, 64, 3, 3]", both shapes where they differ */
export function typeAndShape(tensor) {
  const {reference, candidate} = tensor.shape;
  const [first, second] = [shown(sizes(reference), 120), shown(sizes(candidate), 120)];
  return `${shown(tensor.dtype, 40)} ${first}${first === second ? "" : ` → ${second}`}`;
}

/** "identical", "2,326 of 73,728 differ (3.2%)" */
export function outcomeOf(tensor) {
  if (tensor.equal) return "identical";
  if (sizes(tensor.shape.reference) !== sizes(tensor.shape.candidate)) return "shape differs";
  if (tensor.difference === null) return "differs";
  const {differing, elements} = tensor.difference;
  return `${grouped(differing)} of ${grouped(elements)} differ (${
      percentage(differing, elements)})`;
}

/** "from step 5", "in steps 5 - 6"; empty if a setting differs throughout */
export function whenOf(setting) {
  const step = (number) => (number === null ? "setup" : `step ${number}`);
  return (setting.steps ?? [])
      .slice(0, 3)
      .map(([first, last]) => {
        if (last === null) return `from ${step(first)}`;
        if (first === last) return `in ${step(first)}`;
        return first === null ? `until ${step(last)}` : `in steps ${first} - ${last}`;
      })
      .join(", ");
}
