// Stand-ins for PostgREST, Storage and Realtime, which record the requests that reach them.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const TEXT = 0x81;
const CLOSE = 0x88;

/**
 * @typedef {object} Services
 * @property {string} url
 * @property {{ method: string, url: string, headers: import("node:http").IncomingHttpHeaders, size: number }[]} requests
 * @property {() => void} stop
 */

/**
 * Starts a server that stands in for all three services.
 *
 * @returns {Promise<Services>}
 */
export async function startServices() {
  /** @type {Services["requests"]} */
  const requests = [];
  const server = createServer(async (request, response) => {
    let size = 0;
    for await (const part of request) size += part.length;
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, headers, size });
    const isUpload = url.startsWith("/object/");
    response.setHeader("content-type", "application/json");
    response.setHeader("content-range", "0-0/1");
    response.end(
      JSON.stringify(isUpload ? { Id: "1", Key: "photos/a.png" } : [{ id: 1, title: "first" }]),
    );
  });
  server.on("upgrade", (request, socket) => {
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, headers, size: 0 });
    const accept = createHash("sha1")
      .update(`${headers["sec-websocket-key"]}${WEBSOCKET_GUID}`)
      .digest("base64");
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    answerFrames(socket);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  function stop() {
    server.close();
    server.closeAllConnections();
  }
  return { url: `http://127.0.0.1:${address.port}`, requests, stop };
}

/** @param {import("node:stream").Duplex} socket */
function answerFrames(socket) {
  let unread = Buffer.alloc(0);
  socket.on("error", () => socket.destroy());
  socket.on("data", (/** @type {Buffer} */ part) => {
    unread = Buffer.concat([unread, part]);
    for (let frame = readFrame(unread); frame; frame = readFrame(unread)) {
      unread = unread.subarray(frame.length);
      if (frame.kind === CLOSE) {
        socket.end(writeFrame(CLOSE, frame.payload));
        return;
      }
      const reply = frame.kind === TEXT ? replyTo(frame.payload.toString()) : repeat(frame.payload);
      socket.write(writeFrame(TEXT, Buffer.from(reply)));
    }
  });
}

/**
 * Reads a masked frame (RFC 6455 §5.2); undefined until all of it has arrived.
 *
 * @param {Buffer} bytes
 */
function readFrame(bytes) {
  if (bytes.length < 6) return undefined;
  const short = bytes.readUInt8(1) & 0x7f;
  const head = short === 126 ? 4 : 2;
  if (bytes.length < head + 4) return undefined;
  const size = short === 126 ? bytes.readUInt16BE(2) : short;
  const length = head + 4 + size;
  if (bytes.length < length) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const payload = Buffer.from(
    bytes.subarray(head + 4, length).map((byte, at) => byte ^ mask.readUInt8(at % 4)),
  );
  return { kind: bytes.readUInt8(0), payload, length };
}

/**
 * @param {number} kind
 * @param {Buffer} payload
 */
function writeFrame(kind, payload) {
  const long = payload.length > 125;
  const head = long
    ? [kind, 126, payload.length >> 8, payload.length & 0xff]
    : [kind, payload.length];
  return Buffer.concat([Buffer.from(head), payload]);
}

/**
 * Repeats a broadcast in Realtime's binary format: seven bytes with the lengths of the texts, the texts, the payload.
 *
 * @param {Buffer} bytes
 */
function repeat(bytes) {
  let offset = 7;
  const texts = [1, 2, 3, 4, 5].map((at) => {
    const text = bytes.toString("utf8", offset, offset + bytes.readUInt8(at));
    offset += bytes.readUInt8(at);
    return text;
  });
  const [, , topic, event] = texts;
  const payload = JSON.parse(bytes.toString("utf8", offset));
  return JSON.stringify([null, null, topic, "broadcast", { type: "broadcast", event, payload }]);
}

/**
 * Accepts a message of Phoenix, in either of its formats, and repeats broadcasts.
 *
 * @param {string} text
 */
function replyTo(text) {
  const message = JSON.parse(text);
  const isList = Array.isArray(message);
  const [joinRef, ref, topic, event, payload] = isList
    ? message
    : [message.join_ref, message.ref, message.topic, message.event, message.payload];
  const [type, content] =
    event === "broadcast"
      ? ["broadcast", payload]
      : ["phx_reply", { status: "ok", response: { postgres_changes: [] } }];
  return JSON.stringify(
    isList
      ? [joinRef, ref, topic, type, content]
      : { topic, event: type, payload: content, ref, join_ref: joinRef },
  );
}
