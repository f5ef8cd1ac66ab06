/** `GET /metrics`: the engine's counters in Prometheus' text format. */
import type { GeneratorCounts } from '../rollout/index.js'

interface ServerCounts {
  /** By `path status`. */
  answered: ReadonlyMap<string, number>
  active: number
  /** Upper bound of the memory of requests in flight. */
  bytes: number
}

export function metricsText(engine: GeneratorCounts, server: ServerCounts): string {
  const lines: string[] = []
  const metric = (
    name: string,
    type: 'gauge' | 'counter',
    help: string,
    values: readonly [labels: string, value: number][],
  ) => {
    lines.push(`# HELP whetstone_${name} ${help}`, `# TYPE whetstone_${name} ${type}`)
    for (const [labels, value] of values) lines.push(`whetstone_${name}${labels} ${value}`)
  }
  const one =
    (type: 'gauge' | 'counter') =>
    (name: string, help: string, value: number | undefined): void => {
      // Some engines do not have all counters.
      if (value !== undefined) metric(name, type, help, [['', value]])
    }
  const gauge = one('gauge')
  const counter = one('counter')
  const { blocks, usedBlocks } = engine
  gauge('sequences_running', 'Sequences that generate.', engine.running)
  gauge('sequences_waiting', 'Sequences that wait for a slot or for memory.', engine.waiting)
  if (blocks !== undefined && usedBlocks !== undefined)
    gauge('kv_cache_usage_ratio', 'Share of the KV cache in use.', blocks === 0 ? 0 : usedBlocks / blocks)
  counter('preemptions_total', 'Sequences that gave their memory to others.', engine.preemptions)
  counter('prompt_tokens_total', 'Prompt tokens computed.', engine.promptTokens)
  counter('generated_tokens_total', 'Tokens generated.', engine.generatedTokens)
  counter('steps_total', 'Engine steps.', engine.steps)
  gauge('http_requests_active', 'HTTP requests being answered.', server.active)
  gauge('http_requests_bytes', 'What the requests being answered may come to hold.', server.bytes)
  metric(
    'http_requests_total',
    'counter',
    'HTTP requests answered, by path and status.',
    [...server.answered].map(([key, value]) => {
      const [path, status] = key.split(' ')
      return [`{path="${path}",status="${status}"}`, value]
    }),
  )
  return `${lines.join('\n')}\n`
}
