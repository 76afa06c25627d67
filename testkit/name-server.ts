import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { ConfigWriter } from "./config-writer.ts";

const port = 53;
const addressType = 1;

/** Whether such a server can run here: it needs port 53, and a mount that gives programs their own resolv.conf. */
export const canServeNames =
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["--mount", "mount", "--bind", "/dev/null", "/etc/resolv.conf"]).status === 0;

/**
 * A DNS server on loopback that answers 127.0.0.1 for every name, except for names that it swallows.
 * @param options of resolv.conf(5); by default a swallowed name hangs for 10 s
 */
export async function startNameServer(options = "timeout:5 attempts:2") {
  const host = `127.53.${randomInt(256)}.${randomInt(1, 255)}`;
  const questions: string[] = [];
  let swallowed: readonly string[] = [];
  const server = createSocket("udp4").bind(port, host);
  await once(server, "listening");
  server.on("message", (message, { address, port: askingPort }) => {
    const { name, type, end } = readQuestion(message);
    if (type === addressType) questions.push(name);
    if (!swallowed.includes(name)) server.send(answerTo(message.subarray(0, end), type), askingPort, address);
  });
  const folder = new ConfigWriter("names");
  const file = folder.write("resolv.conf", `nameserver ${host}\noptions ${options}\n`, 0o644);
  onTestFinished(() => {
    server.close();
    folder.remove();
  });
  return {
    /** The words that start a program which uses this server, and no other. */
    startAsking: ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', file],
    /** From now on queries for these names get no answer. */
    swallow(names: readonly string[]) {
      swallowed = names;
    },
    /** How many times the IPv4 address of a name was queried. */
    asked: (name: string) => questions.filter((asked) => asked === name).length,
  };
}

/** The first question of a message (RFC 1035 section 4.1), and its end in the message. */
function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join("."), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** An answer with one address for IPv4; an empty one for any other type. @param question the header and the question of the message */
function answerTo(question: Buffer, type: number): Buffer {
  const answers = type === addressType ? [Buffer.from("c00c00010001000000000004" + "7f000001", "hex")] : [];
  const message = Buffer.concat([question, ...answers]);
  // A response, and recursion is available.
  message.writeUInt16BE(0x8180, 2);
  message.writeUInt16BE(answers.length, 6);
  message.writeUInt32BE(0, 8);
  return message;
}
