import { closeSync, openSync, readSync } from "node:fs";

/**
 * The platforms of the package `@basalt/cli-<name>`, one each: `os`, `cpu` and `libc` are those of its package.json, from
 * which npm, pnpm and Yarn decide which of the optional dependencies to install.
 */
export const PLATFORMS = [
  { name: "darwin-arm64", os: "darwin", cpu: "arm64" },
  { name: "darwin-x64", os: "darwin", cpu: "x64" },
  { name: "linux-arm64", os: "linux", cpu: "arm64", libc: "glibc" },
  { name: "linux-x64", os: "linux", cpu: "x64", libc: "glibc" },
];

/** The processors of ELF (`e_machine`) and of Mach-O (`cputype`). */
const ELF_PROCESSORS = new Map([
  [0x3e, "x64"],
  [0xb7, "arm64"],
]);
const MACH_PROCESSORS = new Map([
  [0x01000007, "x64"],
  [0x0100000c, "arm64"],
]);
const ELF_64_LITTLE_ENDIAN = 0x7f454c46_0201;
const MACH_64 = 0xfeedfacf;

/** Returns the platform of a name; throws if there is none. */
export function findPlatform(name) {
  const found = PLATFORMS.find((platform) => platform.name === name);
  if (found) return found;
  const names = PLATFORMS.map((platform) => platform.name).join(", ");
  throw new Error(`${name} is no platform: one of ${names}`);
}

/** Returns the name of the platform for which an executable file is built; `undefined` for other files. */
export function platformOfFile(path) {
  const head = Buffer.alloc(20);
  const file = openSync(path, "r");
  try {
    if (readSync(file, head) < head.length) return undefined;
  } finally {
    closeSync(file);
  }
  if (head.readUIntBE(0, 6) === ELF_64_LITTLE_ENDIAN)
    return join("linux", ELF_PROCESSORS.get(head.readUInt16LE(18)));
  if (head.readUInt32LE(0) === MACH_64)
    return join("darwin", MACH_PROCESSORS.get(head.readUInt32LE(4)));
  return undefined;
}

function join(os, cpu) {
  return cpu && `${os}-${cpu}`;
}
