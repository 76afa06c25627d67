import { type Answer, type Delivery, finishAnswer, pause, sendAnswer, writeHead } from "./answer.ts";
import type { AnswerFault } from "./fault.ts";
import type { FaultPlan, PlannedFault } from "./faults.ts";
import type { Exchange } from "./listening-host.ts";

const unsaid: Delivery = { status: undefined, ending: "abandoned" };
const silentlyCut: Delivery = { status: undefined, ending: "cut" };

/** A reset that comes together with data looks like an orderly end to many clients, so they get time to read the data. */
const halfReadMs = 20;

/** The honest answer, and the values of `{{token}}` and `{{order_id}}` for another answer. */
export interface HonestAnswer extends Answer {
  readonly names: Readonly<Record<string, string | undefined>>;
}

/** Sends the honest answer, changed or broken as the fault says. */
export async function playFault(
  exchange: Exchange,
  answer: HonestAnswer,
  planned: PlannedFault | undefined,
  plan: FaultPlan,
): Promise<Delivery> {
  const { response } = exchange;
  if (planned === undefined) return sendAnswer(response, answer);
  const { fault } = planned;
  if (fault.delayMs !== undefined && !(await pause(response, fault.delayMs))) return unsaid;
  switch (fault.kind) {
    case "answer":
      return sendAnswer(response, replaceAnswer(fault, answer));
    case "hang":
      return (await plan.hang(planned, response)) ? sendAnswer(response, answer) : unsaid;
    case "delay":
    case "revoke_tokens":
      return sendAnswer(response, answer);
    case "drip":
      return drip(exchange, answer, fault.chunkBytes ?? 1, fault.intervalMs ?? 10);
    case "reset":
      if (fault.when === "mid_answer") return breakOff(exchange, answer, exchange.reset);
      exchange.reset();
      return silentlyCut;
    case "truncate":
      return breakOff(exchange, answer, exchange.close);
    case "raw":
      return sendRaw(exchange, Buffer.from(fault.bytes, "latin1"), fault.close ?? true);
    case "close_after_answer": {
      const delivery = await sendAnswer(response, answer);
      exchange.close();
      return delivery;
    }
  }
}

function replaceAnswer(fault: AnswerFault, honest: HonestAnswer): Answer {
  let body = fault.body ?? "";
  for (const [name, value] of Object.entries(honest.names)) {
    if (value !== undefined) body = body.replaceAll(`{{${name}}}`, value);
  }
  return { status: fault.status, headers: { ...fault.headers }, body: Buffer.from(body) };
}

async function drip({ response }: Exchange, answer: Answer, chunkBytes: number, intervalMs: number): Promise<Delivery> {
  if (response.destroyed) return unsaid;
  writeHead(response, answer);
  response.flushHeaders();
  for (let at = 0; at < answer.body.length; at += chunkBytes) {
    if (!(await pause(response, intervalMs))) return { status: answer.status, ending: "abandoned" };
    response.write(answer.body.subarray(at, at + chunkBytes));
  }
  return finishAnswer(response, answer.status, Buffer.alloc(0));
}

/** Announces the whole body, writes half of it, and leaves. */
async function breakOff({ response }: Exchange, answer: Answer, leave: () => void): Promise<Delivery> {
  if (response.destroyed) return unsaid;
  writeHead(response, answer);
  await new Promise((resolve) => response.write(answer.body.subarray(0, answer.body.length / 2), resolve));
  await pause(response, halfReadMs);
  leave();
  return { status: answer.status, ending: "cut" };
}

async function sendRaw({ response, close }: Exchange, bytes: Buffer, isClosing: boolean): Promise<Delivery> {
  const { socket } = response;
  if (socket === null || socket.destroyed) return unsaid;
  await new Promise((resolve) => socket.write(bytes, resolve));
  if (isClosing) close();
  return silentlyCut;
}
