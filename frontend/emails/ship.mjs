// Writes the ZIP files of the twelve templates and their index into frontend/products. The same sources give the same
// bytes. The folder is no part of the site: no route serves it.
//   npm run emails:ship
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EMAILS } from "./list.mjs";
import { digest } from "./ship/html.mjs";
import { buildProduct, zipName } from "./ship/product.mjs";
import { zip } from "./ship/zip.mjs";

const PRODUCTS = join(dirname(fileURLToPath(import.meta.url)), "..", "products");

rmSync(PRODUCTS, { recursive: true, force: true });
mkdirSync(PRODUCTS, { recursive: true });
const index = [];
for (const email of EMAILS) {
  const bytes = zip(await buildProduct(email));
  const file = zipName(email);
  writeFileSync(join(PRODUCTS, file), bytes);
  index.push({ id: email.id, file, size: bytes.length, sha256: digest(bytes) });
}
writeFileSync(join(PRODUCTS, "products.json"), `${JSON.stringify({ products: index }, null, 2)}\n`);
console.info(`${index.length} products, ${index.reduce((sum, { size }) => sum + size, 0)} bytes`);
