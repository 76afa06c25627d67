// Node.js alone, to measure its own memory and CPU. Usage: bare.mjs PORT
import { createServer } from "node:net";

createServer().listen(Number(process.argv[2]), "127.0.0.1");
