/** The code of docs/api.md runs, from the first block to the last, on a tiny model and with smaller numbers. */
import { existsSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { blocksOf, root } from '../docs/blocks.js'
import { joinedModule } from '../docs/examples.js'
import { temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const small = 'chatTemplate: "none", device: "cpu"'
const few = `${small}, rolloutBatchSize: 2, nSamplesPerPrompt: 2, maxNewTokens: 4`
/** What only makes it shorter; each is on the page. */
const smaller: readonly (readonly [string, string])[] = [
  ['iterations: 20,', `iterations: 2, ${few},`],
  ['{ version: { words } }), iterations: 1 }', `{ version: { words } }), iterations: 1, ${few} }`],
  ['-response.length, iterations: 1 }', `-response.length, iterations: 1, ${few} }`],
  ['epochs: 3 })', `epochs: 1, ${small} })`],
  ["rewardModel({ model: 'model', data: pairs })", `rewardModel({ model: 'model', data: pairs, ${small} })`],
  ["loss: 'ipo' })", `loss: 'ipo', ${small} })`],
  ['critic: { warmupIterations: 5 } })', `critic: { warmupIterations: 1 }, iterations: 2, ${few} })`],
  ['row.answer.length })', `row.answer.length, iterations: 1, ${few} })`],
  ['n: 4, maxNewTokens: 32 }', 'n: 2, maxNewTokens: 4, chatTemplate: "none" }'],
  ['nSamplesPerPrompt: 8 },', 'nSamplesPerPrompt: 2, maxNewTokens: 4, chatTemplate: "none", device: "cpu" },'],
  ["target: '4' }] })", "target: '4' }], maxNewTokens: 4, chatTemplate: 'none' })"],
  [
    "saveDir: 'rlhf' })",
    `saveDir: 'rlhf', rewardDataPath: 'pairs.jsonl', ppoDataPath: 'prompts.jsonl', sftEpochs: 1, rewardEpochs: 1, ppoIterations: 1, ppoBatchSize: 2, ppoMiniBatchSize: 2, ppoEpochs: 1, maxLength: 48, validationShare: 0.3, samplePrompts: ['a'], ${small}, ppo: { maxNewTokens: 4 } })`,
  ],
]

test('docs/api.md: every block runs', async () => {
  const directory = temporaryDirectory()
  await cp(await modelDirectory(1), join(directory, 'model'), { recursive: true })
  const rows = Array.from({ length: 6 }, (_, i) => ({ prompt: `Question ${i}:`, answer: 'a' }))
  const save = (name: string, lines: readonly object[]): void =>
    writeFileSync(join(directory, name), lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  save('prompts.jsonl', rows)
  save(
    'conversations.jsonl',
    rows.map(({ prompt }) => ({ prompt, completion: 'abc' })),
  )
  save(
    'pairs.jsonl',
    rows.map(({ prompt }) => ({ prompt, chosen: 'abc', rejected: 'cba' })),
  )
  writeFileSync(join(directory, 'reward.ts'), 'export default ({ response }) => response.length\n')
  let code = joinedModule(
    blocksOf('docs/api.md').map(({ code, line }) => ({ code, place: `// docs/api.md:${line}\n` })),
  )
  for (const [from, to] of smaller) {
    expect(code).toContain(from)
    code = code.replace(from, to)
  }
  const file = join(directory, 'page.ts')
  writeFileSync(file, code.replaceAll("'whetstone'", `'${join(root, 'src/index.ts')}'`))
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const before = process.cwd()
  process.chdir(directory)
  try {
    await import(/* @vite-ignore */ file)
    const made = ['runs/grpo/final_model', 'rlhf/sft/best_model', 'rlhf/ppo/final_model']
    expect(made.filter(name => !existsSync(join(directory, name)))).toEqual([])
    // Steps of the first run, two samples, a score, experiences.
    expect(log.mock.calls.length).toBeGreaterThanOrEqual(6)
  } finally {
    process.chdir(before)
    log.mockRestore()
    warn.mockRestore()
  }
}, 180_000)
