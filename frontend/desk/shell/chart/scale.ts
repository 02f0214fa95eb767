/** Returns the values of the axis: from 0 to at least the maximum, in steps of 1, 2 or 5 times a power of ten. */
export function ticksOf(maximum: number, wanted = 4): number[] {
  const rough = Math.max(maximum, 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough) ?? 10;
  // The values are counts, so no step is a fraction.
  const step = Math.max(1, factor * power);
  const steps = Math.ceil(Math.max(maximum, 1) / step);
  return Array.from({ length: steps + 1 }, (_, index) => index * step);
}

/** Returns every n-th position, so that at most `wanted` labels are shown; the first one always. */
export function labelledPositions(count: number, wanted: number): number[] {
  const distance = Math.max(1, Math.ceil(count / Math.max(1, wanted)));
  const positions = Array.from(
    { length: Math.ceil(count / distance) },
    (_, index) => index * distance,
  );
  return positions;
}
