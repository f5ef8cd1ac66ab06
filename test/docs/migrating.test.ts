/**
 * docs/migrating.md: the tables between `<!-- words:NAME -->` and `<!-- /words -->` are what the configs know of other systems.
 * `npx vitest run test/docs/migrating.test.ts -u` writes them.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configSchemas, configs } from '../../src/cli/configs.js'
import { pipelineOtherWords } from '../../src/pipeline/config.js'
import { seedNames } from '../../src/pipeline/index.js'
import {
  commonWords,
  preferenceOtherWords,
  rewardOtherWords,
  rlOtherWords,
} from '../../src/train/config/other-words.js'
import { configOptions, fileLayer } from '../../src/train/index.js'
import { pageText, root } from './blocks.js'

const page = 'docs/migrating.md'

function table(head: string, rows: readonly (readonly [string, string])[]): string {
  const cells = [[head, 'here'], ...rows]
  const widths = [0, 1].map(i => Math.max(...cells.map(row => row[i]!.length)))
  const line = (row: readonly string[]): string => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  return [line(cells[0]!), `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n')
}

/** An option, or one in a section, before what is said about it. */
const code = (option: string): string => option.replace(/^[^,]*?(\{.*\})?(?=,|$| and |: a )/, '`$&`')

const words = (known: Readonly<Record<string, string>>): string =>
  table(
    'name',
    Object.entries(known).map(([name, here]) => [`\`${name}\``, code(here)]),
  )

const tables: Readonly<Record<string, string>> = {
  seed: table(
    'key',
    Object.entries(seedNames).map(([name, { option, note }]) => [
      `\`${name}\``,
      `\`${option}\`${note === '' ? '' : `: ${note}`}`,
    ]),
  ),
  common: words(commonWords),
  reward: words(rewardOtherWords),
  dpo: words(preferenceOtherWords),
  rl: words(rlOtherWords),
  pipeline: words(pipelineOtherWords),
}

test('the tables of names are those that the configs know', async () => {
  const seen: string[] = []
  const filled = pageText(page).replaceAll(/<!-- words:(\w+) -->\n.*?<!-- \/words -->/gs, (_, name: string) => {
    seen.push(name)
    return `<!-- words:${name} -->\n\n${tables[name]}\n\n<!-- /words -->`
  })
  expect(seen.sort()).toEqual(Object.keys(tables).sort())
  await expect(filled).toMatchFileSnapshot(join(root, page))
})

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
const known = [
  ...['sft', 'reward', 'dpo'].flatMap(kind =>
    Object.entries(commonWords).map(([name, here]) => ({ kind, name, here })),
  ),
  ...Object.entries({ reward: rewardOtherWords, dpo: preferenceOtherWords }).flatMap(([kind, own]) =>
    Object.entries(own).map(([name, here]) => ({ kind, name, here })),
  ),
  ...Object.entries({ ...commonWords, ...rlOtherWords }).map(([name, here]) => ({ kind: 'rl', name, here })),
  ...Object.entries({ ...commonWords, ...pipelineOtherWords }).map(([name, here]) => ({
    kind: 'pipeline',
    name,
    here,
  })),
]

test('each of them is refused with the name of ours, in camelCase and in snake_case, unless it is an option', () => {
  for (const { kind, name, here } of known) {
    if (name in configSchemas[kind]!.shape) continue
    for (const key of [name, snake(name)])
      expect(() => configs[kind]!.resolve([fileLayer('a.yaml', { [key]: 1 })]), `${kind}: ${key}`).toThrow(
        `a.yaml: there is no option "${key}"; use ${here}`,
      )
  }
})

test('what a config names in place of a word is an option of that config', () => {
  for (const { kind, name, here } of known) {
    const first = /^\w+/.exec(here)?.[0]
    const inSection = here.endsWith('in the sections sft, reward and ppo')
    if (first === undefined || inSection || name in configSchemas[kind]!.shape) continue
    expect(Object.keys(configSchemas[kind]!.shape), `${kind}: ${name} is ${here}`).toContain(first)
  }
})

/** Not options of a training config, and called what they are called. */
const fromCode = [
  ...['customRewardFunc', 'generator', 'generateSamples', 'getAdvantagesAndReturns', 'initialModel', 'makeExperience'],
  ...['makeExperienceList', 'remoteRmUrl', 'rewardFn', 'rewardFnLabelMap', 'rewardModel', 'rewardRecipe'],
]

test('what the hand-written tables say is here is here', () => {
  const options = new Set(
    Object.values(configSchemas).flatMap(schema => configOptions(schema).flatMap(({ name }) => name.split('.'))),
  )
  const cells = pageText(page)
    .split('<!-- words:')[0]!
    .split('\n')
    .filter(line => line.startsWith('| ') && !line.startsWith('| -'))
    .map(line => line.split(' | ')[1]!)
  const named = cells.flatMap(cell => [...cell.matchAll(/`([a-z]\w*[A-Z]\w*)\b/g)].map(([, name]) => name!))
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter(name => !options.has(name) && !fromCode.includes(name))).toEqual([])
})
