#!/usr/bin/env bash
# Builds the tools that test/platform/kubernetes needs into .tools, from the Go module proxy: helm, kubectl and two checkers, then an API server
# and etcd; and kubernetes-validate from PyPI. With `charts` all but the API server and etcd, with `api-server` only these. Tools that exist
# already, in these versions, stay. Needs go and python3 with pip.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$PWD/.tools
module=test/platform/kubernetes/tools
mkdir -p "$tools/bin" "$tools/crds"

# As helm's own Makefile does: without this, helm assumes Kubernetes 1.20.
kubernetes=$(go -C "$module" list -m -f '{{.Version}}' k8s.io/api | cut -d. -f2)
flags=-s
for package in lint/rules chartutil; do
  flags+=" -X helm.sh/helm/v3/pkg/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$package.k8sVersionMinor=$kubernetes"
done
version=$(go -C "$module" list -m -f '{{.Version}}' k8s.io/kubernetes)
# The API server derives from its version which APIs it serves.
for variable in gitVersion="$version" gitMajor=1 gitMinor="$kubernetes"; do
  flags+=" -X k8s.io/component-base/version.$variable"
done
# Unoptimised programs compile faster and are as good for tests.
build() { go -C "$module" build -p 2 -trimpath -gcflags='all=-N -l' -ldflags="$flags" -o "$tools/bin/" "$@"; }
build_api_server() { build ./etcd k8s.io/kubernetes/cmd/kube-apiserver; }
if [ "${1-}" = api-server ]; then
  build_api_server
  exit
fi
build helm.sh/helm/v3/cmd/helm ./kubectl ./pod-security ./custom-resources

# The checker of .github/workflows.
GOBIN=$tools/bin go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7

copy_definitions() { # module@version, folder, names…
  local folder
  folder=$(go mod download -json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')/$2
  shift 2
  for name in "$@"; do install -m 644 "$folder/$name.yaml" "$tools/crds/"; done
}
copy_definitions github.com/prometheus-operator/prometheus-operator@v0.93.1 example/prometheus-operator-crd \
  monitoring.coreos.com_{podmonitors,servicemonitors,prometheusrules}
copy_definitions github.com/external-secrets/external-secrets@v1.3.2 config/crds/bases \
  external-secrets.io_{externalsecrets,secretstores}
copy_definitions github.com/cert-manager/cert-manager@v1.21.2 deploy/crds cert-manager.io_{certificates,issuers}
copy_definitions github.com/hashicorp/vault-secrets-operator@v0.10.0 config/crd/bases \
  secrets.hashicorp.com_{vaultauths,vaultstaticsecrets}
copy_definitions sigs.k8s.io/secrets-store-csi-driver@v1.5.3 config/crd/bases \
  secrets-store.csi.x-k8s.io_secretproviderclasses

python3 -m pip install --quiet --disable-pip-version-check --target "$tools/python" --upgrade kubernetes-validate==1.37.0

[ "${1-}" = charts ] || build_api_server
