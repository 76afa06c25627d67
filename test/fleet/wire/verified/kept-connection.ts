import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** One answer: its status and its body. */
export interface Answered {
  readonly status: number;
  readonly text: string;
}

/** A connection on which one request after the other is sent. It ends with the test. */
export class KeptConnection {
  readonly #socket: Socket;
  #text = "";

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("latin1").setNoDelay(true);
    socket.on("error", () => {});
  }

  static async open(port: number): Promise<KeptConnection> {
    const socket = connect({ port, host: "127.0.0.1" });
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return new KeptConnection(socket);
  }

  /** @throws Error when the connection ends first */
  post(path: string, headers: string, body: Uint8Array): Promise<Answered> {
    const socket = this.#socket;
    const head =
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
      `${headers}Content-Length: ${body.length}\r\n\r\n`;
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        socket.off("data", receive).off("close", fail);
        settle();
      };
      const fail = () => finish(() => reject(new Error(`the connection ended: ${this.#text.slice(0, 300)}`)));
      const receive = (text: string) => {
        this.#text += text;
        const answer = this.#takeAnswer();
        if (answer !== undefined) finish(() => resolve(answer));
      };
      socket.on("data", receive).on("close", fail);
      socket.write(Buffer.concat([Buffer.from(head, "latin1"), body]));
    });
  }

  #takeAnswer(): Answered | undefined {
    const gap = this.#text.indexOf("\r\n\r\n");
    if (gap === -1) return undefined;
    const head = this.#text.slice(0, gap);
    const end = gap + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
    if (Number.isNaN(end)) throw new Error(`an answer without a length: ${head}`);
    if (this.#text.length < end) return undefined;
    const text = this.#text.slice(gap + 4, end);
    this.#text = this.#text.slice(end);
    return { status: Number(head.slice(9, 12)), text };
  }
}
