/**
 * The caller closed its connection before anything was sent, so nothing will be. Nobody is there to be answered; logs
 * and metrics show the status 499, as nginx does.
 */
export class ClientClosedRequest extends Error {
  override readonly name = "CallerLeft";
}

export const clientClosedRequestStatus = 499;
