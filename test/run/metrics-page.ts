/** The page of the docs that lists every metric, made from the table. */
import { metricNames } from '../../src/run/index.js'

const intro = `# Metrics

Every name a run may log: in \`logs/metrics.jsonl\`, in TensorBoard, in \`whetstone plot\`. A name that is not here is refused. \`<...>\` stands for a name of
yours, such as that of a reward, or of the program's, such as a reason or a stage. Shares are from 0 to 1; logarithms are natural. Made from \`src/run/metric-names.ts\`.
`

export function metricsPage(): string {
  const rows = metricNames.map(({ name, unit, meaning }) => `| \`${name}\` | ${unit} | ${meaning} |`)
  return `${intro}\n| metric | unit | |\n| --- | --- | --- |\n${rows.join('\n')}\n`
}
