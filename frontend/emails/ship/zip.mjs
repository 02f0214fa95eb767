// Writes ZIP files (APPNOTE 6.3) whose bytes depend on their content only: fixed times, order as given, no extra fields.
import { crc32 as checksum, deflateRawSync } from "node:zlib";

/** 1 January 1980, 00:00: the earliest time of the format. */
const DOS_TIME = 0;
const DOS_DATE = 0x21;
const VERSION = 20;
/** Names are UTF-8. */
const FLAGS = 0x0800;
/** A regular file that its owner may write. */
const ATTRIBUTES = (0o100644 << 16) >>> 0;
const STORED = 0;
const DEFLATED = 8;

/** Returns a ZIP file with these files, `[name, bytes]` each. */
export function zip(files) {
  const locals = [];
  const entries = [];
  let offset = 0;
  for (const [name, content] of files) {
    const bytes = Buffer.from(content);
    const deflated = deflateRawSync(bytes, { level: 9 });
    const [method, data] = deflated.length < bytes.length ? [DEFLATED, deflated] : [STORED, bytes];
    const shared = { name: Buffer.from(name), method, data, size: bytes.length, crc: crc32(bytes) };
    const local = localHeader(shared);
    locals.push(local, data);
    entries.push(centralHeader(shared, offset));
    offset += local.length + data.length;
  }
  const directory = Buffer.concat(entries);
  return Buffer.concat([...locals, directory, endRecord(entries.length, directory.length, offset)]);
}

/** The fields that both headers of a file have, from the version to the length of extra fields. */
function sharedFields({ name, method, data, size, crc }) {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(VERSION, 0);
  fields.writeUInt16LE(FLAGS, 2);
  fields.writeUInt16LE(method, 4);
  fields.writeUInt16LE(DOS_TIME, 6);
  fields.writeUInt16LE(DOS_DATE, 8);
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(data.length, 14);
  fields.writeUInt32LE(size, 18);
  fields.writeUInt16LE(name.length, 22);
  return fields;
}

function localHeader(file) {
  return Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), sharedFields(file), file.name]);
}

function centralHeader(file, offset) {
  const head = Buffer.alloc(6);
  head.write("PK\x01\x02", "latin1");
  head.writeUInt16LE((3 << 8) | VERSION, 4);
  const tail = Buffer.alloc(14);
  tail.writeUInt32LE(ATTRIBUTES, 6);
  tail.writeUInt32LE(offset, 10);
  return Buffer.concat([head, sharedFields(file), tail, file.name]);
}

function endRecord(count, size, offset) {
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}

/** CRC-32 of bytes; Node.js has it since 20.15. */
function crc32(bytes) {
  return checksum(bytes) >>> 0;
}
