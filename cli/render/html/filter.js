// Which findings a filter lets through.
import {moduleOf, opOf, timeOf} from "./words.js";

const kMostSearched = 4000;

/** What a search finds a finding by, in lower case. */
function searched(finding) {
  const parts = [
    finding.kind, timeOf(finding), `rank ${finding.rank}`, finding.root,
    moduleOf(finding, kMostSearched), opOf(finding, kMostSearched), finding.where ?? "",
    ...finding.causes.map((cause) => cause.id),
    ...finding.tensors.slice(0, 32).map((tensor) => tensor.name)
  ];
  return parts.map((part) => part.slice(0, kMostSearched)).join(" ").toLowerCase();
}

/**
 * The key of the module that a finding belongs to; findings without one share a key of their root.
 */
export function moduleKey(finding) {
  return finding.module === null ? `${finding.root}\n-` : `${finding.root}\n${finding.module}`;
}

/** True for the module itself and those inside it. */
function inModule(finding, module) {
  const key = moduleKey(finding);
  return key === module ||
      (module.endsWith("\n") ? key.startsWith(module) : key.startsWith(`${module}.`));
}

export class Filter {
  constructor(findings) {
    this.findings = findings;
    this.texts = null;
  }

  /** The numbers of those that pass, in the report's order. */
  passing(filter) {
    const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length > 0) this.texts ??= this.findings.map(searched);
    const passes = (finding) => (filter.kind === "" || finding.kind === filter.kind) &&
        (filter.phase === "" || finding.phase === filter.phase) &&
        (!filter.diverging || finding.diverges) &&
        (filter.module === null || inModule(finding, filter.module)) &&
        (filter.steps === null || inSteps(finding, filter.steps)) &&
        words.every((word) => this.texts[finding.number].includes(word));
    return this.findings.filter(passes).map((finding) => finding.number);
  }
}

/** `steps` is a closed range, or "setup". */
function inSteps(finding, steps) {
  if (steps === "setup") return finding.step === null;
  return finding.step !== null && finding.step >= steps[0] && finding.step <= steps[1];
}
