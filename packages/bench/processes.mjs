import { readdirSync, readFileSync } from "node:fs";

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Returns the ids of a process and of all its descendants. */
export function processTree(root) {
  const parents = new Map();
  for (const entry of readdirSync("/proc")) {
    const stat = /^\d+$/.test(entry) ? read(`/proc/${entry}/stat`) : "";
    // The name, in parentheses, may contain anything.
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    if (stat !== "") parents.set(Number(entry), parent);
  }
  const tree = new Set([root]);
  for (let size = 0; size !== tree.size; ) {
    size = tree.size;
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid);
  }
  return [...tree];
}

/** Returns the proportional set size of processes in MB: shared pages count once (proc(5), smaps_rollup). */
export function proportionalMemory(pids) {
  const kilobytes = pids.map((pid) => {
    const [, size = "0"] = /^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`)) ?? [];
    return Number(size);
  });
  return kilobytes.reduce((sum, size) => sum + size, 0) / 1024;
}
