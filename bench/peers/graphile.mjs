// graphile-worker with its local queue and batching on, as its performance page runs it.
// usage: node graphile.mjs URL JOBS; prints jobs per second of enqueue + run + complete
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const [url, count] = [process.argv[2], Number(process.argv[3])];
const logger = new Logger(() => () => {});

const utils = await makeWorkerUtils({ connectionString: url, logger });
await utils.migrate();
const payload = { x: "x".repeat(90) };
const start = process.hrtime.bigint();
for (let left = count; left > 0; left -= 500)
  await utils.addJobs(Array.from({ length: Math.min(500, left) }, () => ({ identifier: "noop", payload })));

let done = 0;
let finished;
const all = new Promise((resolve) => (finished = resolve));
const runner = await run({
  connectionString: url,
  logger,
  noHandleSignals: true,
  maxPoolSize: 8,
  preset: {
    worker: {
      connectionString: url,
      concurrentJobs: 24,
      pollInterval: 2000,
      localQueue: { size: 500, refetchDelay: { durationMs: 0 } },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
  taskList: {
    noop: () => {
      if (++done === count) finished();
    },
  },
});
await all;
await runner.stop();
console.log(Math.round((count * 1e9) / Number(process.hrtime.bigint() - start)));
await utils.release();
process.exit(0);
