import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { Run, type RunIdentity } from '../../src/run/index.js'
import { capturedOutput } from '../support/cli.js'
import { decodePng } from '../support/decode-png.js'
import { temporaryDirectory } from '../support/files.js'
import { identity } from '../support/run.js'

const printed = capturedOutput()

async function makeRun(
  directory: string,
  who: RunIdentity,
  values: (step: number) => Record<string, number>,
): Promise<void> {
  const run = await Run.create(directory, who)
  for (let step = 1; step <= 40; step++) run.metrics(step, values(step))
  await run.close('finished')
}

/** Two runs, and a model that is none. */
async function makeRuns(): Promise<string> {
  const parent = temporaryDirectory()
  const data = { fingerprints: { 'a.jsonl': 'aaaa' } }
  await makeRun(join(parent, 'one'), identity({ seed: 1, lr: 1e-3 }, data), step => ({
    'loss/train': 4 / step,
    lr: 1e-3,
  }))
  const rl = identity({ seed: 1, lr: 2e-3, kl: { coef: 0.1 } }, { ...data, command: 'rl' })
  await makeRun(join(parent, 'two'), rl, step => ({ 'reward/mean': step / 40, lr: 2e-3, 'seconds/total': Number.NaN }))
  mkdirSync(join(parent, 'model'))
  writeFileSync(join(parent, 'model/config.json'), '{}')
  return parent
}

test('runs are listed, one by one or by the directory they are in', async () => {
  const parent = await makeRuns()
  expect(await main(['runs', parent])).toBe(0)
  const [head, one, two, ...more] = printed.stdout.trimEnd().split('\n')
  expect(head).toMatch(/^run +command +status +step +result +last word$/)
  expect(one).toMatch(/one +sft +finished +40 +loss\/train 0\.1 +\d+ s ago$/)
  expect(two).toMatch(/two +rl +finished +40 +reward\/mean 1 +\d+ s ago$/)
  expect(more).toEqual([])
  printed.clear()
  const running = await Run.resume(
    join(parent, 'one'),
    identity({ seed: 1, lr: 1e-3 }, { fingerprints: { 'a.jsonl': 'aaaa' } }),
  )
  expect(await main(['runs', join(parent, 'one')])).toBe(0)
  expect(printed.stdout).toContain(' running ')
  await running.close('stopped')
})

test('runs one level deeper are listed too, such as the stages of a pipeline', async () => {
  const parent = await makeRuns()
  mkdirSync(join(parent, 'rlhf'))
  for (const name of ['rlhf/sft', 'rlhf/ppo', '.hidden/three', 'node_modules/four', 'a/b/five'])
    await makeRun(join(parent, name), identity({}), () => ({ 'loss/train': 1 }))
  expect(await main(['runs', parent])).toBe(0)
  const listed = printed.stdout.split('\n').slice(1).filter(Boolean)
  expect(listed.map(line => line.split(' ')[0]!.slice(parent.length + 1)).sort()).toEqual([
    'one',
    'rlhf/ppo',
    'rlhf/sft',
    'two',
  ])
})

test('a journal of another version is refused by runs, replay and resume, and nothing of the run is changed', async () => {
  const parent = await makeRuns()
  const journal = join(parent, 'two/journal/000000.jsonl')
  copyFileSync(fileURLToPath(new URL('../fixtures/journal-1/000000.jsonl', import.meta.url)), journal)
  const config = readFileSync(join(parent, 'two/config.json'))
  const sentence = `${journal} has version 1 of the journal format, and this Whetstone reads and writes version 2`
  for (const command of [
    ['runs', parent],
    ['runs', 'compare', join(parent, 'one'), join(parent, 'two')],
    ['replay', join(parent, 'two')],
  ]) {
    printed.clear()
    expect(await main(command)).toBe(1)
    expect(printed.stderr).toContain(sentence)
    expect(printed.stderr).toContain('with the version of Whetstone that wrote it')
  }
  await expect(Run.resume(join(parent, 'two'), identity({}, { command: 'rl' }))).rejects.toThrow(sentence)
  expect(readFileSync(join(parent, 'two/config.json'))).toEqual(config)
  writeFileSync(journal, readFileSync(journal, 'utf8').replaceAll('{"crc32"', '{"journal":3,"crc32"'))
  await expect((await Run.read(join(parent, 'two'))).journal.read(0)).rejects.toThrow('version 3 of the journal format')
})

test('what cannot be listed is said', async () => {
  const parent = await makeRuns()
  expect(await main(['runs', join(parent, 'none')])).toBe(1)
  expect(printed.stderr).toContain('none: there is no such directory')
  printed.clear()
  expect(await main(['runs', join(parent, 'model')])).toBe(1)
  expect(printed.stderr).toContain('model is not a run and contains no runs')
  printed.clear()
  writeFileSync(join(parent, 'one/config.json'), '{')
  expect(await main(['runs', parent])).toBe(1)
  expect(printed.stderr).toContain('config.json is damaged')
  expect(printed.stdout).toContain('two')
  expect(await main(['runs', '--lsit'])).toBe(2)
})

test('two runs side by side: what was asked differently, and where they ended', async () => {
  const parent = await makeRuns()
  expect(await main(['runs', 'compare', join(parent, 'one'), join(parent, 'two')])).toBe(0)
  expect(printed.stdout).toBe(`               one                     two
run            sft, finished, step 40  rl, finished, step 40
lr             0.001                   0.002
kl             -                       {"coef":0.1}

loss/train     0.1                     -
lr             0.001                   0.002
reward/mean    -                       1
seconds/total  -                       NaN
`)
  expect(await main(['runs', 'compare', join(parent, 'one')])).toBe(2)
  expect(printed.stderr).toContain('compare takes two runs')
})

