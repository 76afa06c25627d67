// What a process of Node.js takes by itself. Usage: bare.mjs PORT
import { createServer } from "node:net";

createServer().listen(Number(process.argv[2]), "127.0.0.1");
