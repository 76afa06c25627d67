#!/usr/bin/env bash
# Runs a command in a Kubernetes cluster of one node, made for it on this machine: scripts/cluster/run.sh COMMAND…
# The command has kubectl, helm and docker on its PATH, and REGISTRY names a registry that both docker and the node use.
# Needs root on Debian, with go, python3, npm, docker.io, iptables, openssl and redis-server. No image registry is used.
# The built programs stay in .tools/cluster, 4 GB: remove the folder to free the space.
#
# The node has a network, mounts and processes of its own (namespaces), so the kernel removes all of them when its first
# process ends, for whatever reason. Only Docker stays outside, since the images' builds need npm's registry.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() {
  echo "$*" >&2
  exit 1
}
[ "$(id -u)" -eq 0 ] || fail "A cluster needs root: it makes namespaces, mounts and cgroups."
for program in go python3 npm dockerd containerd runc iptables openssl redis-server; do
  command -v "$program" >/dev/null || fail "A cluster needs $program. Debian's docker.io has dockerd, containerd and runc; go is 1.26 or later, from go.dev."
done
[ $# -gt 0 ] || fail "Usage: scripts/cluster/run.sh COMMAND…"

tools=$PWD/.tools
mkdir -p "$tools/cluster"
exec {lock}>"$tools/cluster/lock"
flock --nonblock "$lock" || fail "Another cluster of this checkout is running."

echo "--- programs: the first time takes a quarter of an hour"
scripts/cluster/build.sh
[ -x "$tools/bin/helm" ] && [ -x "$tools/bin/kubectl" ] && [ -d "$tools/crds" ] || scripts/kubernetes-tools.sh charts

folder=$(mktemp -d /tmp/countersign-cluster-XXXXXX)
cgroup=countersign-cluster-$$
# The kubelet sets these, for the whole machine.
settings=(vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes)
before=$(sysctl "${settings[@]}" 2>/dev/null | tr -d ' ') || true
engine=
registry=
node=
gone() { ! kill -0 "$1" 2>/dev/null; }
finish() { # process, signal
  [ -n "$1" ] || return 0
  kill "-$2" "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}
# The kernel ends the node's processes a moment after its first process.
remove_cgroups() {
  local found
  for _ in $(seq 100); do
    found=$(find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" 2>/dev/null) || true
    [ -n "$found" ] || return 0
    xargs --no-run-if-empty rmdir 2>/dev/null <<<"$found" || true
    sleep 0.1
  done
  echo "NOTE: cgroups of the cluster are left: /sys/fs/cgroup/…/$cgroup" >&2
}
cleanup() {
  trap '' INT TERM
  finish "$node" KILL
  finish "$registry" TERM
  finish "$engine" TERM
  remove_cgroups
  xargs --no-run-if-empty sysctl --quiet <<<"$before" || true
  rm -rf "$folder" || echo "NOTE: left behind: $folder" >&2
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
until_done() { # what, process, log, command…
  local what=$1 process=$2 log=$3 deadline=$((SECONDS + 60))
  shift 3
  until "$@" >/dev/null 2>&1; do
    if gone "$process" || ((SECONDS > deadline)); then
      tail -n 20 "$log" >&2
      fail "$what does not start."
    fi
    sleep 0.1
  done
}
# These processes end with this script, however it ends; exec, so that their parent is this script and no shell between.
with_this() { exec setpriv --pdeathsig "$1" "${@:2}"; }

echo "--- Docker, its own"
export DOCKER_HOST=unix://$folder/docker.sock
# Docker's classic builder, which reuses layers that were built with another network.
! docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
with_this TERM unshare --mount dockerd --host "$DOCKER_HOST" --data-root "$tools/cluster/docker" --exec-root "$folder/docker" \
  --pidfile "$folder/docker.pid" --bridge none --iptables=false --ip6tables=false >"$folder/dockerd.log" 2>&1 {lock}>&- &
engine=$!
until_done dockerd "$engine" "$folder/dockerd.log" docker info

echo "--- a registry, for Docker and for the node"
export REGISTRY=127.0.0.1:5077
cat >"$folder/registry.yaml" <<END
version: 0.1
log: { level: warn }
storage: { filesystem: { rootdirectory: $folder/registry } }
http: { addr: $REGISTRY }
END
with_this TERM "$tools/cluster/debian/usr/bin/docker-registry" serve "$folder/registry.yaml" >"$folder/registry.log" 2>&1 {lock}>&- &
registry=$!
until_done "the registry" "$registry" "$folder/registry.log" curl --silent --fail "http://$REGISTRY/v2/"

echo "--- images"
scripts/cluster/images.sh "$folder"

for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
  # One hierarchy for all controllers (version 2), or one for each.
  [ ! -e "$hierarchy/cgroup.procs" ] || [ ! -w "$hierarchy/cgroup.procs" ] || mkdir -p "$hierarchy/$cgroup"
  [ ! -e /sys/fs/cgroup/cgroup.controllers ] || break
done

echo "--- the node"
export PATH="$tools/bin:$tools/cluster/bin:$tools/cluster/debian/usr/bin:$PATH"
with_this KILL unshare --net --mount --uts --ipc --pid --fork --kill-child --mount-proc \
  bash scripts/cluster/node.sh "$folder" "$cgroup" "$tools/cluster/debian/usr/lib/cni" "$@" <&0 {lock}>&- &
node=$!
status=0
wait "$node" || status=$?
node=
exit "$status"
