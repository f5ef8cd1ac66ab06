import { readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  chatFields,
  completionFields,
  detokenizeFields,
  generateFields,
  samplingParamsFields,
  tokenizeFields,
} from '../../src/serve/field-tables.js'
import type { FieldTable } from '../../src/serve/request-shape.js'
import { heldMemory } from '../support/held-memory.js'
import { makeWorld, send, until, type World } from '../support/serve.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

let world: World
let port: number
beforeAll(async () => {
  world = await makeWorld()
  port = (await world.serve()).port
})
afterAll(() => world.close())

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    1,
    -1,
    1.5,
    1e-300,
    1e308,
    -(2 ** 53),
    '',
    'x',
    '0x10',
    [],
    {},
    [[]],
    [null],
  ),
  fc.jsonValue({ maxDepth: 3 }),
)
const id = fc.integer({ min: -2, max: 330 })
const ids = fc.array(id, { maxLength: 12 })
const text = fc.string({ maxLength: 40, unit: 'binary' })
const count = fc.constantFrom(0, 1, 2, 5, 20, 21, -1)
const message = fc.record(
  {
    role: fc.constantFrom('user', 'assistant', 'system', 'tool', ''),
    content: fc.oneof(
      text,
      fc.array(fc.record({ type: fc.constantFrom('text', 'image_url'), text }), { maxLength: 3 }),
      odd,
    ),
  },
  { requiredKeys: ['role'] },
)

/** Values that are likely to be taken; any field may also get an odd one. */
const likely: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  model: fc.constantFrom('tiny', 'tiny', 'tiny', 'other'),
  prompt: fc.oneof(text, ids, fc.array(ids, { maxLength: 4 }), fc.array(text, { maxLength: 4 })),
  messages: fc.array(message, { minLength: 1, maxLength: 4 }),
  token_ids: ids,
  tokens: ids,
  n: fc.constantFrom(1, 1, 2, 3),
  temperature: fc.constantFrom(0, 0.5, 1, 2, 1e-5),
  top_p: fc.constantFrom(0.1, 0.9, 1),
  top_k: fc.constantFrom(-1, 0, 1, 5, 1000),
  min_p: fc.constantFrom(0, 0.5, 1),
  seed: fc.integer(),
  stop: fc.oneof(text, fc.array(text, { maxLength: 3 })),
  stop_token_ids: ids,
  logit_bias: fc.dictionary(id.map(String), fc.constantFrom(0, -100, 5)),
  stream_options: fc.record({ include_usage: fc.boolean() }),
  max_tokens: fc.constantFrom(1, 2, 4, 300),
  max_completion_tokens: fc.constantFrom(1, 2),
  logprobs: fc.oneof(count, fc.boolean()),
  truncate_prompt_tokens: fc.constantFrom(-1, 1, 5),
  truncation_side: fc.constantFrom('left', 'right'),
}
const flags = ['stream', 'echo', 'ignore_eos', 'return_token_ids', 'return_tokens_as_token_ids', 'skip_special_tokens']
const counts = ['prompt_logprobs', 'top_logprobs', 'min_tokens']

/** A body: what makes a request whole, which is mostly there, and some of the other fields of the table. */
function bodies(table: FieldTable, needed: readonly string[]): fc.Arbitrary<Record<string, unknown>> {
  const valueFor = (name: string): fc.Arbitrary<unknown> => {
    const good =
      likely[name] ?? (flags.includes(name) ? fc.boolean() : counts.includes(name) ? count : fc.constant(null))
    return fc.oneof({ arbitrary: good, weight: 12 }, { arbitrary: odd, weight: 1 })
  }
  const others = Object.keys(table).filter(name => !needed.includes(name))
  return fc
    .tuple(
      fc.record(Object.fromEntries(needed.map(name => [name, valueFor(name)]))),
      fc
        .subarray(others, { maxLength: Math.min(6, others.length) })
        .chain(names => fc.record(Object.fromEntries(names.map(name => [name, valueFor(name)])))),
      fc.dictionary(fc.constantFrom('temprature', '__proto__', 'x'), odd, { maxKeys: 1 }),
    )
    .map(([whole, some, unknown]) => ({ ...some, ...(Object.keys(some).length > 4 ? unknown : {}), ...whole }))
}

