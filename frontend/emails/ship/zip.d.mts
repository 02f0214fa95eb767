export function zip(files: Iterable<[string, string | Buffer]>): Buffer;
