/** Returns the median of numbers. */
export function median(numbers) {
  return quantile(numbers, 0.5);
}

/** Returns the number below which this share of the numbers is. */
export function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Returns how many milliseconds an action takes. */
export async function duration(action) {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

/** Waits in real time. */
export async function sleep(milliseconds) {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}
