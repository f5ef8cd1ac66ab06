/** The tables of docs/pipeline.md are the code. `npx vitest run test/pipeline/docs.test.ts --update` writes them. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { optionNames, pipelineSchema, seedNames, stageDefaults } from '../../src/pipeline/index.js'
import { configOptions, type RawConfig, rewardModelSchema, rlSchema, sftSchema } from '../../src/train/index.js'
import { hiddenOptions } from './hidden-options.js'

const page = fileURLToPath(new URL('../../docs/pipeline.md', import.meta.url))

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  const line = (cells: readonly string[], fill = ' ') =>
    `| ${cells.map((one, i) => one.padEnd(widths[i]!, fill)).join(' | ')} |`
  const rule = line(
    rows[0]!.map(() => ''),
    '-',
  )
  return [line(rows[0]!), rule, ...rows.slice(1).map(row => line(row))].join('\n')
}

const leaves = (options: RawConfig, prefix: string): string[] =>
  Object.entries(options).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null
      ? leaves(value as RawConfig, `${prefix}${key}.`)
      : [`\`${prefix}${key}: ${value}\``],
  )

const trainings = ['sft', 'reward', 'rl', 'preference'] as const
const named = [...new Set(trainings.flatMap(training => Object.keys(optionNames[training])))]
const stageRows = named.map(name => [
  `\`${name}\``,
  ...trainings.map(training => {
    const path = (optionNames[training] as Readonly<Record<string, string>>)[name]
    return path === undefined ? '' : `\`${path}\``
  }),
])
const defaultLines = (['sft', 'reward', 'ppo'] as const).map(
  stage => `- \`${stage}\`: ${leaves(stageDefaults[stage], '').join(', ')}`,
)

const filled: Readonly<Record<string, string>> = {
  'stage-options': [
    table([['', '`sft`', '`reward`', '`ppo` and others', '`dpo` and others'], ...stageRows]),
    '',
    ...defaultLines,
    '- algorithms other than `ppo`: `maxNewTokens: 50` where they generate; the rest is the preset',
  ].join('\n'),
  'seed-names': table([
    ['there', 'here', ''],
    ...Object.entries(seedNames).map(([name, { option, note }]) => [`\`${name}\``, `\`${option}\``, note]),
  ]),
  'hidden-options': table([
    ['there', 'was', 'here'],
    ...hiddenOptions.map(([name, was, here]) => [
      name,
      was,
      typeof here === 'string' ? here : here.map(option => `\`${option}\``).join(', '),
    ]),
  ]),
}

test('the tables of the page are the code', async () => {
  const text = readFileSync(page, 'utf8').replaceAll(/<!-- ([\w-]+) -->\n.*?<!-- \/\1 -->/gs, (whole, name: string) =>
    filled[name] === undefined ? whole : `<!-- ${name} -->\n\n${filled[name]}\n\n<!-- /${name} -->`,
  )
  for (const name of Object.keys(filled)) expect(text).toContain(`<!-- ${name} -->`)
  await expect(text).toMatchFileSnapshot(page)
})

test('every option that the page names is one', () => {
  const own = configOptions(pipelineSchema).map(({ name }) => name)
  const sections = { sft: sftSchema, reward: rewardModelSchema, ppo: rlSchema }
  const known = [
    ...own,
    ...Object.entries(sections).flatMap(([section, schema]) =>
      configOptions(schema).map(({ name }) => `${section}.${name}`),
    ),
  ]
  const named = hiddenOptions.flatMap(([, , here]) => (typeof here === 'string' ? [] : here))
  expect(named.filter(name => !known.includes(name))).toEqual([])
})
