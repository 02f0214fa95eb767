// Draws the pictures of shared links, the top of each e-mail, to public/shared/: node scripts/draw-shared-pictures.mjs
// Small files, because the binary contains them; previews of links are shown at most 600 px wide.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { EMAILS } from "../emails/list.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const [WIDTH, HEIGHT] = [800, 420];

await mkdir(join(ROOT, "public/shared"), { recursive: true });
for (const { id } of EMAILS) {
  const number = String(id).padStart(2, "0");
  await sharp(join(ROOT, `src/previews/${number}-detail-1200.avif`))
    .resize({ width: WIDTH })
    .extract({ left: 0, top: 0, width: WIDTH, height: HEIGHT })
    .jpeg({ quality: 62, mozjpeg: true })
    .toFile(join(ROOT, `public/shared/${number}.jpg`));
}
