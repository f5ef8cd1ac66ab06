import { cpSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { IndexAnswers } from '../../src/dashboard/samples/answers.js'
import { askSamples, type SampleQuestion } from '../../src/dashboard/samples/query.js'
import { SampleIndex } from '../../src/dashboard/samples/sample-index.js'
import { searchTexts } from '../../src/dashboard/samples/search.js'
import { SampleStore } from '../../src/dashboard/samples/store.js'
import { Run } from '../../src/run/index.js'
import { temporaryDirectory } from '../support/files.js'
import { identity } from '../support/run.js'

const tokenizer = fileURLToPath(new URL('../fixtures/tokenizer', import.meta.url))
const rl = identity({ algorithm: 'grpo' }, { command: 'rl' })

/** A run without a model: its journal is all that the index reads. */
async function startRun(): Promise<{ directory: string; run: Run }> {
  const directory = join(temporaryDirectory(), 'run')
  const run = await Run.create(directory, rl)
  cpSync(tokenizer, join(directory, 'tokenizer'), { recursive: true })
  return { directory, run }
}

/** An iteration of two samples with the same reward. */
async function iterate(run: Run, iteration: number, reward: number, length = 4): Promise<void> {
  const promptIds = Int32Array.of(20, 21, 22 + (iteration % 100))
  const promptId = `row${iteration}/0`
  await run.journal.append(iteration, { kind: 'prompt', promptId, ids: promptIds })
  const rewards = []
  for (const sample of [0, 1]) {
    const responseIds = Int32Array.from({ length }, (_, i) => 30 + (i % 4) + sample)
    await run.journal.append(iteration, {
      ...{ kind: 'outcome', promptId, sample, of: 'completed', requestId: 'r', seed: 1, promptIds, responseIds },
      ...{ finishReason: 'stop', logprobs: { raw: new Float32Array(length).fill(-1) }, policyVersion: 0, versions: [] },
      timings: { startedMs: 0, finishedMs: 1, preemptions: 0 },
    })
    rewards.push({ promptId, sample, outcome: { kind: 'scored', reward, components: {}, metrics: {} } })
  }
  await run.journal.append(iteration, { kind: 'rewards', rewards })
  const samples = rewards.map(one => ({ promptId, sample: one.sample, given: '', derived: '' }))
  await run.journal.append(iteration, { kind: 'rollout', samples, klCoef: 0 })
  await run.journal.append(iteration, { kind: 'end' })
}

const question: SampleQuestion = {
  ...{ where: '', search: '', sort: 'iteration', order: 'ascending', offset: 0, limit: 1000 },
  ...{ searchMs: 1000, flags: new Map() },
}

async function rewardsOf(index: SampleIndex): Promise<(number | null)[]> {
  await index.refresh()
  expect(index.progress.problem).toBeNull()
  const { rows } = await askSamples(index, question)
  return rows.filter(({ sample }) => sample === 0).map(({ reward }) => reward)
}

/** Looks at a run as a new process does. */
async function lookedAt(directory: string): Promise<{ rewards: (number | null)[]; sealed: number[] }> {
  const index = await SampleIndex.open(directory)
  const rewards = await rewardsOf(index)
  const sealed = [...index.store.sealed.keys()]
  await index.close()
  return { rewards, sealed }
}

const checked = (directory: string): string => readFileSync(join(directory, 'index/samples/checked'), 'utf8').trim()

test('iterations of any size are indexed in their order', async () => {
  const { directory, run } = await startRun()
  // The journal of a long one has 10 MB: it is read alone, and written to the index by itself.
  for (const [iteration, length] of [4, 500_000, 4, 4, 500_000, 4].entries())
    await iterate(run, iteration, iteration, length)
  await run.close('finished')
  const index = await SampleIndex.open(directory)
  await index.refresh()
  const { rows } = await askSamples(index, question)
  expect(rows.map(({ iteration, length }) => [iteration, length])).toEqual(
    [4, 500_000, 4, 4, 500_000, 4].flatMap((length, iteration) => [
      [iteration, length],
      [iteration, length],
    ]),
  )
  await index.close()
  expect(await lookedAt(directory)).toEqual({ rewards: [0, 1, 2, 3, 4, 5], sealed: [0, 1, 2, 3, 4, 5] })
})

test('an index holds all of a finished run, and of others what cannot change any more', async () => {
  const { directory, run } = await startRun()
  for (let iteration = 0; iteration < 5; iteration++) await iterate(run, iteration, iteration)
  await run.flush()
  const live = await SampleIndex.open(directory)
  // Who asks before the journal was looked at asks again.
  expect(live.progress.state).toBe('building')
  expect(await rewardsOf(live)).toEqual([0, 1, 2, 3, 4])
  expect([...live.store.sealed.keys()]).toEqual([0, 1, 2])
  expect(existsSync(join(directory, 'index/samples/checked'))).toBe(false)
  // A file that comes within the same tick of the clock is found.
  await iterate(run, 5, 5)
  expect(await rewardsOf(live)).toEqual([0, 1, 2, 3, 4, 5])
  await run.close('stopped')
  expect(await rewardsOf(live)).toEqual([0, 1, 2, 3, 4, 5])
  expect([...live.store.sealed.keys()]).toEqual([0, 1, 2, 3, 4])
  await live.close()
  expect(checked(directory)).toBe('1')
  const resumed = await Run.resume(directory, rl)
  await resumed.close('finished')
  expect(await lookedAt(directory)).toEqual({ rewards: [0, 1, 2, 3, 4, 5], sealed: [0, 1, 2, 3, 4, 5] })
  expect(checked(directory)).toBe('2')
})

test('iterations that a resumed run wrote again are read again, whoever looks and when', async () => {
  const { directory, run } = await startRun()
  for (let iteration = 0; iteration < 8; iteration++) await iterate(run, iteration, iteration)
  await run.close('stopped')
  const open = await SampleIndex.open(directory)
  expect(await rewardsOf(open)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  const again = await Run.resume(directory, rl)
  await again.journal.discardFrom(3)
  for (let iteration = 3; iteration < 6; iteration++) await iterate(again, iteration, 10 + iteration)
  await again.flush()
  expect(await rewardsOf(open)).toEqual([0, 1, 2, 13, 14, 15])
  // What is sealed changes while the run goes on: that is found when it is over.
  await again.journal.discardFrom(1)
  for (let iteration = 1; iteration < 6; iteration++) await iterate(again, iteration, 100 + iteration)
  await again.close('stopped')
  expect(await rewardsOf(open)).toEqual([0, 101, 102, 103, 104, 105])
  await open.close()
  expect((await lookedAt(directory)).rewards).toEqual([0, 101, 102, 103, 104, 105])
  // Nobody looks while it is resumed.
  const third = await Run.resume(directory, rl)
  await third.journal.discardFrom(2)
  for (let iteration = 2; iteration < 4; iteration++) await iterate(third, iteration, 1000 + iteration)
  await third.close('finished')
  expect(checked(directory)).toBe('2')
  expect((await lookedAt(directory)).rewards).toEqual([0, 101, 1002, 1003])
  expect(checked(directory)).toBe('3')
  // A file that says nothing is not believed.
  writeFileSync(join(directory, 'index/samples/checked'), 'rubbish')
  expect((await lookedAt(directory)).rewards).toEqual([0, 101, 1002, 1003])
  expect(checked(directory)).toBe('3')
})

test('a run that samples nothing has no index, and one without samples yet is ready', async () => {
  const [rows, samples] = [join(temporaryDirectory(), 'rows'), join(temporaryDirectory(), 'samples')]
  await (await Run.create(rows, identity({}, { command: 'sft' }))).close('finished')
  await (await Run.create(samples, rl)).close('finished')
  for (const [directory, state] of [
    [rows, 'none'],
    [samples, 'ready'],
  ] as const) {
    const index = await SampleIndex.open(directory)
    await index.refresh()
    expect(index.progress).toMatchObject({ state, samples: 0, problem: null })
    await index.close()
  }
})

test('a tokenizer that is not there yet is asked for again', async () => {
  const { directory, run } = await startRun()
  await iterate(run, 0, 1)
  await run.close('finished')
  renameSync(join(directory, 'tokenizer'), join(directory, 'elsewhere'))
  const index = await SampleIndex.open(directory)
  await index.refresh()
  expect(index.progress.problem).toMatch(/tokenizer/)
  renameSync(join(directory, 'elsewhere'), join(directory, 'tokenizer'))
  expect(await rewardsOf(index)).toEqual([1])
  await index.close()
})

test('questions are answered whole while the rows of iterations in progress change', async () => {
  const { directory, run } = await startRun()
  await iterate(run, 0, 0)
  await run.flush()
  const index = await SampleIndex.open(directory)
  await index.refresh()
  const answers = new IndexAnswers(index)
  let least = 2
  for (let iteration = 1; iteration < 30; iteration++) {
    await iterate(run, iteration, iteration)
    // Each of them is in the middle of its rows when the others have changed them.
    const asked = Array.from({ length: 6 }, async (_, i) => {
      if (i % 2 === 0) await index.refresh()
      return await answers.answer('samples', question)
    })
    for (const { rows } of await Promise.all(asked)) {
      expect(rows.map(row => `${row.promptId} ${row.sample} ${row.reward}`)).toEqual(
        rows.map((_, i) => `row${i >> 1}/0 ${i % 2} ${i >> 1}`),
      )
      expect(rows.length).toBeGreaterThanOrEqual(least)
    }
    least = 2 * iteration
  }
  expect(await rewardsOf(index)).toHaveLength(30)
  await answers.close()
  await run.close('finished')
})

test('a search finds what a look at every text finds', async () => {
  const directory = temporaryDirectory()
  const store = await SampleStore.open(directory)
  const words = ['Größe', 'zwölf', 'x', 'alpha beta', 'ALPHA', 'ß', '日本', 'needle', '\u{1F600}']
  const texts: { promptId: string; prompt: string; response: string }[] = []
  const row = { sample: 0, prompt: 0, reward: 0, components: {}, length: 0, promptLength: 0, kl: 0, entropy: 0, gap: 0 }
  let state = 7
  const next = (below: number): number => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >> 8) % below
  }
  // More than two of the blocks that are read at once, with empty texts and long ones.
  for (let i = 0; i < 400; i++) {
    const group = i - (i % 4)
    const filler = '.'.repeat(next(2) === 0 ? next(30) : next(140_000))
    const response = i % 11 === 0 ? '' : `${words[next(words.length)]}${filler}${words[next(words.length)]}`
    const prompt = group % 3 === 0 ? '' : `${words[(group / 4) % words.length]}${'-'.repeat(group * 20)}`
    const text = { promptId: `p${group}`, prompt, response }
    texts.push(text)
    const place = {
      iteration: 0,
      sample: i % 4,
      prompt: group,
      finish: 0,
      dropped: 0,
      trained: 1,
      foldAt: 0,
      foldBytes: 0,
    }
    store.add({ ...row, ...place }, { ...text, prompt: Buffer.from(prompt), response: Buffer.from(response) })
  }
  store.seal({ iteration: 0, size: 1 })
  await store.save()
  expect(store.foldedBytes).toBeGreaterThan(9 << 20)
  for (const needle of [...words, 'a', '.', '-', 'e', 'beta', 'not there', 'x....', '....x', 'ße']) {
    const matches = new Uint8Array(store.stored)
    const { columns, foldedFile: file, foldedBytes: bytes, stored: rows } = store
    const deadline = Number.POSITIVE_INFINITY
    expect(await searchTexts({ columns, rows, file, bytes, needle, deadline }, matches)).toBe(true)
    const low = needle.toLowerCase()
    const expected = texts.map(one => Number([one.prompt, one.response].some(text => text.toLowerCase().includes(low))))
    expect(Array.from(matches), needle).toEqual(expected)
  }
  await store.close()
})
