/** Every command of training as it is typed, on a model of 35 thousand parameters: one after another, each on what the last one made. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test, vi } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Ended, runWhetstone, startWhetstone } from '../support/child.js'
import { temporaryDirectory } from '../support/files.js'

const tokenizer = fileURLToPath(new URL('../fixtures/tokenizer', import.meta.url))
// Twenty processes, each of which loads libtorch.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })
const folder = temporaryDirectory()
const run = (args: readonly string[]): Promise<Ended> => runWhetstone(args, { cwd: folder })
const begin = (args: readonly string[]) => startWhetstone(args, { cwd: folder })
const at = (...names: string[]): string => join(folder, ...names)
const lines = (name: string, rows: readonly object[]): void =>
  writeFileSync(at(name), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
const config = (name: string, values: object): void => writeFileSync(at(name), stringify(values))
const weights = (...names: string[]): string =>
  createHash('sha256')
    .update(readFileSync(at(...names, 'model.safetensors')))
    .digest('hex')

const sums = Array.from({ length: 40 }, (_, i) => ({ question: `What is ${i} + 1?`, answer: String(i + 1) }))

beforeAll(async () => {
  const shape = '--hidden 32 --intermediate 48 --layers 2 --heads 4 --kv-heads 2 --context 256'.split(' ')
  const args = ['--family', 'qwen2', ...shape, '--tokenizer', tokenizer, '--out', 'model']
  expect(await run(['init', ...args])).toMatchObject({ code: 0 })
  const turns = ({ question, answer }: (typeof sums)[number]) => [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ]
  lines(
    'conversations.jsonl',
    sums.map(one => ({ messages: turns(one) })),
  )
  lines(
    'preferences.jsonl',
    sums.map(({ question, answer }) => ({ prompt: question, chosen: answer, rejected: 'I do not know' })),
  )
  lines(
    'prompts.jsonl',
    sums.slice(0, 16).map(({ question, answer }) => ({ prompt: question, reference: answer })),
  )
  const shared = { model: 'model', device: 'cpu', batchSize: 8, epochs: 2 }
  const sft = { ...shared, data: 'conversations.jsonl', output: 'runs/sft', epochs: 8, validationShare: 0.2 }
  config('sft.yaml', { ...sft, optimizer: { lr: 0.003, schedule: 'cosine' } })
  config('reward.yaml', { ...shared, data: 'preferences.jsonl', output: 'runs/reward', optimizer: { lr: 0.003 } })
  config('dpo.yaml', { ...shared, data: 'preferences.jsonl', output: 'runs/dpo', optimizer: { lr: 0.001 } })
  config('rl.yaml', {
    ...{
      model: 'runs/sft/final_model',
      device: 'cpu',
      data: 'prompts.jsonl',
      rewards: 'rewards.yaml',
      output: 'runs/rl',
    },
    ...{ iterations: 12, rolloutBatchSize: 4, nSamplesPerPrompt: 4, maxNewTokens: 8, optimizer: { lr: 0.001 } },
  })
})

/** Runs a command until a text is in its log, and interrupts it once. Answers with the line that it says goes on. */
async function interrupted(args: readonly string[], after: string): Promise<{ stopped: Ended; line: string[] }> {
  const child = begin(args)
  await child.waitFor(new RegExp(after))
  const stopped = await child.kill('SIGINT')
  const line = stopped.stderr.match(/^ {2}whetstone (.* --resume)$/m)?.[1]
  expect(line, stopped.stderr).toBeDefined()
  return { stopped, line: line!.split(' ') }
}

