import type { Selector } from "./selector.ts";

/** How the sidecar is to be, and where. */
export interface InjectOptions {
  readonly image: string;
  /** Its key countersign.yaml becomes /etc/countersign/countersign.yaml. */
  readonly configMap: string;
  /** Its keys become files below /run/secrets/countersign. */
  readonly secret: string;
  /** A container beside the application's, for clusters before Kubernetes 1.29. */
  readonly isClassic: boolean;
  /** Seconds from SIGTERM to Countersign's end at the latest, and a reserve. */
  readonly drainSeconds: number;
  /** By the labels of the workload itself, not of its pods. */
  readonly selects: Selector;
  /** The application's variable that takes the address to call. */
  readonly urlVariable?: string | undefined;
}
