export const key: string;
export const token: string;
export const site: string;
export const order: string;
export function signOrder(text: string): string;
export function isSigned(text: string): boolean;
export type Job = "hmac" | "oauth" | "none" | "tls" | "keyed" | "callback" | "get1KiB" | "get1MiB";
export const jobs: Readonly<Record<Job, JobRequest>>;
interface JobRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string | (() => string);
  readonly isKeyed?: boolean;
  readonly rate: number;
}
