/** The protocol doubles answer as real servers did: the same requests in the same order, compared with what was recorded. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Exchange, sglang, vllm } from '../../fixtures/engines/exchanges.mjs'
import type { EngineServer } from '../../support/doubles/engine-server.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { writeToyAdapter, writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'

interface Recorded {
  name: string
  status: number
  answer?: unknown
  events?: unknown[]
}

const places = {
  A: writeToyCheckpoint(0),
  B: writeToyCheckpoint(1),
  adapter: writeToyAdapter(2),
  missing: '/nowhere',
}
const placed = (text: string): string =>
  text.replace(/<(A|B|adapter|missing)>/g, (_, name: keyof typeof places) => places[name])

function comparedWithRecorded(type: 'vllm' | 'sglang', exchanges: readonly Exchange[], server: EngineServer): void {
  const url = new URL(`../../fixtures/engines/${type}.json`, import.meta.url)
  const recorded = JSON.parse(readFileSync(url, 'utf8')) as Recorded[]

  describe(`the double of ${type} answers as it does`, () => {
    beforeAll(() => server.start())
    afterAll(() => server.stop())

    test.each(exchanges.map((exchange, i) => [`${i} ${exchange.name}`, exchange, recorded[i]!] as const))(
      '%s',
      async (_, exchange, told) => {
        const { name, method, path, body } = exchange
        expect(told.name).toBe(name)
        const json = { body: placed(JSON.stringify(body ?? null)), headers: { 'content-type': 'application/json' } }
        const answer = await fetch(server.url + path, { method, ...(body === undefined ? {} : json) })
        const text = await answer.text()
        expect(answer.status, text).toBe(told.status)
        if (told.events) {
          const events = text.split('\n\n').filter(Boolean)
          sameShape(
            told.events,
            events.map(event => read(event.slice('data: '.length))),
            'events',
          )
        } else sameShape(told.answer, read(text), 'answer')
      },
    )
  })
}

comparedWithRecorded('vllm', vllm, new VllmServer())
comparedWithRecorded('sglang', sglang, new SglangServer())

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Objects whose keys are ids or names: any two of their values have the same shape. */
const maps = ['prompt_logprobs', 'top_logprobs', 'loaded_adapters']
/** Of the moment: there or not, null or not. */
const fleeting = ['response_sent_to_client_ts', 'cached_tokens_details']
/** In words, which begin the same. */
const words = ['message', 'error', 'detail', 'error_message']

function sameShape(recorded: unknown, actual: unknown, path: string): void {
  const key = path.split('.').at(-1)!
  if (Array.isArray(recorded)) {
    if (!Array.isArray(actual)) expect.fail(`${path} should be a list`)
    expect(actual.length === 0, `${path} is ${actual.length === 0 ? 'empty' : 'not'}`).toBe(recorded.length === 0)
    for (const [i, item] of actual.entries()) sameShape(recorded[Math.min(i, recorded.length - 1)], item, path)
    return
  }
  if (recorded === null || typeof recorded !== 'object') {
    expect(kind(actual), `${path}: ${JSON.stringify(actual)}`).toBe(kind(recorded))
    if (typeof recorded === 'string' && words.includes(key)) expect(actual).toContain(recorded.slice(0, 30))
    return
  }
  if (actual === null || typeof actual !== 'object' || Array.isArray(actual))
    expect.fail(`${path} should be an object, is ${JSON.stringify(actual)}`)
  if (maps.includes(key)) {
    const [first] = Object.values(recorded)
    for (const value of Object.values(actual)) sameShape(first, value, `${path}.*`)
    return
  }
  const fields = (value: object): string[] =>
    Object.keys(value)
      .filter(name => !fleeting.includes(name))
      .sort()
  expect(fields(actual), path).toEqual(fields(recorded))
  for (const name of fields(actual))
    sameShape((recorded as Record<string, unknown>)[name], (actual as Record<string, unknown>)[name], `${path}.${name}`)
}

const kind = (value: unknown): string => (value === null ? 'null' : typeof value)
