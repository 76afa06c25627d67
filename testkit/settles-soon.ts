import { call } from "./call.ts";

/** Whether the promise settles, either way, during a few exchanges with the admin server. */
export async function settlesSoon(promise: Promise<unknown>, adminUrl: string): Promise<boolean> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  promise.then(settle, settle);
  for (let n = 0; n < 5; n++) await call(adminUrl, "", { method: "GET", path: "/livez" });
  return isSettled;
}
