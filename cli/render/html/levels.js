// Scaled differences in classes of two powers of ten, each with a color of its own.
import {scaleThreshold} from "d3-scale";

const kBounds = [1e-7, 1e-6, 1e-5, 1e-4, 1e-2];

export const kLevels = ["≤ 1e-07", "≤ 1e-06", "≤ 1e-05", "≤ 1e-04", "≤ 1e-02", "> 1e-02"];

// Bounds belong to the lower class.
const level = scaleThreshold().domain(kBounds).range(kLevels.map((_, index) => index));

/** The class of style of a scaled difference, of one that is not known, too. */
export function levelClass(scaled) {
  if (scaled === null || Number.isNaN(scaled)) return "level-unknown";
  const value = Number(scaled);
  if (Number.isNaN(value)) return "level-unknown";
  return `level-${kBounds.includes(value) ? kBounds.indexOf(value) : level(value)}`;
}
