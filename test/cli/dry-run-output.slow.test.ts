/** What a dry run says of an output that has a run already: it looks, and changes nothing. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { Run } from '../../src/run/index.js'
import { cli } from '../support/cli.js'
import { fresh, jsonl, written } from '../support/files.js'
import { filesOf } from '../support/pipeline.js'
import { letterReward, promptFile } from '../support/rl.js'
import { modelDirectory } from '../support/tiny-model.js'

let model: string
let data: string
beforeAll(async () => {
  model = await modelDirectory(1)
  data = jsonl(Array.from({ length: 8 }, (_, i) => ({ prompt: `Say ${i}`, completion: String(i) })))
})

const sft = (output: string, ...more: string[]) =>
  cli(['sft', '--model', model, '--data', data, '--output', output, '--max-steps', '2', '--device', 'cpu', ...more])

describe('an output with a run', () => {
  let finished: string
  beforeAll(async () => {
    finished = fresh('run')
    expect((await sft(finished)).code).toBe(0)
  })

  test('that is finished: a new run would be refused, and --resume would go on', async () => {
    const before = filesOf(finished)
    const start = await sft(finished, '--dry-run')
    expect(start.code).toBe(0)
    expect(start.stderr).toContain('has a run of sft (finished, a checkpoint of step 1). This command would refuse')
    expect(start.stderr).not.toContain('All checks passed.')
    const resume = await sft(finished, '--dry-run', '--resume')
    expect(resume.stderr).toContain('This command would resume it, if data and models are those of the run')
    expect(filesOf(finished)).toEqual(before)
  })

  test('of another config: the options that differ are named', async () => {
    const { stderr } = await sft(finished, '--dry-run', '--resume', '--set', 'optimizer.lr=0.5')
    expect(stderr).toMatch(/These options differ from it:\n {2}optimizer\.lr: was \S+, is now 0\.5\n/)
    const args = ['--model', model, '--data', promptFile(2), '--rewards', letterReward, '--output', finished]
    const other = await cli(['grpo', ...args, '--device', 'cpu', '--max-new-tokens', '8', '--dry-run', '--resume'])
    expect(other.stderr).toContain('This command would refuse: it is a run of another training.')
  })

  test('that crashed, or that runs now', async () => {
    const output = fresh('run')
    const identity = { command: 'sft', config: {}, origins: {}, fingerprints: {}, versions: {} } as const
    const run = await Run.create(output, identity)
    expect((await sft(output, '--dry-run', '--resume')).stderr).toContain(
      `Process ${process.pid} is running it: this command would refuse.`,
    )
    await run.close('finished')
    const events = join(output, 'logs', 'events.jsonl')
    const kept = readFileSync(events, 'utf8')
      .split('\n')
      .filter(line => !line.includes('"end"') && line !== '')
    writeFileSync(events, `${kept.join('\n')}\n`)
    expect((await sft(output, '--dry-run')).stderr).toMatch(/has a run of sft \(\w+, no checkpoint\)/)
  })

  test('that has none yet', async () => {
    const output = fresh('run')
    expect((await sft(output, '--dry-run')).stderr).toContain('All checks passed.')
    expect((await sft(output, '--dry-run', '--resume')).stderr).toContain('--resume would start a new one')
  })
})

describe('bad rows are all counted and grouped, and ten are shown', () => {
  const rows = Array.from({ length: 40 }, (_, i) =>
    i % 4 === 0 ? { wrong: i } : { prompt: '', completion: 'x', chosen: 'a', rejected: 'b' },
  )
  const text = rows.map(row => `${JSON.stringify(row)}\n`).join('')
  const packed = fresh('rows.jsonl.gz')
  writeFileSync(packed, gzipSync(text))
  const plain = written('rows.jsonl', text)
  test.each([
    ['sft', []],
    ['dpo', []],
    ['reward train', []],
    ['grpo', ['--rewards', letterReward, '--max-new-tokens', '8']],
    ['experience', ['--rewards', letterReward, '--max-new-tokens', '8', '--advantage-estimator', 'reinforce']],
  ] as const)('%s', async (verb, more) => {
    for (const file of [plain, packed]) {
      const args = ['--model', model, '--data', file, '--output', fresh('out'), '--device', 'cpu', '--dry-run']
      const { code, stderr } = await cli([...verb.split(' '), ...args, ...more])
      expect(code).not.toBe(0)
      expect(stderr).toContain('40 bad rows')
      expect(stderr.match(/rows\.jsonl(\.gz)?:\d+: /g)).toHaveLength(10)
      expect(stderr).toMatch(/and 30 more\nby reason:\n {2}30 prompt: empty\n {2}10 no /)
    }
  })
})