test('--dry-run checks everything, prints every option with where it came from, and makes nothing', async () => {
  const args = ['sft', '--config', 'sft.yaml', '--set', 'optimizer.lr=0.01', '--dry-run']
  const { code, stdout, stderr } = await run(args)
  expect(stderr).toMatch(/^data: 40 rows in .*conversations\.jsonl \(messages 40\)$/m)
  expect(stderr).toMatch(/^ {2}\d+ examples to train on, \d+ held out$/m)
  expect(stderr).toMatch(/^ {2}the model +\d{2},\d{3} +0\.\d MB/m)
  expect(stderr).toContain('All checks passed.')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ {2}lr: 0\.01 +# --set$/m)
  expect(stdout).toMatch(/^ {2}schedule: cosine +# sft\.yaml$/m)
  expect(stdout).toMatch(/^seed: 0 +# default$/m)
  expect(parse(stdout)).toMatchObject({ model: at('model'), data: at('conversations.jsonl'), epochs: 8 })
  expect(existsSync(at('runs'))).toBe(false)
  // What is printed is a config itself.
  writeFileSync(at('printed.yaml'), stdout)
  const again = await run(['sft', '--config', 'printed.yaml', '--dry-run'])
  expect(parse(again.stdout)).toEqual(parse(stdout))
})

test('sft trains, says where the model is, and can be replayed; Ctrl-C and --resume end at the same weights', async () => {
  const whole = await run(['sft', '--config', 'sft.yaml'])
  expect(whole.stderr).toMatch(/^ {2}sft \d+\/\d+ {2}loss [\d.]+ /m)
  expect(whole.stderr).toMatch(/^ +first +last +best$/m)
  expect(whole.stderr).toContain(`${at('runs/sft/final_model')}: the model after`)
  expect(whole.stderr).toContain(`whetstone chat --model ${at('runs/sft/best_model')}`)
  expect(whole.code).toBe(0)
  expect(readdirSync(at('runs/sft')).sort()).toEqual(
    expect.arrayContaining(['best_model', 'checkpoints', 'config.json', 'final_model', 'journal', 'logs', 'tokenizer']),
  )

  const args = ['sft', '--config', 'sft.yaml', '--set', 'output=runs/stopped']
  const { stopped, line } = await interrupted(args, '  training')
  expect(stopped.code).toBe(130)
  expect(stopped.stderr).toContain('Finishing this step, then saving. A second Ctrl-C stops at once')
  expect(stopped.stderr).toContain(`The training is saved in ${at('runs/stopped')}`)
  expect(existsSync(at('runs/stopped/final_model'))).toBe(false)
  const resumed = await run(line)
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(weights('runs/stopped/final_model')).toBe(weights('runs/sft/final_model'))
  expect(weights('runs/stopped/best_model')).toBe(weights('runs/sft/best_model'))

  const replayed = await run(['replay', 'runs/stopped'])
  expect(replayed.stdout).toMatch(
    /^runs\/stopped: \d+ batches of \d+ rows recomputed, all equal to the training batches\n$/,
  )
  expect(replayed.code).toBe(0)
})

test('a run that is there is not begun again, and one that is not there is begun by a resume', async () => {
  const again = await run(['sft', '--config', 'sft.yaml'])
  expect(again).toMatchObject({ code: 1, stdout: '' })
  expect(again.stderr).toContain(
    `whetstone: sft.yaml: output: ${at('runs/sft')} already has a run\nResume it with --resume`,
  )
  const none = await run(['sft', '--config', 'sft.yaml', '--set', 'output=runs/none', '--resume'])
  expect(none.stderr).toContain(`${at('runs/none')} has no run yet: starting a new run.`)
  expect(none.code).toBe(0)
  expect(existsSync(at('runs/none/final_model/model.safetensors'))).toBe(true)
  const changed = await run(['sft', '--config', 'sft.yaml', '--resume', '--set', 'batchSize=4'])
  expect(changed.stderr).toContain('batchSize: was 8, is now 4')
  expect(changed.stderr).toContain('--allow-change batchSize')
  expect(changed.code).toBe(1)
})

test('reward train makes a model that a file of rewards names as the command says', async () => {
  const { code, stderr } = await run(['reward', 'train', '--config', 'reward.yaml'])
  expect(stderr).toMatch(/^ {2}reward \d+\/\d+ /m)
  expect(code, stderr).toBe(0)
  const directory = stderr.match(/^ {2}whetstone grpo --rewards (\S+) /m)?.[1]
  expect(directory).toBe(at('runs/reward/final_model'))
  writeFileSync(at('rewards.yaml'), `sources: { quality: { type: model, path: ${directory} } }\n`)
})

test('rl trains by it, stops, goes on to the same weights, and is replayed without the model', async () => {
  const dry = await run(['rl', '--config', 'rl.yaml', '--dry-run'])
  expect(dry.stderr).toContain('grpo sets advantageEstimator group_norm')
  expect(dry.stderr).toMatch(/^ {2}the reference +/m)
  expect(dry.stderr).toMatch(/^ {2}reward quality +/m)
  expect(dry.stderr).toMatch(/^ {2}keys and values +/m)
  expect(dry.stdout).toMatch(/^useKlLoss: true +# preset grpo$/m)

  const whole = await run(['rl', '--config', 'rl.yaml'])
  expect(whole.stderr).toMatch(
    /^ {2}grpo \d+\/12 {2}reward -?[\d.e-]+ {2}KL [\d.e-]+ {2}length [\d.]+ {2}[\d,]+ tokens\/s/m,
  )
  expect(whole.code, whole.stderr).toBe(0)
  const { stopped, line } = await interrupted(['rl', '--config', 'rl.yaml', '--set', 'output=runs/rl2'], '  updating')
  const resumed = await run(line)
  expect(stopped.code).toBe(130)
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(weights('runs/rl2/final_model')).toBe(weights('runs/rl/final_model'))

  const replayed = await run(['replay', 'runs/rl2'])
  expect(replayed.stdout).toBe(
    'runs/rl2: 12 iterations, 192 samples and 12 optimiser steps recomputed, all equal to the training batches\n',
  )
  expect(replayed.code).toBe(0)
})

test('dpo trains on pairs', async () => {
  const { code, stderr } = await run(['dpo', '--config', 'dpo.yaml'])
  expect(stderr).toMatch(/^ {2}preference \d+\/\d+ {2}loss [\d.]+ {2}preference margin /m)
  expect(code, stderr).toBe(0)
  expect(existsSync(at('runs/dpo/final_model/model.safetensors'))).toBe(true)
})

test('replay exits with 1 and names what is not as it was: a row, a sample', async () => {
  const rows = readFileSync(at('preferences.jsonl'), 'utf8').split('\n')
  lines(
    'preferences.jsonl',
    rows.filter(Boolean).map((row, i) => ({ ...JSON.parse(row), ...(i === 7 ? { chosen: 'another' } : {}) })),
  )
  const changed = await run(['replay', 'runs/dpo'])
  expect(changed.stderr).toContain(`${at('preferences.jsonl')} has changed since the run started`)
  expect(changed.stderr).toMatch(/^step \d+, row \S+ \(.*preferences\.jsonl:8\): /m)
  expect(changed.code).toBe(1)

  const [first] = readdirSync(at('runs/rl/journal')).sort()
  const file = at('runs/rl/journal', first!)
  const text = readFileSync(file, 'utf8')
  const flipped = text.replace(
    /"reward":(-?\d+\.\d*?)(\d)([,}])/,
    (_, head, digit, tail) => `"reward":${head}${(Number(digit) + 1) % 10}${tail}`,
  )
  expect(flipped).not.toBe(text)
  writeFileSync(file, flipped)
  const torn = await run(['replay', 'runs/rl'])
  expect(torn.stderr).toMatch(/sample/)
  expect(torn.code).toBe(1)
})

test('replay exits with 1 where something that was trained on was not compared', async () => {
  rmSync(at('runs/rl2/journal'), { recursive: true })
  const rollouts = await run(['replay', 'runs/rl2'])
  expect(rollouts.stderr).toContain('iteration 0: not compared, its batch is missing in the journal')
  expect(rollouts.stdout).toContain('0 iterations, 0 samples and 0 optimiser steps')
  expect(rollouts.stdout).toContain('not everything could be compared')
  expect(rollouts.code).toBe(1)
  rmSync(at('runs/stopped/journal'), { recursive: true })
  const rows = await run(['replay', 'runs/stopped'])
  expect(rows.stderr).toMatch(/^steps 1 to \d+: not compared, the journal has no record of them$/m)
  expect(rows.code).toBe(1)
})

test('a second Ctrl-C stops at once', async () => {
  // One step over all of this takes longer than anybody waits.
  const sources = JSON.stringify({ path: at('conversations.jsonl'), weight: 1000 })
  const args = ['sft', '--config', 'sft.yaml', '--set', `data=${sources}`, '--set', 'batchSize=40000']
  const began = performance.now()
  const child = begin([...args, '--set', 'output=runs/slow', '--set', 'validationShare=0'])
  await vi.waitUntil(() => existsSync(at('runs/slow/config.json')), { timeout: 60_000, interval: 20 })
  child.process.kill('SIGINT')
  await child.waitFor(/Finishing this step/)
  const { code, stderr } = await child.kill('SIGINT')
  // Killed, not ended.
  expect(code).toBeNull()
  expect(stderr).not.toContain('Interrupted')
  expect(performance.now() - began).toBeLessThan(20_000)
})

test.each([['--dry-run'], []])('Ctrl-C while a reward is loaded that never ends: rl %s', async (...flags) => {
  rmSync(at('loading'), { force: true })
  const code = `import { writeFileSync } from 'node:fs'
writeFileSync(${JSON.stringify(at('loading'))}, '')
await new Promise(() => setInterval(() => {}, 1000))
export default () => 1
`
  writeFileSync(at('never.ts'), code)
  const args = [
    'rl',
    '--config',
    'rl.yaml',
    '--set',
    'rewards=never.ts',
    '--set',
    'model=model',
    '--set',
    'output=runs/never',
  ]
  const child = begin([...args, ...flags])
  await vi.waitUntil(() => existsSync(at('loading')), { timeout: 60_000, interval: 20 })
  const sent = performance.now()
  const ran = await child.kill('SIGINT')
  expect(ran).toMatchObject({ code: 130, stderr: expect.stringContaining('Interrupted. Nothing was written.') })
  // At once; the time is that of a machine with much else to do.
  expect(performance.now() - sent).toBeLessThan(5000)
  expect(existsSync(at('runs/never'))).toBe(false)
})

test('schema prints what editors complete with', async () => {
  const { code, stdout } = await run(['schema', 'rl'])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ title: 'whetstone rl', additionalProperties: false })
  const wrong = await run(['schema', 'rll'])
  expect(wrong.stderr).toContain(
    'there is no config "rll"; expected one of sft, reward, rl, dpo, experience, pipeline; did you mean rl?',
  )
  expect(wrong.code).toBe(2)
})
