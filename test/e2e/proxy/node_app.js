// SPDX-License-Identifier: Apache-2.0
// An application behind the proxy: an echo of WebSocket (RFC 6455) and server-sent events, by Node.js alone. Prints its port.
"use strict";
const http = require("http"), crypto = require("crypto");
const streams = new Set();

const server = http.createServer((request, response) => {
  if (request.url === "/events") {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
    response.write(": welcome\n\n");
    streams.add(response);
    request.on("close", () => streams.delete(response));
    return;
  }
  if (request.url.startsWith("/tick/"))
    for (const stream of streams) stream.write("data: " + request.url.slice(6) + "\n\n");
  response.end(String(streams.size));
});

// Whole frames of clients, masked, come back as they were, unmasked.
function frames(socket, data) {
  while (data.length >= 6) {
    let length = data[1] & 127, at = 2;
    if (length === 126) { length = data.readUInt16BE(2); at = 4; }
    if (length === 127) { length = Number(data.readBigUInt64BE(2)); at = 10; }
    if (data.length < at + 4 + length) return data;
    const mask = data.subarray(at, at + 4), text = Buffer.from(data.subarray(at + 4, at + 4 + length)).map((b, i) => b ^ mask[i & 3]);
    const head = Buffer.from(data.subarray(0, at));
    head[1] &= 127;
    socket.write(Buffer.concat([head, text]));
    if ((data[0] & 15) === 8) socket.end();
    data = data.subarray(at + 4 + length);
  }
  return data;
}

server.on("upgrade", (request, socket, head) => {
  const key = request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  let rest = head;
  socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
    crypto.createHash("sha1").update(key).digest("base64") + "\r\n\r\n");
  socket.on("data", data => { rest = frames(socket, Buffer.concat([rest, data])); });
  socket.on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