const requests = fc.oneof(
  bodies(completionFields, ['prompt', 'max_tokens']).map(body => ['/v1/completions', body] as const),
  bodies(chatFields, ['messages', 'max_tokens']).map(body => ['/v1/chat/completions', body] as const),
  fc
    .tuple(bodies(generateFields, ['token_ids']), bodies(samplingParamsFields, ['max_tokens']))
    .map(([body, sampling_params]) => ['/inference/v1/generate', { ...body, sampling_params }] as const),
  bodies(tokenizeFields, ['prompt']).map(body => ['/tokenize', body] as const),
  bodies(detokenizeFields, ['tokens']).map(body => ['/detokenize', body] as const),
)

const descriptors = (): number => readdirSync('/proc/self/fd').length

test('2,000 random bodies: an answer or a refusal to each, memory and descriptors flat', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const all = fc.sample(requests, { numRuns: 2000, seed: 15 })
  const statuses = new Map<number, number>()
  const ask = async ([path, body]: (typeof all)[number]): Promise<void> => {
    const { status, text: answer } = await send(port, path, body, { agent })
    const what = `${status} to ${path} ${JSON.stringify(body)}: ${answer}`
    expect([200, 400, 404], what).toContain(status)
    if (status === 200 && answer.startsWith('data: ')) expect(answer.endsWith('data: [DONE]\n\n'), what).toBe(true)
    else expect(() => JSON.parse(answer), what).not.toThrow()
    expect(answer, what).not.toContain('"code":500')
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  const askAll = async (some: typeof all): Promise<void> => {
    let next = 0
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (next < some.length) await ask(some[next++]!)
      }),
    )
    const { counts } = world.opened.engine
    await until(() => counts.running + counts.waiting === 0)
  }
  const held = async () => {
    const { liveTensors } = await heldMemory()
    collect()
    await setImmediate()
    return { liveTensors, descriptors: descriptors(), heap: process.memoryUsage().heapUsed }
  }
  await askAll(all.slice(0, 600))
  const before = await held()
  await askAll(all.slice(600))
  const after = await held()
  // Enough of each kind for the test to mean something.
  expect(statuses.get(200)).toBeGreaterThan(400)
  expect(statuses.get(400)).toBeGreaterThan(400)
  expect(after.liveTensors).toBeLessThanOrEqual(before.liveTensors)
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 2)
  expect(after.heap - before.heap).toBeLessThan(8e6)
  agent.destroy()
  const { text: metrics } = await send(port, '/metrics')
  expect(metrics).toMatch(/^whetstone_http_requests_bytes 0$/m)
  expect(metrics).toMatch(/^whetstone_http_requests_active 1$/m)
})

test('bytes that are no body: nothing but refusals', async () => {
  const raw = fc.sample(fc.uint8Array({ maxLength: 200 }), { numRuns: 200, seed: 15 })
  for (const bytes of raw) {
    const headers = { 'content-type': 'application/json' }
    expect((await send(port, '/v1/completions', Buffer.from(bytes), { headers })).status).toBe(400)
  }
  const before = descriptors()
  await Promise.all(
    raw.slice(0, 50).map(
      bytes =>
        new Promise<void>(resolve => {
          const sent = request({ host: '127.0.0.1', port, path: '/v1/completions', method: 'POST', agent: false })
          sent.on('error', () => resolve())
          sent.on('close', () => resolve())
          sent.write(Buffer.from(bytes))
          setTimeout(() => sent.destroy(), 5)
        }),
    ),
  )
  await until(() => descriptors() <= before + 2)
})
