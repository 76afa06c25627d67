import type { Manifest } from "../kubernetes/manifests.ts";

/** What Prometheus's discovery by `role: pod` says of a target: a port of a container of a pod. */
export interface Discovered {
  readonly targets: readonly [string];
  readonly labels: Readonly<Record<string, string>>;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly ip: string;
  readonly phase?: string;
  readonly madeBy: { readonly kind: string; readonly name: string };
  readonly spec: Manifest;
}

/** Every port, those of init containers too, as Prometheus documents it below `kubernetes_sd_config`, `pod`. */
export function discoveredPorts({ namespace, name, ip, phase = "Running", madeBy, spec }: Pod): Discovered[] {
  const { containers, initContainers = [] } = spec;
  return [...containers, ...initContainers].flatMap((container: Manifest) =>
    // A container without ports is a target too, without a port.
    (container.ports ?? [{}]).map((port: Manifest) => ({
      targets: [port.containerPort === undefined ? ip : `${ip}:${port.containerPort}`],
      labels: {
        __meta_kubernetes_namespace: namespace,
        __meta_kubernetes_pod_name: name,
        __meta_kubernetes_pod_ip: ip,
        __meta_kubernetes_pod_phase: phase,
        __meta_kubernetes_pod_controller_kind: madeBy.kind,
        __meta_kubernetes_pod_controller_name: madeBy.name,
        __meta_kubernetes_pod_container_name: container.name,
        __meta_kubernetes_pod_container_init: String(initContainers.includes(container)),
        ...(port.name === undefined ? {} : { __meta_kubernetes_pod_container_port_name: port.name }),
      },
    })),
  );
}
