import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'
import { failureReasons, loadRewards } from '../../src/reward/index.js'
import { dialectNames } from '../../src/reward/remote/dialects.js'
import { defaultLimits } from '../../src/reward/source.js'
import { temporaryDirectory } from '../support/files.js'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(repository, 'docs/rewards.md'), 'utf8')
const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(match => match[1]!)
const folder = temporaryDirectory()

it('the first example does what the page says of it', async () => {
  const file = join(folder, 'run.ts')
  const source = blocks[0]!
    .replaceAll("'whetstone/reward'", `'${join(repository, 'src/reward/index.ts')}'`)
    .replaceAll("'zod'", `'${join(repository, 'node_modules/zod/index.js')}'`)
  writeFileSync(file, source)
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import(/* @vite-ignore */ file)
  const printed = log.mock.calls
  log.mockRestore()
  expect(printed).toEqual([
    [1, { right: 1, format: 1 }],
    [0.1, { right: 0, format: 1 }],
    ['input', 'right', expect.stringMatching(/^row\.answer: /)],
    [0.55, { input: 1 }],
  ])
})

it('the tables name every reason, dialect and default', () => {
  for (const reason of failureReasons) expect(page, reason).toContain(`\`${reason}\``)
  for (const dialect of dialectNames) expect(page, dialect).toMatch(new RegExp(`^\\| \`${dialect}\` +\\|`, 'm'))
  const shown = (value: number | undefined) =>
    value === undefined
      ? ''
      : value === Number.POSITIVE_INFINITY
        ? 'all waiting'
        : value.toLocaleString('en').replace(',', ' ')
  const { function: one, batchFunction: many, remote } = defaultLimits
  for (const name of ['batchSize', 'concurrency', 'deadlineMs', 'timeoutMs', 'retries'] as const) {
    const cells = page
      .split('\n')
      .find(line => line.startsWith(`| \`${name}\` `))!
      .split('|')
      .map(cell => cell.trim())
    const wanted = [one, many, remote].map((limits: Partial<Record<typeof name, number>>) => shown(limits[name]))
    expect(cells.slice(2, 5), name).toEqual(wanted)
  }
})

it('the description is one', async () => {
  const yaml = page.match(/```yaml\n(sources:.*?)```/s)![1]!
  writeFileSync(join(folder, 'own-reward.ts'), 'export default () => 1')
  const file = join(folder, 'rewards.yaml')
  writeFileSync(file, yaml)
  process.env.RM_KEY = 'a-key'
  // All of it is right but the model, which is not there.
  await expect(loadRewards(file)).rejects.toThrow(/tone-rm/)
  const without = yaml.replace(/^ {2}tone: .*\n/m, '').replace(' [model, tone, 0.2],', '')
  writeFileSync(file, without)
  const engine = await loadRewards(file)
  engine.checkLabels(['maths', 'chat'])
  await engine.close()
  delete process.env.RM_KEY
})
