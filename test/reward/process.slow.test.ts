/** Reward files run in a process of their own: whatever their code does, ours goes on and every sample has an outcome. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { type LoadRewardsOptions, loadRewards, type RewardInput } from '../../src/reward/index.js'
import { answered } from '../support/answered.js'
import { temporaryDirectory } from '../support/files.js'
import { sample, samples } from '../support/reward-samples.js'

const folder = temporaryDirectory()

let count = 0
function file(content: string, name = 'reward.mjs'): string {
  const path = join(folder, `${count++}-${name}`)
  writeFileSync(path, content)
  return path
}

async function open(content: string, options: LoadRewardsOptions = {}) {
  const engine = await loadRewards(file(content), options)
  onTestFinished(() => engine.close())
  return engine
}

const results = async (engine: Awaited<ReturnType<typeof loadRewards>>, inputs: readonly RewardInput[]) =>
  (await engine.compute(inputs)).outcomes.map(outcome =>
    outcome.kind === 'scored' ? outcome.reward : `${outcome.reason}: ${outcome.message}`,
  )

it('runs in another process, which is the same for all calls and ends with the engine', async () => {
  const engine = await open(`export default () => process.pid`)
  const [first, second] = await results(engine, samples(2))
  expect(first).toBe(second)
  expect(first).not.toBe(process.pid)
  expect(() => process.kill(first as number, 0)).not.toThrow()
  await engine.close()
  expect(() => process.kill(first as number, 0)).toThrow()
})

it('sees the whole sample, and changes nothing of ours', async () => {
  const engine = await open(`export default input => {
    const { sequence: { ids }, row, messages, target } = input
    const seen = ids[1] + ids[2] + row.list[0] + messages[0].content.length + target.length
    ids.fill(3); row.list.push(1)
    return { reward: seen, metrics: { ids: ids.length, nothing: NaN } }
  }`)
  const given = sample('four', {
    sequence: answered(Int32Array.of(1, 20), Int32Array.of(300, 5)),
    row: { list: [4000] },
    messages: [{ role: 'user', content: 'Hi' }],
    target: ['a', 'b', 'c'],
  })
  const { outcomes } = await engine.compute([given])
  expect(outcomes).toMatchObject([{ reward: 4325, metrics: { ids: 4 } }])
  expect(given).toMatchObject({
    sequence: { ids: Int32Array.of(1, 20, 300, 5) },
    row: { list: [4000] },
  })
})

it('process.exit is a failure of the sample that called it, and of no other', async () => {
  const engine = await open(`let calls = 0
export default ({ sample }) => {
  if (sample === 3) process.exit(7)
  return ++calls
}`)
  const found = await results(engine, samples(8))
  expect(found[3]).toMatch(/^crashed: the process of the reward ended during the call \(exit code 7\)/)
  // The process that was started again begins anew, with the samples that the other had not got to.
  expect(found.toSpliced(3, 1)).toEqual([1, 2, 3, 1, 2, 3, 4])
})

it('a call that never comes back is ended at its deadline; those behind it are asked again', async () => {
  const source = `import { sampleReward } from 'whetstone/reward'
export default sampleReward(({ sample }) => { if (sample === 1) for (;;); return sample }, { name: 'stuck', deadlineMs: 300 })`
  const engine = await open(source)
  const started = performance.now()
  let turns = 0
  const timer = setInterval(() => turns++, 10)
  const found = await results(engine, samples(6))
  clearInterval(timer)
  expect(found[1]).toMatch(/^timeout: no answer within 0\.3 s \(deadlineMs\)/)
  expect(found.toSpliced(1, 1)).toEqual([0, 2, 3, 4, 5])
  expect(performance.now() - started).toBeLessThan(30_000)
  expect(turns).toBeGreaterThan(10)
})

it('a call that waits for ever harms no other, and costs no process', async () => {
  const source = `import { sampleReward } from 'whetstone/reward'
export default sampleReward(
  ({ sample }) => (sample === 0 ? new Promise(() => {}) : process.pid),
  { name: 'hangs', deadlineMs: 300 },
)`
  const engine = await open(source)
  const found = await results(engine, samples(3))
  expect(found[0]).toMatch(/^timeout: /)
  expect(found[1]).toBe(found[2])
  expect(await results(engine, [sample('x', { sample: 9 })])).toEqual([found[1]])
})

it('an abort reaches the function', async () => {
  const aborted = join(folder, 'aborted')
  const engine = await open(`import { writeFileSync } from 'node:fs'
export default (_, { signal }) =>
  new Promise(resolve => signal.addEventListener('abort', () => { writeFileSync(${JSON.stringify(aborted)}, ''); resolve(1) }))`)
  const stop = new AbortController()
  const computing = engine.compute(samples(2), { signal: stop.signal })
  await sleep(50)
  stop.abort(new Error('enough'))
  await expect(computing).rejects.toThrow('enough')
  expect(engine.counts.reward).toMatchObject({ failures: 2 })
  await vi.waitUntil(() => existsSync(aborted), { timeout: 10_000 })
})

it('a stray rejection is told with its stack, and the reward goes on', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const engine = await open(`export default () => { Promise.reject(new Error('nobody waits')); return 1 }`)
  expect(await results(engine, samples(3))).toEqual([1, 1, 1])
  await vi.waitFor(() => expect(warned).toHaveBeenCalled())
  expect(String(warned.mock.calls[0]![0])).toMatch(/nobody waits[\s\S]*reward\.mjs:1/)
})

it('an error in a timer ends the process with its message, and it is started again', async () => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const engine = await open(`export default ({ sample }) => {
    if (sample !== 0) return sample
    setTimeout(() => { throw new Error('in a timer') })
    return new Promise(() => {})
  }`)
  expect(await results(engine, [sample('x')])).toEqual([expect.stringMatching(/^crashed: .*exit code 1.*in a timer/)])
  expect(await results(engine, [sample('x', { sample: 5 })])).toEqual([5])
})

it('an exception has its name and its place in the file; SourceError keeps its reason', async () => {
  const engine = await open(`import { SourceError } from 'whetstone/reward'
export default ({ sample }) => {
  if (sample === 0) throw new TypeError('what is this')
  if (sample === 1) throw new SourceError('input', 'no answer in the row')
  throw 'a text'
}`)
  expect(await results(engine, samples(3))).toEqual([
    expect.stringMatching(/^threw: TypeError: what is this \(\d+-reward\.mjs:3\)$/),
    'input: no answer in the row',
    'threw: Error: threw a text',
  ])
})

it('what is no reward, or cannot be sent, is a failure', async () => {
  const engine = await open(
    `export default ({ sample }) => [() => 1, Symbol('x'), { reward: 1, metrics: { f() {} } }, 1n, NaN][sample]`,
  )
  const found = await results(engine, samples(5))
  expect(found.map(one => (typeof one === 'string' ? one.split(':')[0] : one))).toEqual([
    'wrong-type',
    'wrong-type',
    1,
    'wrong-type',
    'non-finite',
  ])
})

it('a row that cannot be sent is a failure that says so', async () => {
  const engine = await open(`export default () => 1`)
  const [found] = await results(engine, [sample('x', { row: { f: () => 1 } })])
  expect(found).toMatch(/^input: the sample cannot be sent to the reward's process/)
})

it.each<[string, string, RegExp]>([
  [
    'a top-level await that never ends',
    'await new Promise(() => {})\nexport default () => 1',
    /its top-level await never ends/,
  ],
  ['top-level code that never ends', 'for (;;);', /not loaded within 0\.01 minutes \(rewardPatienceMinutes\)/],
  [
    'an await of something that never comes',
    'await new Promise(r => setTimeout(r, 1e8))',
    /not loaded within 0\.01 minutes/,
  ],
  ['process.exit at the top', 'process.exit(3)', /its process ended during loading \(exit code 3\)/],
  ['an exception', `throw new Error('at load')`, /reward\.mjs: at load \(\d+-reward\.mjs:1\)/],
])('a file with %s is refused', async (_, content, message) => {
  const patienceMinutes = /0\\\.01/.test(message.source) ? 0.01 : 1
  await expect(open(content, { patienceMinutes })).rejects.toThrow(message)
})

it('loading stops with its signal', async () => {
  const stop = new AbortController()
  const opening = open('for (;;);', { signal: stop.signal })
  setTimeout(() => stop.abort(new Error('enough')), 50)
  await expect(opening).rejects.toThrow('enough')
})

it('several processes share the calls', async () => {
  const engine = await open(
    `export default async () => { await new Promise(r => setTimeout(r, 30)); return process.pid }`,
    {
      workers: 3,
    },
  )
  expect(new Set(await results(engine, samples(12))).size).toBe(3)
})

it('an aggregator and its sources stay together in the file', async () => {
  const engine = await open(`import { length, sampleReward } from 'whetstone/reward'
let calls = 0
export default {
  sources: [length({ unit: 'characters', max: 1 }), sampleReward(() => ++calls, { name: 'count' })],
  rewardFn: ([lengths, counts], labels, queries) => {
    if (queries.some(query => query.includes('exit'))) process.exit(2)
    return { rewards: lengths.map((one, i) => one + 10 * counts[i]), metrics: { calls } }
  },
  onRewardFailure: 'drop',
}`)
  expect(await results(engine, [sample('a')])).toEqual([11])
  expect(await results(engine, [sample('exit')])).toEqual([expect.stringMatching(/^crashed: /)])
  expect(await results(engine, [sample('b')])).toEqual([11])
})
