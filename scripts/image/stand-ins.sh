#!/usr/bin/env bash
# Makes Docker images that stand in for the Dockerfile's two base images, for Debian machines that reach no image
# registry: libraries from Debian 13's packages, whichever Debian the machine has; Node and npm from npm's registry. Prints
# their names: NODE_IMAGE, BASE_IMAGE. Existing images stay. For tests only: nobody renews them.
set -euo pipefail

node_image=countersign-stand-in-node:24-trixie
base_image=countersign-stand-in-base:debian13-nonroot
printf '%s\n' "$node_image" "$base_image"
docker image inspect "$node_image" "$base_image" >/dev/null 2>&1 && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir -p packages base node apt/lists/partial apt/cache/archives/partial
of_base=(base-files ca-certificates gcc-14-base libc6 libgcc-s1 libgomp1 libssl3t64 libstdc++6 libzstd1 media-types netbase tzdata zlib1g)
machine=$(uname -m | tr _ -)-linux-gnu
compiler=(binutils "binutils-$machine" binutils-common cpp-14 "cpp-14-$machine" gcc-14 "gcc-14-$machine" libbinutils libc6-dev
  libctf-nobfd0 libctf0 libgcc-14-dev libgmp10 libisl23 libjansson4 libmpc3 libmpfr6 libsframe1 linux-libc-dev)
# Apart from the machine's own packages, which may be another Debian's.
keys=/usr/share/keyrings/debian-archive-keyring.gpg
for suite in debian:trixie debian-security:trixie-security; do
  echo "deb [signed-by=$keys] http://deb.debian.org/${suite/:/ } main"
done >apt/sources.list
apt=(-qq -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/apt/lists"
  -o Dir::State::status=/dev/null -o "Dir::Cache=$work/apt/cache" -o APT::Sandbox::User=root)
{ apt-get "${apt[@]}" update && (cd packages && apt-get "${apt[@]}" download "${of_base[@]}" "${compiler[@]}" busybox-static); } >&2
unpack() { # folder, package…
  local folder=$1 package
  shift
  for package; do dpkg-deb -x packages/"$package"_*.deb "$folder"; done
}

# As gcr.io/distroless/cc-debian13:nonroot: the C++ runtime, time zones, authorities and a user, but no programs. Its
# records of packages have another form than dpkg's, and its os-release is not Debian's.
unpack base "${of_base[@]}"
rm -rf base/usr/bin base/usr/sbin base/sbin base/bin base/usr/share/{doc,lintian,man}
records=base/var/lib/dpkg/status.d
mkdir -p base/etc/ssl/certs base/home/nonroot "$records"
for package in "${of_base[@]}"; do
  dpkg-deb --field packages/"$package"_*.deb >"$records/$package"
  dpkg-deb --ctrl-tarfile packages/"$package"_*.deb | tar -xO ./md5sums >"$records/$package.md5sums"
done
sed -i 's|^PRETTY_NAME=.*|PRETTY_NAME="Stand-in for distroless"|' base/usr/lib/os-release
cat base/usr/share/ca-certificates/mozilla/*.crt >base/etc/ssl/certs/ca-certificates.crt
echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >base/etc/passwd
echo 'nonroot:x:65532:' >base/etc/group
install -d -m 1777 base/tmp

# As node:24-trixie: Node, npm and a C compiler; with this machine's settings for the npm registry.
unpack node base-files libc6 libgcc-s1 libstdc++6 libzstd1 zlib1g busybox-static "${compiler[@]}"
ln -s gcc-14 node/usr/bin/gcc
rm -rf node/usr/libexec/gcc/*/14/lto* node/usr/share
mkdir -p node/etc/ssl/certs node/usr/local/{bin,lib} node/root
install -d -m 1777 node/tmp
cp /etc/ssl/certs/ca-certificates.crt node/etc/ssl/certs/
node/bin/busybox --list-full | grep -v '/busybox$' | while read -r program; do
  [ -L "node/$program" ] || { mkdir -p "$(dirname "node/$program")" && ln -s /bin/busybox "node/$program"; }
done
npm install --silent --no-save --prefix npm "node-linux-$(node -p process.arch)@24" npm@11 >&2
cp npm/node_modules/node-linux-*/bin/node node/usr/local/bin/
cp -R npm/node_modules/npm node/usr/local/lib/
ln -s ../lib/npm/bin/npm-cli.js node/usr/local/bin/npm

path='ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
certificates=/etc/ssl/certs/ca-certificates.crt
make_image() { # folder, name, change…
  local folder=$1 name=$2 changes=() change
  shift 2
  for change; do changes+=(--change "$change"); done
  tar -C "$folder" --owner=0 --group=0 -c . | docker import "${changes[@]}" - "$name" >/dev/null
}
make_image base "$base_image" "$path" "ENV SSL_CERT_FILE=$certificates" 'USER 65532' 'WORKDIR /home/nonroot'
make_image node "$node_image" "$path" "ENV NODE_EXTRA_CA_CERTS=$certificates" \
  "ENV NPM_CONFIG_REGISTRY=$(npm config get registry)"
