// Numbers as the text report prints them. Integers beyond 2^53 and non-finite numbers are strings
// in the document.

/** "1,944,019,888" */
export function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "2.3e-07", "0.0186" */
export function short(value) {
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-4 && size < 1e6 ? String(Number(value.toPrecision(3))) : scientific(value);
}

/** "2.3e-07", "1e+05" */
export function scientific(value) {
  return exponent(value.toExponential(2).replace(/\.?0+e/, "e"));
}

/** All digits that the document has. */
export function exact(value) {
  if (typeof value !== "number") return String(value);
  return Object.is(value, -0) ? "-0" : exponent(String(value));
}

/** As many digits as tell float32 numbers apart. */
export function nineDigits(value) {
  return typeof value === "number" ? exact(Number(value.toPrecision(9))) : String(value);
}

function exponent(text) {
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

/** "1 finding", "7 findings" */
export function counted(count, noun) {
  return `${grouped(count)} ${noun}${Number(count) === 1 ? "" : "s"}`;
}

/** "73.5%" */
export function percentage(part, whole) {
  const share = (100 * Number(part)) / Number(whole);
  if (share > 0 && share < 0.1) return "< 0.1%";
  if (share < 100 && share > 99.9) return "> 99.9%";
  return `${Number(share.toFixed(1))}%`;
}
