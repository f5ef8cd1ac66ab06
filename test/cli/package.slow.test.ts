/** What `npm pack` makes is all it takes: it runs in another directory, with the packages that its manifest names and no others. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { repository } from '../support/compiled.js'
import { hoverTexts } from '../support/hover.js'
import { manifest, type PackedProject, packedProject } from '../support/packed.js'

let app: string
let installed: string
let whetstone: PackedProject['whetstone']
beforeAll(() => {
  ;({ app, installed, whetstone } = packedProject())
}, 240_000)

test('it holds what runs and what one reads, and nothing else', () => {
  expect(readdirSync(installed).sort()).toEqual(
    [
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'build', 'dist', 'docs', 'examples', 'install', 'llms.txt', 'native'],
      ...['package.json', 'src'],
    ].sort(),
  )
  const sources = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
  // CUDA sources are compiled at run time, and are beside the code that does it.
  for (const name of sources.filter(one => /\.cuh?$/.test(one)))
    expect(existsSync(join(installed, 'dist', name))).toBe(true)
})

test('every source map finds its sources, and a stack can show their lines', () => {
  const maps = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' }).filter(one =>
    one.endsWith('.map'),
  )
  expect(maps.length).toBeGreaterThan(300)
  for (const name of maps) {
    const map = join(installed, 'dist', name)
    const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] }
    for (const source of sources) expect(existsSync(join(dirname(map), source)), `${name}: ${source}`).toBe(true)
  }
  const code =
    "import('whetstone/files').catch(() => {}).then(() => import('whetstone')).then(({ sft }) => sft({}).catch(error => console.log(error.stack)))"
  const { stdout } = spawnSync(process.execPath, ['--enable-source-maps', '--eval', code], {
    cwd: app,
    encoding: 'utf8',
  })
  expect(stdout).toContain('whetstone/src/train/config/resolve.ts:')
})

test('every example of the repository is there', () => {
  const examples = readdirSync(join(repository, 'examples'), { recursive: true, encoding: 'utf8' })
  for (const name of examples) expect(existsSync(join(installed, 'examples', name)), name).toBe(true)
})

test('--help and --version', () => {
  const { status, stdout, stderr } = whetstone('--help')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('Usage: whetstone <verb>')
  expect(whetstone('--version').stdout).toBe(`${manifest.version}\n`)
})

test('a tokenizer, a model, and its log-probabilities', () => {
  writeFileSync(join(app, 'rows.jsonl'), '{"prompt":"Whetstone","response":" sharpens"}\n'.repeat(8))
  const shape = '--hidden 16 --intermediate 32 --layers 1 --heads 2 --context 64'.split(' ')
  const commands = [
    ['tokenizer', 'train', '--input', 'rows.jsonl', '--vocab-size', '300', '--out', 'tok'],
    ['init', '--family', 'qwen2', ...shape, '--tokenizer', 'tok', '--out', 'model'],
    ['score', '--model', 'model', '--input', 'rows.jsonl', '--output', 'scores.jsonl'],
  ]
  for (const args of commands) {
    const { status, stderr } = whetstone(...args)
    expect(status, stderr).toBe(0)
  }
  expect(readFileSync(join(app, 'scores.jsonl'), 'utf8').trim().split('\n')).toHaveLength(8)
})

test('every room can be imported by its name', () => {
  const rooms = Object.keys(manifest.exports).filter(name => name !== './package.json')
  const code = rooms.map(name => `await import('whetstone${name.slice(1)}')`).join('\n')
  writeFileSync(join(app, 'rooms.js'), code)
  const { status, stderr } = spawnSync(process.execPath, ['rooms.js'], { cwd: app, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
})

test('an editor shows what every option is, and its default', async () => {
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, skipLibCheck: true, types: [] }
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['hover.ts'] }))
  const given: Readonly<Record<string, string>> = {
    batchSize: 'rows per optimiser step',
    lr: 'peak learning rate',
    rank: 'LoRA rank',
    data: 'rows (any iterable of objects)',
    resume: 'Go on with the run',
    nSamplesPerPrompt: 'samples per prompt',
    valueClip: 'value clipping',
    rewards: 'A reward: a file, a function',
    loggers: 'loggers, which get metrics',
    saveDir: 'output directory',
    beta: 'beta',
    freezeBackbone: 'head',
  }
  writeFileSync(
    join(app, 'hover.ts'),
    `import { dpo, grpo, pipeline, ppo, rewardModel, sft } from 'whetstone'
sft({ model: 'm', data: 'd', batchSize: 3, optimizer: { lr: 1 }, lora: { rank: 4 }, resume: false, loggers: ['mlflow'] })
grpo({ model: 'm', data: [{ prompt: 'a' }], rewards: () => 1, nSamplesPerPrompt: 8 })
ppo({ model: 'm', data: 'd', rewards: 'r.ts', critic: { valueClip: 1 } })
dpo({ model: 'm', data: 'd', beta: 0.1 })
rewardModel({ model: 'm', data: 'd', freezeBackbone: true })
pipeline({ saveDir: 'x' })
`,
  )
  const texts = await hoverTexts(app, 'hover.ts', Object.keys(given))
  for (const [i, [word, text]] of Object.entries(given).entries()) expect(texts[i], word).toContain(text)
  expect(texts[0]).toContain('@defaultValue')
  // Types are as strict as before.
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(repository, 'node_modules/typescript/bin/tsc'), '-p', app, '--noEmit'],
    { cwd: app, encoding: 'utf8' },
  )
  expect(stdout).toBe('')
  expect(status).toBe(0)
}, 120_000)
