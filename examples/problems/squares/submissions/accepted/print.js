const n = Number(require('fs').readFileSync(0, 'utf8'));
const out = [];
for (let i = 1; i <= n; i++) out.push(i * i);
console.log(out.join('\n'));
