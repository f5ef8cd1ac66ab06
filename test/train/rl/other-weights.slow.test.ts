/** Servers whose samples are not the policy's: found at the first proof, or by the gap of the first samples that they give. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Outcome, Sample } from '../../../src/rollout/index.js'
import { openEngine } from '../../../src/rollout/index.js'
import { ModelServer } from '../../../src/serve/index.js'
import { engineGap } from '../../../src/train/rl/engine-gap.js'
import { atEnd } from '../../support/at-end.js'
import { fresh } from '../../support/files.js'
import {
  configOf,
  finalWeights,
  journalFiles,
  letterReward,
  metricLines,
  modelDirectory,
  promptFile,
  quickly,
  start,
} from '../../support/rl.js'

const keyVariable = 'WHETSTONE_TEST_GAP_KEY'
const apiKey = 'a-key-of-the-test'
process.env[keyVariable] = apiKey

let model: string
let other: string
const data = promptFile(8)
beforeAll(async () => {
  model = await modelDirectory(1)
  other = await modelDirectory(2)
})

interface Faulty {
  readonly generator: Readonly<Record<string, unknown>>
  /** After how many proofs its log-probabilities are off, and how far. */
  fault: { afterProofs: number; by: number } | undefined
}

/** Our own server in this process; proofs are answered as they should be. */
async function serve(directory: string, { adapters = false } = {}): Promise<Faulty> {
  const weightsRoot = fresh('weights')
  mkdirSync(weightsRoot)
  const opened = await openEngine(directory, adapters ? { adapters: 'exchangeable' } : {})
  const { engine, tokenizer, weights } = opened
  const server = await ModelServer.start({
    ...{ engine, tokenizer, name: 'model', port: 0, apiKey },
    control: { weights, weightsRoot },
  })
  atEnd(async () => {
    await server.close({ graceMs: 0 })
    await opened.close()
  })
  const urls = [`http://127.0.0.1:${server.port}`]
  const faulty: Faulty = {
    generator: { type: 'vllm', urls, apiKeyEnv: keyVariable, weightsDirectory: weightsRoot },
    fault: undefined,
  }
  const generate = engine.generate.bind(engine)
  const shifted = async function* (outcomes: AsyncIterable<Outcome>): AsyncGenerator<Outcome, undefined> {
    for await (const outcome of outcomes) {
      const { fault } = faulty
      if (outcome.kind !== 'completed' || !fault) yield outcome
      else if (outcome.promptLogprobs) {
        fault.afterProofs--
        yield outcome
      } else yield fault.afterProofs > 0 ? outcome : withGap(outcome, fault.by)
    }
    return undefined
  }
  engine.generate = (requests, options) => shifted(generate(requests, options))
  return faulty
}

const withGap = (sample: Sample, by: number): Sample => ({
  ...sample,
  logprobs: Object.fromEntries(
    Object.entries(sample.logprobs).map(([name, values]) => [name, values.map((one: number) => one - by)]),
  ),
})

/** One step an iteration: the rollout is not scored before its update. Two: it is. */
const modes = [
  { name: 'one step an iteration', more: {} },
  { name: 'several steps an iteration', more: { trainBatchSize: 4 } },
]

describe.each(modes)('$name', ({ more }) => {
  const options = (generator: unknown, output: string) =>
    quickly({ algorithm: 'grpo', model, data, rewards: letterReward, generator, output, ...more })

  test('the gap in the metrics is the engine’s, not the trainer’s to itself', async () => {
    const server = await serve(model)
    server.fault = { afterProofs: 0, by: 1e-3 }
    const output = fresh('run')
    await start(options(server.generator, output))
    for (const { values } of await metricLines(output)) expect(values['gap/mean']).toBeCloseTo(1e-3, 5)
  })

  test('a gap far above the proof’s stops the run before a weight changes; it resumes to the same bits', async () => {
    const server = await serve(model)
    const sound = fresh('sound')
    await start(options(server.generator, sound))
    const output = fresh('run')
    // One proof before each iteration: from the second on.
    server.fault = { afterProofs: 2, by: 0.47 }
    const run = start(options(server.generator, output))
    await expect(run).rejects.toThrow(
      /^iteration 2: log-probabilities of servers and trainer for the same samples differ by 0\.47 .*the limit is 0\.0040/,
    )
    await expect(run).rejects.toMatchObject({ remedy: expect.stringContaining('--resume') })
    expect(await journalFiles(output)).toEqual(['000000.jsonl'])
    expect(await metricLines(output)).toHaveLength(1)
    server.fault = undefined
    expect((await start(options(server.generator, output), { resume: true })).outcome).toBe('finished')
    expect(finalWeights(output).equals(finalWeights(sound))).toBe(true)
  })
})

test('an adapter over other base weights is refused before anything is generated', async () => {
  const server = await serve(other, { adapters: true })
  const output = fresh('run')
  const lora = { rank: 4, alpha: 8 }
  const run = start(
    quickly({ algorithm: 'grpo', model, data, rewards: letterReward, generator: server.generator, output, lora }),
  )
  await expect(run).rejects.toThrow(/the server gives other log-probabilities .*rounding explains at most 0\.0010/)
  await expect(run).rejects.toMatchObject({ remedy: expect.stringContaining('the directory that `model` names') })
  expect(existsSync(join(output, 'journal', '000000.jsonl'))).toBe(false)
})

test('a policy that is nearly certain has a gap of exactly 0: the difference is below the rounding of its log-probabilities', () => {
  /** As both sides compute it: in float32, from logits that differ by their own rounding. */
  const logprob = (lead: number): number => {
    const others = Math.fround(Math.exp(Math.fround(-lead)))
    return Math.fround(-Math.log(Math.fround(1 + Math.fround(20 * others))))
  }
  const own = Float32Array.from({ length: 64 }, (_, i) => logprob(13 + i / 64))
  const engine = Float32Array.from({ length: 64 }, (_, i) => logprob(13 + i / 64 + (i % 2 ? 1e-6 : -1e-6)))
  const config = configOf(quickly({ algorithm: 'grpo', model, data, rewards: letterReward, output: fresh('run') }))
  const sequence = { ids: new Int32Array(64), trained: new Uint8Array(64).fill(1) }
  const sample = { sequence, engineLogprobs: { processed: engine } }
  const gap = engineGap({
    experiences: [sample as unknown as Parameters<typeof engineGap>[0]['experiences'][number]],
    logprobs: [own],
    config,
  })
  expect(own.every(value => value < -1e-5)).toBe(true)
  expect(gap).toMatchObject({ mean: 0, max: 0 })
  expect(gap!.tokens).toBeGreaterThan(60)
  // A form leaves tokens out of the distribution: what is left is not the trainer's.
  const held = { ...config, structured: { kind: 'regex', pattern: '[0-9]+' } as const }
  const experiences = [sample as unknown as Parameters<typeof engineGap>[0]['experiences'][number]]
  expect(engineGap({ experiences, logprobs: [own], config: held })).toBeUndefined()
})
