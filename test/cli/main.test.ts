import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { explain } from '../../src/cli/explain.js'
import { main } from '../../src/cli/main.js'
import { kinNames, knownKin, takesLong, verbGroups, verbs } from '../../src/cli/verbs.js'
import { SetupError } from '../../src/setup/errors.js'
import { BridgeMissingError } from '../../src/tensor/errors.js'
import { capturedOutput } from '../support/cli.js'

const printed = capturedOutput()

test('--help lists every verb', async () => {
  expect(await main(['--help'])).toBe(0)
  for (const { name, summary } of verbs) expect(printed.stdout).toMatch(new RegExp(`${name} +${summary.slice(0, 10)}`))
})

test('--help goes by task, fits a terminal and ends with an example', async () => {
  await main(['--help'])
  const titles = verbGroups.map(({ title }) => title)
  expect(titles).toEqual(['Start', 'Make', 'Train', 'Look', 'Serve'])
  for (const title of titles) expect(printed.stdout).toContain(`\n${title}:\n  `)
  expect(printed.stdout.split('\n').filter(line => line.length > 90)).toEqual([])
  expect(printed.stdout.split('\n').length).toBeLessThan(60)
  expect(printed.stdout.indexOf('whetstone init --family')).toBeGreaterThan(printed.stdout.indexOf('Serve:'))
})

test('every verb that is a training with options set is known before the trainings are loaded', async () => {
  const names = await kinNames()
  expect([...knownKin].sort()).toEqual([...new Set(names.flatMap(name => [name, name.replaceAll('_', '-')]))].sort())
  expect(takesLong(['grpo', '--model', 'm'])).toBe(true)
  expect(takesLong(['grpo'])).toBe(false)
  expect(takesLong(['demo'])).toBe(true)
  expect(takesLong(['download', 'org/name'])).toBe(true)
  expect(takesLong(['grpo', '--help'])).toBe(false)
  expect(takesLong(['runs', 'compare'])).toBe(false)
})

test('nothing at all is a misuse that shows the help', async () => {
  expect(await main([])).toBe(2)
  expect(printed.stdout).toContain('Usage: whetstone <verb>')
})

test('--version', async () => {
  expect(await main(['--version'])).toBe(0)
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(printed.stdout).toBe(`${version}\n`)
})

test.each(['setup', 'doctor'])('%s --help', async name => {
  expect(await main([name, '--help'])).toBe(0)
  expect(printed.stdout).toContain(`Usage: whetstone ${name}`)
})

test('help VERB is VERB --help', async () => {
  expect(await main(['help', 'doctor'])).toBe(0)
  expect(printed.stdout).toContain('Usage: whetstone doctor')
})

describe('misuse', () => {
  test.each([
    [['docter'], 'there is no verb "docter"; did you mean doctor?'],
    [['frobnicate'], 'there is no verb "frobnicate"\n'],
    [['--verison'], 'there is no option --verison; did you mean --version?'],
    [['doctor', '--jsno'], 'there is no option --jsno; did you mean --json?'],
    [['doctor', 'extra'], 'unexpected "extra"\n'],
    [['sft', 'sft.yaml'], 'unexpected "sft.yaml"; did you mean --config sft.yaml?'],
    [['sft', '--config', 'sft.yaml', '--lr', '1'], 'there is no option --lr; did you mean --optimizer.lr?'],
    [['gropo', '--config', 'a.yaml'], 'there is no verb "gropo"; did you mean grpo?'],
    [['cdpo'], 'there is no verb "cdpo"; use dpo, with --loss cdpo --label-smoothing 0.1'],
    [['train'], 'there is no verb "train"; use sft, reward train, grpo, ppo or dpo'],
  ])('%s', async (args, message) => {
    expect(await main(args)).toBe(2)
    expect(printed.stderr).toContain(message)
  })
})

test('errors for people are shown as they are, a missing bridge with its remedy, a defect with its stack', () => {
  expect(explain(new SetupError('No compiler.', 'Install one.'))).toBe('No compiler.\nInstall one.')
  const missing = new BridgeMissingError('the native bridge is not built; run `npx whetstone setup`')
  expect(explain(missing)).toBe(missing.message)
  expect(explain(new TypeError('x is not y'))).toMatch(/TypeError: x is not y\n\s+at /)
})
