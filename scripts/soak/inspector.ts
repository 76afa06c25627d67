import { WebSocket } from "undici";

/**
 * What a process holds on its heap after a full garbage collection. Only its inspector can order one from outside, so that
 * the process runs the built command and nothing else; it is on loopback, at a port of its own.
 * @param url as Node says it at the start: `ws://127.0.0.1:port/id`
 */
export async function measureHeap(url: string): Promise<number> {
  const socket = new WebSocket(url);
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`no inspector at ${url}`)));
    });
    await ask(socket, 1, "HeapProfiler.collectGarbage");
    // What the first has set free by finalisers goes with the second.
    await ask(socket, 2, "HeapProfiler.collectGarbage");
    const usage = await ask(socket, 3, "Runtime.getHeapUsage");
    return readUsedSize(usage);
  } finally {
    socket.close();
  }
}

function ask(socket: WebSocket, id: number, method: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    socket.addEventListener("close", () => reject(new Error("the inspector has gone")));
    socket.addEventListener("message", ({ data }) => {
      const answer: unknown = JSON.parse(String(data));
      if (typeof answer === "object" && answer !== null && "id" in answer && answer.id === id) resolve(answer);
    });
    socket.send(JSON.stringify({ id, method }));
  });
}

function readUsedSize(answer: unknown): number {
  const [, bytes] = /"usedSize":(\d+)/.exec(JSON.stringify(answer)) ?? [];
  if (bytes === undefined) throw new Error("the inspector does not say how large the heap is");
  return Number(bytes);
}
