/** What can go wrong with the files of a run, and what a resume makes of it. */
import { readdirSync, truncateSync } from 'node:fs'
import { appendFile, cp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import { replayRl } from '../../../src/train/rl/index.js'
import { fullDisk } from '../../support/file-faults.js'
import { fresh, written } from '../../support/files.js'
import {
  finalWeights,
  letterReward,
  metricLines,
  modelDirectory,
  promptFile,
  quickly,
  start,
} from '../../support/rl.js'

afterEach(() => vi.restoreAllMocks())

const model = await modelDirectory(6, { layers: 1 })
const data = promptFile(4)
const base = quickly({ model, data, rewards: letterReward, nSamplesPerPrompt: 2, trainBatchSize: 2, saveSteps: 2 })

const whole = fresh('run')
await start({ ...base, output: whole })
const weights = finalWeights(whole)

/** A run that was asked to stop in its second iteration, with three checkpoints' worth of work behind it. */
const stoppedRun = fresh('run')
await start({ ...base, output: stoppedRun, iterations: 1 })
async function stopped(): Promise<string> {
  const output = fresh('run')
  await cp(stoppedRun, output, { recursive: true })
  return output
}

const goOn = (output: string) => start({ ...base, output }, { resume: true })

test('more iterations than before: a finished run goes on, and is the run that had them from the start', async () => {
  const output = await stopped()
  await goOn(output)
  expect(finalWeights(output).equals(weights)).toBe(true)
})

test('a torn last line of the journal: what it held is made again', async () => {
  const output = await stopped()
  // As a process leaves it that is killed in the next iteration.
  const lines = (await readFile(join(whole, 'journal', '000001.jsonl'), 'utf8')).split('\n')
  await writeFile(join(output, 'journal', '000001.jsonl'), `${lines.slice(0, 5).join('\n')}\n${lines[5]!.slice(0, 40)}`)
  await goOn(output)
  expect(finalWeights(output).equals(weights)).toBe(true)
  expect(await replayRl(output)).toMatchObject({ mismatches: [], notCompared: [], updates: 6 })
  const reused = (await metricLines(output)).map(({ values }) => values['samples/reused'])
  expect(reused[1]).toBeGreaterThan(0)
})

test('a checkpoint that was cut short is passed over for the one before', async () => {
  const output = fresh('run')
  await start({ ...base, output, iterations: 2, keepCheckpoints: 5 })
  const [, last] = readdirSync(join(output, 'checkpoints')).sort().slice(-2)
  const file = join(output, 'checkpoints', last!, 'actor', 'weights.safetensors')
  truncateSync(file, Math.floor((await stat(file)).size / 2))
  await start({ ...base, output, keepCheckpoints: 5 }, { resume: true })
  expect(finalWeights(output).equals(weights)).toBe(true)
  expect(await readFile(join(output, 'logs', 'events.jsonl'), 'utf8')).toContain('checkpoint passed over')
})

test('a full disk stops the run with what to do; with space again it goes on to the same weights', async () => {
  const output = await stopped()
  await fullDisk('ENOSPC', 10)
  await expect(goOn(output)).rejects.toThrow(/no space left/)
  vi.restoreAllMocks()
  await goOn(output)
  expect(finalWeights(output).equals(weights)).toBe(true)
})

test('other evaluations and the like leave what was sampled as it is: it is not made again', async () => {
  const output = await stopped()
  await cp(join(whole, 'journal', '000001.jsonl'), join(output, 'journal', '000001.jsonl'))
  await start({ ...base, output, evaluation: { every: 7 }, sampleEvery: 2 }, { resume: true })
  expect(finalWeights(output).equals(weights)).toBe(true)
  const reused = (await metricLines(output)).map(({ values }) => values['samples/reused'])
  expect(reused).toEqual([0, 4, 0])
})

test('another config or dataset is refused with what changed, and taken where it is allowed', async () => {
  const output = await stopped()
  await expect(start({ ...base, output, temperature: 0.7 }, { resume: true })).rejects.toThrow(
    /temperature: was 1, is now 0\.7/,
  )
  await appendFile(data, `${JSON.stringify({ prompt: 'One more:' })}\n`)
  await expect(goOn(output)).rejects.toThrow(/dataset .*prompts\.jsonl: was/)
  const { outcome } = await start(
    { ...base, output, temperature: 0.7 },
    { resume: true, allowChange: ['temperature', 'dataset'] },
  )
  expect(outcome).toBe('finished')
  await writeFile(data, (await readFile(data, 'utf8')).split('\n').slice(0, 4).join('\n').concat('\n'))
})

test('a replay derives each iteration with the options it was trained with', async () => {
  const output = await stopped()
  const given = {
    ...base,
    output,
    rewardClip: 0.01,
    useKlLoss: true,
    klController: { kind: 'fixed', coef: 0.5 },
  }
  await start(given, { resume: true, allowChange: ['rewardClip', 'useKlLoss', 'klController'] })
  expect(await replayRl(output)).toMatchObject({ iterations: 3, mismatches: [], notCompared: [] })
})

test('what was left out is logged once, however often the run is interrupted', async () => {
  const rewards = written(
    'first-fails.mjs',
    `export default ({ sample, response }) => {
  if (sample === 0) throw new Error('never the first')
  return response.length
}
`,
  )
  const rows = ['{"prompt": 7}', ...['a', 'b', 'c', 'd'].map(prompt => JSON.stringify({ prompt }))]
  const given = { ...base, rewards, data: written('rows.jsonl', rows.join('\n')), maxBadRows: 1, iterations: 2 }
  const leftOut = async (output: string): Promise<unknown[]> => {
    const lines = (await readFile(join(output, 'logs', 'skipped.jsonl'), 'utf8')).trimEnd().split('\n')
    return lines.map(line => ({ ...JSON.parse(line), time: undefined }))
  }
  const once = fresh('run')
  await start({ ...given, output: once })
  const expected = await leftOut(once)
  expect(expected.length).toBeGreaterThan(4)

  // In the middle of an iteration, and before anything was saved.
  const output = fresh('run')
  expect((await start({ ...given, output }, { stopAt: 'updating' })).outcome).toBe('stopped')
  await start({ ...given, output }, { resume: true })
  expect(await leftOut(output)).toEqual(expected)
  await rm(join(output, 'checkpoints'), { recursive: true })
  await start({ ...given, output }, { resume: true })
  expect(await leftOut(output)).toEqual(expected)
})

test('a run directory is not started twice', async () => {
  await expect(start({ ...base, output: whole })).rejects.toThrow(/already has a run/)
})

/** One number of one journalled sample, changed, with a checksum that fits. */
async function flip(output: string, change: (record: Record<string, unknown>) => boolean): Promise<void> {
  const file = join(output, 'journal', '000001.jsonl')
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  for (const [i, line] of lines.entries()) {
    const record = JSON.parse(line.slice(line.indexOf('"record":') + 9, -1)) as Record<string, unknown>
    if (!change(record)) continue
    const text = JSON.stringify(record)
    const sum = crc32(text).toString(16).padStart(8, '0')
    lines[i] =
      line.slice(0, line.indexOf('"crc32":') + 8) +
      (line.includes('"crc32":"') ? `"${sum}"` : Number.parseInt(sum, 16)) +
      `,"record":${text}}`
    break
  }
  await writeFile(file, `${lines.join('\n')}\n`)
}

test('a replay needs no model, and names the sample of which a number was changed', async () => {
  const output = fresh('run')
  await cp(whole, output, { recursive: true })
  await rename(model, `${model}-away`)
  try {
    expect(await replayRl(output)).toEqual({ iterations: 3, samples: 12, updates: 6, mismatches: [], notCompared: [] })
    let name = ''
    await flip(output, record => {
      if (record.kind !== 'rewards') return false
      const [first] = record.rewards as { promptId: string; sample: number; outcome: { reward: number } }[]
      first!.outcome.reward += 1e-9
      name = `prompt ${first!.promptId}, sample ${first!.sample}`
      return true
    })
    const { mismatches } = await replayRl(output)
    expect(mismatches[0]).toBe(
      `iteration 1: ${name}: tokens, images, reward, log-probabilities or values differ from the training`,
    )
  } finally {
    await rename(`${model}-away`, model)
  }
})

test('a replay finds a byte that was changed, by its checksum', async () => {
  const output = fresh('run')
  await cp(whole, output, { recursive: true })
  const file = join(output, 'journal', '000000.jsonl')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/"sample":1/, '"sample":3'))
  const { mismatches } = await replayRl(output)
  expect(mismatches).toEqual([
    expect.stringMatching(/iteration 0: .*000000\.jsonl:\d+: the checksum does not match.*sample 3/),
  ])
  await rm(output, { recursive: true })
})
