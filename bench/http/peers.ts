import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Job, token } from "./job.mjs";
import { authorityFile, isThere, type Place, type Program, type Running, startProgram, targetOf } from "./program.ts";

const here = import.meta.dirname;
const tools = resolve(here, "../../.tools/bench");
const modules = join(tools, "node_modules");
const envoy = join(tools, "python/bin/envoy");
const oauthProxy = join(tools, "oauth-proxy");
const njs = "/usr/lib/nginx/modules/ngx_http_js_module.so";

/** Programs to compare with. Each does its job with as little configuration as it allows. */
export const peers: readonly Program[] = [
  ...Object.entries({
    "nginx static header": "none",
    "nginx GET 1 KiB": "get1KiB",
    "nginx GET 1 MiB": "get1MiB",
  } as const).map(([name, job]) => ({
    name,
    job,
    isInstalled: () => isThere("nginx"),
    start: (at: Place) => startNginx(at, job),
  })),
  ...Object.entries({ "nginx + njs": "hmac", "nginx + njs over TLS": "tls" } as const).map(([name, job]) => ({
    name,
    job,
    isInstalled: () => isThere("nginx") && existsSync(njs),
    start: (at: Place) => startNginx(at, job),
  })),
  { name: "HAProxy static header", job: "none", isInstalled: () => isThere("haproxy"), start: startHaproxy },
  { name: "Envoy credential injector", job: "oauth", isInstalled: () => existsSync(envoy), start: startEnvoy },
  {
    name: "Go ReverseProxy + x/oauth2",
    job: "oauth",
    isInstalled: () => existsSync(oauthProxy),
    start: ({ port, service, cpu }) =>
      startProgram([oauthProxy, String(port), String(service.port), String(service.authPort)], { port, cpu }),
  },
  ...Object.entries({ "node:http + undici": "hmac", "node:http + undici over TLS": "tls" } as const).map(
    ([name, job]) => ({ name, job, isInstalled: () => true, start: (at: Place) => startNode("floor.mjs", at, job) }),
  ),
  ...Object.entries({
    "http-proxy program": "hmac",
    "http-proxy GET 1 KiB": "get1KiB",
    "http-proxy GET 1 MiB": "get1MiB",
  } as const).map(([name, job]) => ({
    name,
    job,
    isInstalled: () => existsSync(join(modules, "http-proxy")),
    start: (at: Place) => startNode("http-proxy.mjs", at, job),
  })),
  {
    name: "@fastify/http-proxy",
    job: "none",
    isInstalled: () => existsSync(join(modules, "@fastify/http-proxy")),
    start: (at) => startNode("fastify-http-proxy.mjs", at, "none"),
  },
];

function startNode(file: string, { port, service, cpu }: Place, job: Job): Promise<Running> {
  const command = [process.execPath, join(here, "peers", file), String(port), targetOf(job, service)];
  return startProgram(command, { port, cpu, env: { BENCH_MODULES: modules, NODE_EXTRA_CA_CERTS: authorityFile } });
}

function startNginx({ port, service, cpu, folder }: Place, job: Job): Promise<Running> {
  const isSigning = job === "hmac" || job === "tls";
  const { protocol, host } = new URL(targetOf(job, service));
  const upstream = `proxy_pass ${protocol}//service; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_ssl_verify on; proxy_ssl_name localhost; proxy_ssl_trusted_certificate ${authorityFile};`;
  const locations = isSigning
    ? `location / { js_content job.sign; }
       location = /upstream { internal; rewrite ^ /json-api/create_order break; proxy_set_header Bench-Job hmac; ${upstream} }`
    : `location / { proxy_set_header Authorization "Bearer ${token}"; ${upstream} }`;
  const file = join(folder, "nginx.conf");
  writeFileSync(
    file,
    `${isSigning ? `load_module ${njs};` : ""}
    worker_processes 1; daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
    events { worker_connections 1024; }
    http {
      access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
      ${isSigning ? `js_path ${here}/peers/; js_import job from sign.js;` : ""}
      upstream service { server ${host}; keepalive 256; }
      server { listen 127.0.0.1:${port}; keepalive_requests 1000000000; client_body_buffer_size 64k; ${locations} }
    }`,
  );
  return startProgram(["nginx", "-c", file, "-p", folder], { port, cpu });
}

function startHaproxy({ port, service, cpu, folder }: Place): Promise<Running> {
  const file = join(folder, "haproxy.cfg");
  writeFileSync(
    file,
    `global
  nbthread 1
defaults
  mode http
  timeout client 30s
  timeout server 30s
  timeout connect 2s
frontend in
  bind 127.0.0.1:${port}
  http-request set-header X-Key fixed
  default_backend service
backend service
  http-reuse always
  server service 127.0.0.1:${service.port}
`,
  );
  return startProgram(["haproxy", "-db", "-f", file], { port, cpu });
}

function startEnvoy({ port, service, cpu, folder }: Place): Promise<Running> {
  const cluster = (name: string, to: number) => ({
    name,
    connect_timeout: "2s",
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: address(to) } }] }],
    },
  });
  const secret = (name: string) => ({ name, generic_secret: { secret: { inline_string: "s" } } });
  const injected = {
    name: "envoy.http.injected_credentials.oauth2",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.http.injected_credentials.oauth2.v3.OAuth2",
      token_endpoint: { cluster: "auth", timeout: "3s", uri: `http://127.0.0.1:${service.authPort}/oauth/token` },
      client_credentials: { client_id: "c", client_secret: { name: "client-secret" } },
    },
  };
  const filters = [
    filter("envoy.filters.http.credential_injector", "credential_injector.v3.CredentialInjector", {
      credential: injected,
    }),
    filter("envoy.filters.http.router", "router.v3.Router", {}),
  ];
  const routes = {
    virtual_hosts: [
      {
        name: "all",
        domains: ["*"],
        request_headers_to_add: [{ header: { key: "Bench-Job", value: "oauth" } }],
        routes: [{ match: { prefix: "/" }, route: { cluster: "service" } }],
      },
    ],
  };
  const manager = {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: "in",
    route_config: routes,
    http_filters: filters,
  };
  const listener = {
    address: address(port),
    filter_chains: [{ filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] }],
  };
  const resources = {
    listeners: [listener],
    clusters: [cluster("service", service.port), cluster("auth", service.authPort)],
    secrets: [secret("client-secret")],
  };
  const file = join(folder, "envoy.json");
  writeFileSync(file, JSON.stringify({ static_resources: resources }));
  return startProgram([envoy, "-c", file, "--concurrency", "1", "--log-level", "error", "--disable-hot-restart"], {
    port,
    cpu,
  });
}

function filter(name: string, type: string, settings: object) {
  return { name, typed_config: { "@type": `type.googleapis.com/envoy.extensions.filters.http.${type}`, ...settings } };
}

function address(port: number) {
  return { socket_address: { address: "127.0.0.1", port_value: port } };
}