test('names cannot command the terminal', async () => {
  const parent = temporaryDirectory()
  await makeRun(join(parent, 'a'), identity({ name: '\u001b[2J' }), () => ({ 'drops/\u001b]0;x\u0007': 1 }))
  await makeRun(join(parent, 'b'), identity({ name: 'b' }), () => ({}))
  expect(await main(['runs', 'compare', join(parent, 'a'), join(parent, 'b')])).toBe(0)
  expect(printed.stdout).toContain('?[2J')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(printed.stdout).not.toMatch(/[\u0000-\u0009\u001b]/)
})

test('a panel that would hold rounding noise is left out, and said; a win rate has a line at 0.5', async () => {
  const parent = temporaryDirectory()
  const command = { ...identity({ name: 'a' }), command: 'preference' as const }
  await makeRun(join(parent, 'a'), command, step => ({
    'loss/train': 1 / step,
    'preference/margin': step % 2 === 0 ? 3e-18 : -2e-18,
    'preference/accuracy': 0.6,
    'grad/norm': 0,
  }))
  const svg = join(parent, 'curves.svg')
  expect(await main(['plot', join(parent, 'a'), '--out', svg])).toBe(0)
  const note = 'left out, because it is rounding noise: preference/margin'
  expect(printed.stdout).toBe(`${svg}: loss/train, preference/accuracy, grad/norm\n${note}\n`)
  const text = readFileSync(svg, 'utf8')
  expect(text).toContain(`>${note}</text>`)
  expect(text.match(/stroke-dasharray/g)).toHaveLength(1)
  // Who asks for it gets a flat line.
  expect(await main(['plot', join(parent, 'a'), '--out', svg, '--metrics', 'preference/margin'])).toBe(0)
  expect(readFileSync(svg, 'utf8')).not.toContain('e-1')
  expect(await main(['runs', join(parent, 'a')])).toBe(0)
  expect(await main(['runs', 'compare', join(parent, 'a'), join(parent, 'a')])).toBe(0)
  expect(printed.stdout).not.toMatch(/e-1\d/)
})

test('ticks of values that hardly differ are told apart', async () => {
  const parent = temporaryDirectory()
  await makeRun(join(parent, 'a'), identity({ name: 'a' }), step => ({ 'entropy/mean': 10.78 + step / 1e4 }))
  const svg = join(parent, 'curves.svg')
  expect(await main(['plot', join(parent, 'a'), '--out', svg, '--metrics', 'entropy/mean'])).toBe(0)
  const labels = readFileSync(svg, 'utf8').match(/>10\.78\d+</g)!
  expect(labels.length).toBeGreaterThan(2)
  expect(new Set(labels).size).toBe(labels.length)
})

test('curves become an SVG or a PNG', async () => {
  const parent = await makeRuns()
  const runs = [join(parent, 'one'), join(parent, 'two')]
  const svg = join(parent, 'curves.svg')
  expect(await main(['plot', ...runs, '--out', svg])).toBe(0)
  expect(printed.stdout).toBe(`${svg}: loss/train, lr, reward/mean, seconds/total\n`)
  const text = readFileSync(svg, 'utf8')
  expect(text).toContain('<title>2 runs (sft, rl): loss/train, lr, reward/mean, seconds/total of one, two</title>')
  expect(text).not.toMatch(/NaN|Infinity/)
  // Titles, names of axes, and the last value at the end of each line.
  for (const words of ['2 runs (sft, rl)', 'one', 'two', 'loss/train', 'nats', 'seconds', 'step', '0.002'])
    expect(text).toContain(`>${words}</text>`)
  const png = join(parent, 'curves.PNG')
  expect(await main(['plot', runs[1]!, '--out', png, '--metrics', 'reward/mean, lr'])).toBe(0)
  const { width, height } = decodePng(readFileSync(png))
  expect([width, height]).toEqual([2 * (2 * 420 + 28), 2 * (14 + 26 + 250 + 14)])
})

test.each([
  [['plot'], 'expected a run'],
  [['plot', 'RUN', '--out', 'a.gif'], 'expected a file that ends in .svg or .png, got "a.gif"'],
  [['plot', 'RUN', '--metrics', 'loss/trian'], 'the runs have no "loss/trian"; did you mean loss/train?'],
  [['plot', 'RUN', '--metrics', 'x'], 'the runs have no "x"; they have loss/train, lr'],
  [['plot', 'RUN', '--outt', 'a.svg'], 'did you mean --out?'],
])('%j is misused', async (args, message) => {
  const parent = await makeRuns()
  expect(await main(args.map(arg => (arg === 'RUN' ? join(parent, 'one') : arg)))).toBe(2)
  expect(printed.stderr).toContain(message)
})

test('a directory without a run cannot be drawn', async () => {
  expect(await main(['plot', temporaryDirectory()])).toBe(1)
  expect(printed.stderr).toContain('is not a run: it has no config.json')
})

test('runs sync sends what loggers lack, as docs/trackers.md shows it', async () => {
  const folder = temporaryDirectory()
  const directory = join(folder, 'sft')
  const run = await Run.create(directory, identity({ seed: 1 }), { loggers: [] })
  run.metrics(1, { 'loss/train': 1 })
  await run.close('finished')
  expect(await main(['runs', 'sync', directory])).toBe(0)
  expect(printed.stdout).toContain(`${directory}: tensorboard: has everything`)
  expect(readdirSync(join(directory, 'logs')).filter(name => name.startsWith('events.out'))).toHaveLength(1)
  // It is sent: nothing more happens.
  expect(await main(['runs', 'sync', folder])).toBe(0)
  expect(readdirSync(join(directory, 'logs')).filter(name => name.startsWith('events.out'))).toHaveLength(1)
})
