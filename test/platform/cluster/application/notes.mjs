// Keeps what the applications of many pods noted (orders.mjs): a POST adds a note, and a GET returns all of them.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

const notes = [];

// No idle connection is closed: that could meet a note on its way.
createServer({ keepAliveTimeout: 0 }, async (request, response) => {
  if (request.method === "POST") notes.push(await text(request));
  response.end(request.method === "GET" ? `[${notes}]` : "");
}).listen(8080);
