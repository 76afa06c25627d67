#!/usr/bin/env bash
# Builds the programs of a one-node cluster into .tools/cluster: Kubernetes, CoreDNS and the pods' first process from the Go
# module proxy. etcd, the network plugins and a registry come out of Debian's packages, which are unpacked and not installed.
# Programs that exist already, in these versions, stay.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools=$PWD/.tools/cluster
module=scripts/cluster/binaries
mkdir -p "$tools/bin" "$tools/debian"

version=$(go -C "$module" list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
flags='-s -w'
for variable in gitVersion="$version" gitMajor="$major" gitMinor="$minor"; do
  flags+=" -X k8s.io/component-base/version.$variable"
done
# Unoptimised programs compile faster and are as good for tests.
CGO_ENABLED=0 go -C "$module" build -p 2 -trimpath -gcflags='all=-N -l' -ldflags="$flags" -o "$tools/bin/" \
  k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kube-proxy} ./coredns ./pause

cd "$tools/debian"
[ -x usr/bin/etcd ] && [ -x usr/lib/cni/ptp ] && [ -x usr/bin/docker-registry ] && exit 0
download() { apt-get download -qq etcd-server containernetworking-plugins docker-registry; }
# The machine's list of packages may be missing or out of date.
download || { apt-get update -qq && download; }
for package in *.deb; do dpkg-deb -x "$package" .; done
rm ./*.deb
