# Two images, each bundled into a few files: the proxy (target proxy), without the simulator's code, and the simulated
# service (target simulator). Node's image is the one with a C compiler, for the health check.
# Both of Docker's builders can build them. Pin a base by its digest:
#   docker build --target proxy --build-arg NODE_IMAGE=node:24-trixie@sha256:… --tag countersign:0.1.0 .
ARG NODE_IMAGE=node:24-trixie
ARG BASE_IMAGE=gcr.io/distroless/cc-debian13:nonroot

FROM ${BASE_IMAGE} AS base

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY simulator/package.json simulator/
RUN npm ci --ignore-scripts
COPY LICENSE tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/build-record.mjs scripts/bundle.mjs scripts/
COPY src src
COPY simulator/src simulator/src
RUN npm run build
COPY scripts/code-cache.mjs scripts/sbom.mjs scripts/
RUN node scripts/code-cache.mjs dist && node scripts/sbom.mjs bill.cdx.json

# Each folder here becomes a layer. Modes and times are set, so that the same inputs make the same layers anywhere.
FROM ${NODE_IMAGE} AS files
WORKDIR /files
COPY deploy/image/healthcheck.c /
COPY --from=build /app/dist/main.js /app/dist/third-party-licenses.txt proxy/app/dist/
COPY --from=build /app/dist/bundled proxy/app/dist/bundled
COPY --from=build /app/bill.cdx.json runtime/usr/local/share/sbom/countersign.cdx.json
COPY deploy/vex/countersign.openvex.json runtime/usr/local/share/sbom/
COPY --from=build /app/simulator/dist simulator/app/dist
COPY package.json LICENSE proxy/app/
COPY simulator/package.json LICENSE simulator/app/
# The image has no shell and no env(1), which the usual first line of a script needs.
RUN mkdir -p runtime/usr/local/bin proxy/usr/local/bin simulator/usr/local/bin \
 && cp /usr/local/bin/node runtime/usr/local/bin/ \
 && gcc -Os -Wall -Wextra -Werror -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE -pie -Wl,-z,relro,-z,now -s \
      -o runtime/usr/local/bin/healthcheck /healthcheck.c \
 && sed -i '1s|.*|#!/usr/local/bin/node|' proxy/app/dist/main.js simulator/app/dist/main.js \
 && ln -s /app/dist/main.js proxy/usr/local/bin/countersign \
 && ln -s /app/dist/main.js simulator/usr/local/bin/countersign-simulator \
 && chmod -R u=rwX,go=rX . \
 && find . -exec touch -h -d @0 {} +

FROM base AS runtime
COPY --from=files /files/runtime/ /
USER 65532:65532
# Names are looked up by half of these threads: by default two hanging look-ups would block all others. A dozen more take 0.2 MiB.
ENV UV_THREADPOOL_SIZE=16
# By default glibc gives each thread that allocates a heap of its own, which is never given back: 10 MiB with 10,000 sites in a folder.
ENV MALLOC_ARENA_MAX=2
# V8's heap may take half of the container's memory, from which limits.bufferedBytes follows too. By default it may take all of
# 256 MiB, so the kernel could end the process before garbage is collected. The option needs Node 24.6 or later.
# The young generation would be 2 MiB in such a container, collected all the time, and 128 MiB without a memory limit: here it is 8.
# With these two options V8's compiled code of Node's modules and `serve` stays valid. With most others each start compiles it again.
ENTRYPOINT ["/usr/local/bin/node", "--max-old-space-size-percentage=50", "--max-semi-space-size=4", "/app/dist/main.js"]
ARG BASE_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.vendor="Countersign" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}" \
      dev.countersign.sbom="/usr/local/share/sbom/countersign.cdx.json"

FROM runtime AS simulator
LABEL org.opencontainers.image.title="countersign-simulator" \
      org.opencontainers.image.description="The payment service, simulated: the JSON API and the authorization server."
COPY --from=files /files/simulator/ /
EXPOSE 7421 7422
ENV HEALTHCHECK_ADDRESS=127.0.0.1:7421
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["healthcheck", "/simulator"]
CMD ["simulate", "--host", "0.0.0.0"]

FROM runtime AS proxy
LABEL org.opencontainers.image.title="countersign" \
      org.opencontainers.image.description="Outbound, auth-injecting HTTP sidecar: plain JSON in, authorised or signed requests out."
COPY --from=files /files/proxy/ /
# The address of admin.bind: the health check cannot read the configuration.
ENV COUNTERSIGN_CONFIG=/etc/countersign/countersign.yaml \
    HEALTHCHECK_ADDRESS=127.0.0.1:7412
EXPOSE 7412
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["healthcheck", "/livez"]
CMD ["serve"]
