/** The commands in the examples' READMEs, run as they stand, on a smaller model and for fewer steps. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { Run } from '../../src/run/index.js'
import { runWhetstone } from '../support/child.js'
import { quick } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'
import { metricLines } from '../support/rl.js'

const examples = fileURLToPath(new URL('../../examples', import.meta.url))
const directories = readdirSync(examples, { withFileTypes: true }).filter(entry => entry.isDirectory())
const folder = temporaryDirectory()

/** Options behind a command that only make it shorter. */
const smaller: Readonly<Record<string, string>> = {
  init: '--hidden 32 --intermediate 64 --layers 1 --heads 2 --kv-heads 2 --head-dim 16',
  rl: '--set iterations=2 --set nSamplesPerPrompt=2 --set maxNewTokens=8',
  reward: '--set epochs=1',
  dpo: '--set epochs=1',
}

beforeAll(async () => {
  cpSync(examples, join(folder, 'examples'), { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(quick(), join(folder, 'node_modules/whetstone'))
  symlinkSync(
    fileURLToPath(new URL('../../node_modules/quickjs-emscripten', import.meta.url)),
    join(folder, 'node_modules/quickjs-emscripten'),
  )
  await runReadme('README.md')
}, 300_000)

/** Runs every command of the page, and gives what the last one printed. */
async function runReadme(page: string, behind = smaller): Promise<string> {
  const text = readFileSync(join(examples, page), 'utf8')
  const commands = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => block!.trim().split('\n'))
  expect(commands.length).toBeGreaterThan(0)
  let printed = ''
  for (const command of commands) printed = await runCommand(command, behind)
  return printed
}

async function runCommand(command: string, behind = smaller): Promise<string> {
  const [program, ...rest] = command.split(' ').flatMap(expand)
  if (program === 'node') {
    const { status, stdout, stderr } = spawnSync(process.execPath, rest, { cwd: folder, encoding: 'utf8' })
    expect(status, `${command}\n${stderr}`).toBe(0)
    return stdout
  }
  expect([program, rest[0]]).toEqual(['npx', 'whetstone'])
  const [, verb, ...args] = rest
  const { code, stdout, stderr } = await runWhetstone([verb!, ...args, ...(behind[verb!]?.split(' ') ?? [])], {
    cwd: folder,
  })
  expect(code, `${command}\n${stderr}`).toBe(0)
  return stdout
}

/** As a shell does. */
function expand(word: string): string[] {
  if (word !== 'examples/*/*.jsonl') return [word]
  return directories.flatMap(({ name }) =>
    readdirSync(join(examples, name))
      .filter(file => file.endsWith('.jsonl'))
      .map(file => `examples/${name}/${file}`),
  )
}

const finished = async (run: string): Promise<void> => {
  expect((await Run.read(join(folder, 'runs', run))).status).toBe('finished')
}

test('every directory has a README that the list names, a config and rows', () => {
  const list = readFileSync(join(examples, 'README.md'), 'utf8')
  for (const { name } of directories) {
    expect(list).toContain(`[${name}](${name})`)
    const files = readdirSync(join(examples, name))
    expect(files).toContain('README.md')
    expect(files.some(file => /\.(yaml|json)$/.test(file))).toBe(true)
    expect(files.some(file => file.endsWith('.jsonl'))).toBe(true)
  }
})

test.each(['agent', 'guess-the-number', 'javascript-tool'])(
  'episodes: %s',
  async name => {
    await runReadme(`${name}/README.md`)
    await finished(name)
  },
  120_000,
)

test('GRPO on rows in the format of GSM8K', async () => {
  await runReadme('gsm8k-grpo/README.md')
  await finished('gsm8k-grpo')
  expect(existsSync(join(folder, 'runs/gsm8k-grpo.svg'))).toBe(true)
}, 120_000)

test('a reward model and PPO on dialogues in the format of HH-RLHF', async () => {
  await runReadme('hh-rlhf-ppo/README.md')
  await finished('hh-reward')
  await finished('hh-ppo')
}, 120_000)

test('DPO and KTO on pairs', async () => {
  await runReadme('dpo/README.md')
  await finished('dpo')
  await finished('kto')
}, 120_000)

test('pictures in a folder', async () => {
  await runReadme('images/README.md', {})
  await finished('images-sft')
  await finished('images-grpo')
  const rewards = metricLines(join(folder, 'runs/images-grpo')).map(({ values }) => values['reward/mean']!)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  expect(mean(rewards.slice(-5))).toBeGreaterThan(mean(rewards.slice(0, 5)) + 0.1)
  const answers = readFileSync(join(folder, 'runs/images-answers.jsonl'), 'utf8').trim().split('\n')
  expect(answers).toHaveLength(12)
}, 120_000)

test("a logger of one's own, and one for Weights & Biases that loads", async () => {
  await runReadme('loggers/README.md')
  await finished('loggers')
  const lines = readFileSync(join(folder, 'runs/loggers/losses.csv'), 'utf8').trim().split('\n')
  expect(lines.map(line => line.split(',')[0])).toEqual(['1', '2', '3', '4'])
  const { code, stdout } = await runWhetstone(
    ['sft', '--config', 'examples/loggers/sft.yaml', '--set', 'loggers=["examples/loggers/wandb.ts"]', '--dry-run'],
    { cwd: folder },
  )
  expect(code).toBe(0)
  expect(stdout).toContain('wandb.ts')
}, 120_000)

test('a logger that never answers does not keep the command', async () => {
  const logger = join(folder, 'examples/loggers/never.ts')
  writeFileSync(logger, 'export default { metrics: () => new Promise(() => setInterval(() => {}, 1000)) }\n')
  const options = ['--set', 'output=runs/never', '--set', 'loggers=["examples/loggers/never.ts"]']
  const { code, stderr } = await runWhetstone(['sft', '--config', 'examples/loggers/sft.yaml', ...options], {
    cwd: folder,
    timeout: 100_000,
  })
  expect(code).toBe(0)
  expect(stderr).toContain('never')
}, 120_000)

test("a reward of one's own, in at most 30 lines", async () => {
  expect(readFileSync(join(examples, 'custom-reward/reward.ts'), 'utf8').split('\n').length).toBeLessThanOrEqual(30)
  expect(await runReadme('custom-reward/README.md')).toContain('finished')
  await finished('custom-reward')
}, 120_000)

test('experiences by hand: the step makes better answers likelier', async () => {
  const printed = await runReadme('experience-by-hand/README.md')
  const [, before, after] = /log-probability (-?[\d.]+) -> (-?[\d.]+)/.exec(printed)!
  expect(Number(after)).toBeGreaterThan(Number(before))
}, 120_000)
