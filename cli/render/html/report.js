// The report's document, and what sections look up in it.

/** The text of the document as it stands in the page. */
export function documentText() {
  return document.getElementById("report").textContent;
}

/** A number that may stand as a string, for a position in a picture. */
export function numeric(value) {
  return value === null || value === undefined ? NaN : Number(value);
}

/** The tensors of a finding whose bytes were compared. */
export function measured(finding) {
  return finding.tensors.filter((tensor) => tensor.difference !== null);
}

/** The largest of what a finding's tensors say, null where none says it. */
function largest(finding, read) {
  let most = null;
  for (const tensor of measured(finding)) {
    const value = read(tensor.difference);
    if (value !== null && (most === null || Number(value) > Number(most))) most = value;
  }
  return most;
}

export function largestUlp(finding) {
  return largest(
      finding, (difference) => (Number(difference.differing) === 0 ? null : difference.ulp.max));
}

export function largestScaled(finding) {
  return largest(finding, (difference) => difference.scaled_max);
}

/** The document with each finding's causes and number. */
export function readReport() {
  const report = JSON.parse(documentText());
  report.findings.forEach((finding, index) => {
    finding.number = index;
    finding.causes = [];
  });
  for (const cause of report.causes) report.findings[cause.finding]?.causes.push(cause);
  return report;
}

/** Files of tensors were compared, which have no steps, ops and modules. */
export function isOfFiles(report) {
  return report.tensors !== null;
}

/** Several ranks were compared, so that a place names its rank. */
export function hasRanks(report) {
  return Math.max(report.reference.ranks, report.candidate.ranks) > 1;
}
