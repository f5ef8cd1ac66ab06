/** `GET /metrics`: the engine's counters in Prometheus' text format. */
import type { EngineCounts } from '../rollout/index.js'

export interface ServerCounts {
  requests: ReadonlyMap<string, number>
  active: number
}

export function metricsText(engine: EngineCounts, server: ServerCounts): string {
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
  const gauge = (name: string, help: string, value: number) => metric(name, 'gauge', help, [['', value]])
  const counter = (name: string, help: string, value: number) => metric(name, 'counter', help, [['', value]])
  gauge('sequences_running', 'Sequences that generate.', engine.running)
  gauge('sequences_waiting', 'Sequences that wait for a slot or for memory.', engine.waiting)
  gauge(
    'kv_cache_usage_ratio',
    'Share of the KV cache in use.',
    engine.blocks === 0 ? 0 : engine.usedBlocks / engine.blocks,
  )
  counter('preemptions_total', 'Sequences that gave their memory to others.', engine.preemptions)
  counter('prompt_tokens_total', 'Prompt tokens computed.', engine.promptTokens)
  counter('generated_tokens_total', 'Tokens generated.', engine.generatedTokens)
  counter('steps_total', 'Engine steps.', engine.steps)
  gauge('http_requests_active', 'HTTP requests being answered.', server.active)
  metric(
    'http_requests_total',
    'counter',
    'HTTP requests answered, by path and status.',
    [...server.requests].map(([key, value]) => {
      const [path, status] = key.split(' ')
      return [`{path="${path}",status="${status}"}`, value]
    }),
  )
  return `${lines.join('\n')}\n`
}
