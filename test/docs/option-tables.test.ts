/**
 * What the docs say of configs comes from the schemas: tables between `<!-- options:NAME -->` and `<!-- /options -->`, the JSON Schemas
 * of docs/schema, and the interfaces whose comments editors show. `npx vitest run test/docs/option-tables.test.ts -u` writes them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { experienceSchema } from '../../src/api/index.js'
import { configSchemas, configs } from '../../src/cli/configs.js'
import { pipelineSchema } from '../../src/pipeline/index.js'
import {
  configJsonSchema,
  configOptions,
  fileLayer,
  optionTable,
  preferenceSchema,
  rewardModelSchema,
  rlSchema,
  sftSchema,
} from '../../src/train/index.js'
import { root } from './blocks.js'
import { type InterfaceOptions, optionInterfaces, schemaName } from './option-types.js'

const docs = fileURLToPath(new URL('../../docs', import.meta.url))
const pages = readdirSync(docs).filter(name => name.endsWith('.md'))
const marked = /<!-- options:(\w+) -->\n.*?<!-- \/options -->/gs

const tables: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(configSchemas).map(([name, schema]) => [name, optionTable(schema)]),
)

test.each(pages.filter(name => readFileSync(join(docs, name), 'utf8').includes('<!-- options:')))(
  'the tables of %s are the schemas',
  async name => {
    const page = readFileSync(join(docs, name), 'utf8')
    const filled = page.replaceAll(marked, (_, table: string) => {
      expect(Object.keys(tables), `${name}: <!-- options:${table} -->`).toContain(table)
      return `<!-- options:${table} -->\n\n${tables[table]}\n\n<!-- /options -->`
    })
    await expect(filled).toMatchFileSnapshot(join(docs, name))
  },
)

test('every config has its table on one page', () => {
  const found = pages.flatMap(name => [...readFileSync(join(docs, name), 'utf8').matchAll(marked)].map(([, at]) => at))
  expect(found.sort()).toEqual(Object.keys(tables).sort())
})

describe.each(Object.entries(configSchemas))('the config of %s', (name, schema) => {
  test('its JSON Schema is the one in docs/schema', async () => {
    const text = `${JSON.stringify(configJsonSchema(schema, `whetstone ${name}`), undefined, 2)}\n`
    await expect(text).toMatchFileSnapshot(join(docs, 'schema', `${name}.json`))
  })

  test('every option has a description', () => {
    expect(configOptions(schema).filter(({ description }) => description === '')).toEqual([])
  })

  test('the shortest config of its help is one', () => {
    const { example, resolve } = configs[name]!
    expect(() => resolve([fileLayer('example.yaml', parse(example))])).not.toThrow()
  })
})

test.each(
  pages.flatMap(page =>
    [
      ...readFileSync(join(docs, page), 'utf8').matchAll(
        /^```yaml\n(?:# yaml-language-server.*\n)?(?:# ([\w-]+)\.yaml\n)?(.*?)^```/gms,
      ),
    ].flatMap(([, name, text]) =>
      /^output: runs\//m.test(text!) && !text!.includes('./my-') ? [{ page, name: name ?? 'sft', text: text! }] : [],
    ),
  ),
)('$page: the config $name is one', ({ name, text }) => {
  const kind = { grpo: 'rl', ppo: 'rl', kto: 'dpo', rm: 'reward' }[name.split('-')[0]!] ?? name
  const training = configs[kind]
  expect(training, `the first line of the block names no kind of config: ${name}`).toBeDefined()
  expect(() => training!.resolve([fileLayer(`${name}.yaml`, parse(text))])).not.toThrow()
})

const head = (of: string): string =>
  `// Written by test/docs/option-tables.test.ts from the schemas. Do not change it by hand.\n/** Options of ${of} as a person writes them, with what each is. */\nimport type { z } from 'zod'\n`

function fileOf(of: string, entries: readonly InterfaceOptions[]): string {
  const imports = entries.map(({ name, from }) => `import type { ${schemaName(name)} } from '${from}'`).sort()
  return `${head(of)}${imports.join('\n')}\n\n${optionInterfaces(entries)}`
}

const onRows = ['model', 'data', 'validationData', 'output']

test('the types of the trainings are the schemas', async () => {
  const sft = { name: 'Sft', schema: sftSchema, about: 'options of supervised fine-tuning', from: './sft/config.js' }
  const about = 'options of reward models'
  const reward = { name: 'RewardModel', schema: rewardModelSchema, about, from: './reward-model/config.js' }
  const from = './preference/config.js'
  const preference = {
    name: 'Preference',
    schema: preferenceSchema,
    about: 'options of trainings on preferences',
    from,
  }
  const rl = { name: 'Rl', schema: rlSchema, about: 'options of reinforcement learning', from: './rl/config.js' }
  const ofRl = [
    'algorithm',
    'reference',
    'rewards',
    'environment',
    'tools',
    'generator',
    'critic',
    'critic.model',
    'ptx',
    'ptx.data',
  ]
  const text = fileOf('the trainings', [
    { ...sft, live: onRows },
    { ...reward, live: onRows },
    { ...preference, live: [...onRows, 'reference'] },
    { ...rl, live: [...onRows, ...ofRl] },
  ])
  await expect(text).toMatchFileSnapshot(join(root, 'src/train/options.generated.ts'))
})

test('the types of the pipeline are the schema', async () => {
  const entry = {
    name: 'Pipeline',
    schema: pipelineSchema,
    about: 'options of the pipeline',
    from: './config.js',
    live: [],
  }
  await expect(fileOf('the pipeline', [entry])).toMatchFileSnapshot(join(root, 'src/pipeline/options.generated.ts'))
})

test('the types of experience are the schema', async () => {
  const live = ['model', 'reference', 'critic', 'data', 'rewards', 'generator', 'output']
  const entry = {
    name: 'Experience',
    schema: experienceSchema,
    about: 'options of experience',
    from: './experience-config.js',
    live,
  }
  await expect(fileOf('`experience`', [entry])).toMatchFileSnapshot(join(root, 'src/api/options.generated.ts'))
})
