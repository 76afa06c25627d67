#!/usr/bin/env bash
# prom-client 15.1.3: a registry that wrote OpenMetrics once writes other counter names in the text format too.
# Guess: the content type changes one output, and `orders_total` is back with the former type.
# Found: OpenMetrics takes `_total` from the counter itself, so the text format has `orders` from then on. A dashboard that
# asks for `orders_total` gets nothing. A registry of its own for each format avoids it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . prom-client@15.1.3

cat >try.mjs <<'END'
import { Counter, Registry } from "prom-client";

const registry = new Registry();
new Counter({ name: "orders_total", help: "Orders.", registers: [registry] }).inc();
const series = async () => (await registry.metrics()).split("\n").find((line) => /^orders/.test(line));
console.log("text:", await series());
registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
console.log("OpenMetrics:", await series());
registry.setContentType(Registry.PROMETHEUS_CONTENT_TYPE);
console.log("text again:", await series());
END

diff - <(node try.mjs) <<'END'
text: orders_total 1
OpenMetrics: orders_total 1
text again: orders 1
END
