#!/usr/bin/env bash
# npm run test:platform: charts, images, alerts and dashboards, by Vitest. With --cluster as the first argument: docs/kubernetes.md on a
# real cluster instead, by Vitest inside of it. Further arguments go to Vitest.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1-}" != --cluster ]; then
  # The group also has the tests of test/real.
  [[ "$*" == *test/platform* ]] || set -- test/platform "$@"
  exec node_modules/.bin/vitest run --project tools "$@"
fi
shift
exec scripts/cluster/run.sh node_modules/.bin/vitest run --config test/platform/cluster/vitest.config.ts "$@"
