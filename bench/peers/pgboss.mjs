// pg-boss with bulk insert, and batches of 500 fetched and completed in one call each.
// usage: node pgboss.mjs URL JOBS; prints jobs per second of enqueue + fetch + complete
import { PgBoss } from "pg-boss";

const [url, count] = [process.argv[2], Number(process.argv[3])];
const boss = new PgBoss({ connectionString: url, max: 4, supervise: false, schedule: false });
boss.on("error", () => {});
await boss.start();
await boss.createQueue("noop");
const data = { x: "x".repeat(90) };
const start = process.hrtime.bigint();
for (let left = count; left > 0; left -= 500)
  await boss.insert("noop", Array.from({ length: Math.min(500, left) }, () => ({ data })));

let done = 0;
const work = async () => {
  for (;;) {
    const jobs = await boss.fetch("noop", { batchSize: 500 });
    if (!jobs || jobs.length === 0) return;
    await boss.complete("noop", jobs.map((job) => job.id));
    done += jobs.length;
  }
};
await Promise.all([work(), work()]);
console.log(Math.round((done * 1e9) / Number(process.hrtime.bigint() - start)));
process.exit(0);
