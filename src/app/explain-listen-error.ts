/** Why a server cannot listen, for people; undefined where that is not what failed. */
export function explainListenError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error) || error.syscall !== "listen") return undefined;
  return error.message.replace(/^listen EADDRINUSE: /, "");
}
