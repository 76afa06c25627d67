#!/usr/bin/env bash
# npm run test:platform: charts, images, alerts and dashboards, by Vitest. With --cluster as the first argument: docs/kubernetes.md on a
# real cluster instead, by Vitest inside of it. Further arguments go to Vitest.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "${1-}" = --cluster ] || exec node_modules/.bin/vitest run --project platform "$@"
shift
exec scripts/cluster/run.sh node_modules/.bin/vitest run --config test/platform/cluster/vitest.config.ts "$@"
