import { type KeyObject, randomBytes, sign } from "node:crypto";

/** An element of DER (X.690): tag, length, content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const bytes = body.length.toString(16);
  const length = Buffer.from(bytes.padStart(bytes.length + (bytes.length % 2), "0"), "hex");
  const head =
    body.length < 128 ? length : Buffer.concat([Buffer.from([0x80 + length.length]), length]);
  return Buffer.concat([Buffer.from([tag]), head, body]);
}

const sequence = (...content: Buffer[]) => der(0x30, ...content);
const object = (hex: string) => der(0x06, Buffer.from(hex, "hex"));

/** Creates a self-signed certificate (RFC 5280) of an RSA key, valid from yesterday until tomorrow, as base64 of DER. */
export function selfSigned(publicKey: KeyObject, privateKey: KeyObject): string {
  const algorithm = sequence(object("2a864886f70d01010b"), der(0x05)); // sha256WithRSAEncryption
  const name = sequence(
    der(0x31, sequence(object("550403"), der(0x0c, Buffer.from("identity provider")))), // commonName
  );
  const day = 24 * 3600 * 1000;
  const at = (time: number) => {
    const digits = new Date(time).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
    return der(0x18, Buffer.from(digits)); // GeneralizedTime
  };
  const now = Date.now();
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.from([1]), randomBytes(8)),
    algorithm,
    name,
    sequence(at(now - day), at(now + day)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = sign("sha256", content, privateKey);
  const certificate = sequence(content, algorithm, der(0x03, Buffer.from([0]), signature));
  return certificate.toString("base64");
}
