interface Source {
  folder: string;
  letters?: { source: string }[];
  layouts?: { source: string }[];
}
export const HTML: string;
export function buildProduct(email: Source): Promise<Map<string, string | Buffer>>;
export function appearanceDigest(email: Source): string;
export function zipName(email: Source): string;
