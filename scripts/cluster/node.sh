#!/usr/bin/env bash
# The first process of the node's namespaces (run.sh): starts Kubernetes in them, then runs the command and ends with its
# exit code. Usage: node.sh FOLDER CGROUP PLUGINS COMMAND…; FOLDER has the authority, and receives the logs.
set -euo pipefail

folder=$1
cgroup=$2
plugins=$3
shift 3
logs=$folder/logs
node=10.210.0.1
services=10.96.0
export TMPDIR=$folder/tmp
mkdir -p "$logs" "$folder/lib" "$folder/pods" "$TMPDIR"

# Files written to these folders stay in the node's namespace.
mount -t tmpfs tmpfs /run
mount --bind "$folder/lib" /var/lib
mount --bind "$folder/pods" /var/log
ip link set lo up
# The node's address, and a route to Services from the node itself: rules replace a Service's address.
ip address add "$node/32" dev lo
ip route add default dev lo
sysctl --quiet net.ipv4.ip_forward=1

sign() { # name, subject, names
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "$2" -keyout "/run/$1.key" -out "/run/$1.csr" 2>/dev/null
  openssl x509 -req -in "/run/$1.csr" -CA /run/ca.crt -CAkey "$folder/ca.key" -days 365 -out "/run/$1.crt" \
    -extfile <(echo "subjectAltName=${3:-DNS:$1}") 2>/dev/null
}
cp "$folder/ca/ca.crt" /run/
sign apiserver /CN=kube-apiserver "IP:$node,IP:$services.1,IP:127.0.0.1,DNS:kubernetes.default.svc"
# One name with all rights: the node's own parts are not under test.
sign admin /O=system:masters/CN=admin
# For the hosts that docs/kubernetes.md calls, which test/platform/cluster plays.
sign hosts /CN=hosts DNS:api.sandbox.example,DNS:login.sandbox.example,DNS:redis.cache.svc
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out /run/accounts.key 2>/dev/null

cat >/run/kubeconfig <<END
apiVersion: v1
kind: Config
clusters: [{ name: cluster, cluster: { server: "https://$node:6443", certificate-authority: /run/ca.crt } }]
users: [{ name: admin, user: { client-certificate: /run/admin.crt, client-key: /run/admin.key } }]
contexts: [{ name: cluster, context: { cluster: cluster, user: admin, namespace: shop } }]
current-context: cluster
END
# All pods of all namespaces must meet the strictest level.
cat >/run/admission.yaml <<END
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: PodSecurity
    configuration:
      apiVersion: pod-security.admission.config.k8s.io/v1
      kind: PodSecurityConfiguration
      defaults: { enforce: restricted, enforce-version: latest }
END
# Secrets reach the pods within seconds; by default it takes up to two minutes.
cat >/run/kubelet.yaml <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: { anonymous: { enabled: false }, webhook: { enabled: false }, x509: { clientCAFile: /run/ca.crt } }
authorization: { mode: AlwaysAllow }
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
clusterDNS: [$node]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
evictionHard: { memory.available: 100Mi }
failCgroupV1: false
failSwapOn: false
resolvConf: ""
syncFrequency: 5s
END
# If this machine is a container itself, an OOM score below its own is refused.
cat >/run/containerd.toml <<END
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$REGISTRY/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$plugins"
    conf_dir = "/run/cni"
END
mkdir -p /run/cni
cat >/run/cni/pods.conflist <<END
{ "cniVersion": "0.4.0", "name": "pods", "plugins": [ { "type": "ptp", "ipam": {
  "type": "host-local", "ranges": [[{ "subnet": "10.244.0.0/24" }]], "routes": [{ "dst": "0.0.0.0/0" }] } } ] }
END
cat >/run/kube-proxy.yaml <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: { kubeconfig: /run/kubeconfig }
clusterCIDR: 10.244.0.0/24
conntrack: { maxPerCore: 0 }
hostnameOverride: node
mode: iptables
END
# The service that docs/kubernetes.md calls: test/platform/cluster plays it, at this address.
cat >/run/Corefile <<END
. {
  bind $node
  errors
  ready 127.0.0.1:8181
  hosts {
    $services.80 api.sandbox.example login.sandbox.example
    fallthrough
  }
  kubernetes cluster.local {
    kubeconfig /run/kubeconfig cluster
  }
}
END

export KUBECONFIG=/run/kubeconfig
start() { # name, command…
  local name=$1
  shift
  "$@" >"$logs/$name.log" 2>&1 </dev/null &
  processes[$name]=$!
}
declare -A processes
until_done() { # process, command…
  local name=$1 deadline=$((SECONDS + 120))
  shift
  until "$@" >/dev/null 2>&1; do
    if ! kill -0 "${processes[$name]}" 2>/dev/null || ((SECONDS > deadline)); then
      echo "$name does not start:" >&2
      tail -n 30 "$logs/$name.log" >&2
      exit 1
    fi
    sleep 0.1
  done
}

# As the kubelet restarts the static pods of a control plane.
again() { while :; do "$@" || true; done; }
start etcd etcd --data-dir /run/etcd --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379
start containerd containerd --config /run/containerd.toml
start registry docker-registry serve "$folder/registry.yaml"
until_done etcd curl --silent --fail http://127.0.0.1:2379/health
start kube-apiserver again kube-apiserver --etcd-servers http://127.0.0.1:2379 --advertise-address "$node" \
  --service-cluster-ip-range "$services.0/24" --authorization-mode RBAC --allow-privileged \
  --tls-cert-file /run/apiserver.crt --tls-private-key-file /run/apiserver.key --client-ca-file /run/ca.crt \
  --kubelet-preferred-address-types InternalIP --kubelet-client-certificate /run/admin.crt --kubelet-client-key /run/admin.key --admission-control-config-file /run/admission.yaml \
  --service-account-issuer https://kubernetes.default.svc --service-account-key-file /run/accounts.key \
  --service-account-signing-key-file /run/accounts.key
until_done kube-apiserver kubectl get --raw /readyz
start kube-controller-manager kube-controller-manager --kubeconfig /run/kubeconfig --leader-elect=false --use-service-account-credentials \
  --service-account-private-key-file /run/accounts.key --root-ca-file /run/ca.crt
start kube-scheduler kube-scheduler --kubeconfig /run/kubeconfig --leader-elect=false
until_done containerd ctr --address /run/containerd/containerd.sock version
start kubelet kubelet --kubeconfig /run/kubeconfig --config /run/kubelet.yaml --hostname-override node --node-ip "$node"
start kube-proxy kube-proxy --config /run/kube-proxy.yaml
start coredns coredns -conf /run/Corefile
until_done kubelet kubectl wait --for condition=Ready node/node --timeout 5s
until_done kube-controller-manager kubectl get serviceaccount --namespace default default
until_done coredns curl --silent --fail http://127.0.0.1:8181/ready
echo "--- the node is ready after $SECONDS s"

# Not exec: this process reaps the pods' orphaned processes.
"$@" || exit $?
