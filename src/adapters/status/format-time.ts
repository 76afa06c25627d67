/** As `/status` shows times: ISO 8601 in UTC, as the log has them. */
export function formatTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
