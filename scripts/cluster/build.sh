#!/usr/bin/env bash
# Builds what a one-node cluster is made of into .tools/cluster: Kubernetes, CoreDNS and the pods' first process from the Go
# module proxy. etcd, the network plugins and a registry come out of Debian's packages, which are unpacked and not installed.
# What is there already, of these versions, stays.
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
# Not optimised, they compile sooner and are as good for tests.
CGO_ENABLED=0 go -C "$module" build -p 2 -trimpath -gcflags='all=-N -l' -ldflags="$flags" -o "$tools/bin/" \
  k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kube-proxy} ./coredns ./pause

cd "$tools/debian"
[ -x usr/bin/etcd ] && [ -x usr/lib/cni/ptp ] && [ -x usr/bin/docker-registry ] && exit 0
download() { apt-get download -qq etcd-server containernetworking-plugins docker-registry; }
# The machine's list of packages may be missing, or name what has been replaced since.
download || { apt-get update -qq && download; }
for package in *.deb; do dpkg-deb -x "$package" .; done
rm ./*.deb
