/** A project in another directory with its own loss, estimator, reward, generator and preset: the files of docs/extend.md, against the packed package. */
import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { repository } from '../support/compiled.js'
import { type PackedProject, packedProject } from '../support/packed.js'

const page = readFileSync(join(repository, 'docs/extend.md'), 'utf8')
/** Blocks whose first line names a file. */
const files = [...page.matchAll(/```(?:ts|yaml)\n(?:\/\/|#) (\S+)\n(.*?)```/gs)].map(
  ([, name, text]) => [name!, text!] as const,
)

let project: PackedProject
const at = (name: string): string => join(project.app, name)
const rl = (...args: string[]) => project.whetstone('rl', '--config', 'rl.yaml', ...small, ...args)
const small = [
  'maxNewTokens=4',
  'rolloutBatchSize=2',
  'nSamplesPerPrompt=2',
  'iterations=2',
  'device=cpu',
  'saveSteps=1',
].flatMap(setting => ['--set', setting])

beforeAll(() => {
  project = packedProject()
  for (const [name, text] of files) writeFileSync(at(name), text)
  writeFileSync(at('prompts.jsonl'), '{"prompt":"Whetstone","answer":"sharp"}\n'.repeat(8))
  const shape = '--hidden 16 --intermediate 32 --layers 1 --heads 2 --context 64'.split(' ')
  for (const args of [
    ['tokenizer', 'train', '--input', 'prompts.jsonl', '--vocab-size', '300', '--out', 'tok'],
    ['init', '--family', 'qwen2', ...shape, '--tokenizer', 'tok', '--out', 'model'],
  ]) {
    const { status, stderr } = project.whetstone(...args)
    expect(status, stderr).toBe(0)
  }
}, 240_000)

test('its files are strict TypeScript', () => {
  expect(files.map(([name]) => name)).toEqual([
    ...['my-loss.ts', 'my-estimator.ts', 'my-reward.ts', 'my-generator.ts', 'my-preset.ts', 'rl.yaml'],
  ])
  const compilerOptions = {
    ...{ strict: true, noEmit: true, target: 'ES2023', module: 'NodeNext', moduleResolution: 'NodeNext' },
    ...{ noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: true, types: [] },
  }
  writeFileSync(at('tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const tsc = join(repository, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', '.'], { cwd: project.app, encoding: 'utf8' })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})

test('explain describes a file as the page shows it', () => {
  const [, shown] = page.match(/\$ npx whetstone explain my-loss\.ts\n(.*?)```/s)!
  expect(project.whetstone('explain', 'my-loss.ts').stdout).toBe(shown)
  expect(project.whetstone('explain', 'my-estimator.ts').stdout).toContain('compares: samples of a prompt')
  const { status, stderr } = project.whetstone('explain', 'my-reward.ts')
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('got a reward') })
})

test('a run with them ends, is replayed and resumed', () => {
  const whole = rl('--set', 'output=whole')
  expect(whole.status, whole.stderr).toBe(0)
  expect(whole.stderr).toContain('soft-median sets ')
  const part = rl('--set', 'output=part', '--set', 'maxSteps=1')
  expect(part.status, part.stderr).toBe(0)
  const resumed = rl('--set', 'output=part', '--resume')
  expect(resumed.status, resumed.stderr).toBe(0)
  const weights = (run: string) => readFileSync(at(`${run}/final_model/model.safetensors`))
  expect(weights('part').equals(weights('whole'))).toBe(true)
  for (const run of ['whole', 'part']) {
    const { status, stdout, stderr } = project.whetstone('replay', run)
    expect(status, stdout + stderr).toBe(0)
  }
})

test('what is refused', () => {
  writeFileSync(at('wrong.ts'), readFileSync(at('my-loss.ts'), 'utf8').replace('weight * (1 - ', '2 * weight * (1 - '))
  const wrong = rl('--set', 'output=wrong', '--set', 'loss=./wrong.ts', '--dry-run')
  expect(wrong.status).toBe(1)
  expect(wrong.stderr).toMatch(
    /loss: the policy loss "soft-clip" of .*wrong\.ts: the gradient of logprobs at token 0 of sample 0 is /,
  )
  const kind = rl('--set', 'output=wrong', '--set', 'loss=./my-estimator.ts')
  expect(kind.stderr).toMatch(/--set: loss: expected a policy loss, got the estimator "median" of .*my-estimator\.ts/)
  appendFileSync(at('my-estimator.ts'), '// changed\n')
  const changed = rl('--set', 'output=whole', '--set', 'iterations=3', '--resume')
  expect(changed.status).toBe(1)
  expect(changed.stderr).toMatch(/advantageEstimator my-estimator\.ts: was .*\n.*--allow-change advantageEstimator/s)
  const replayed = project.whetstone('replay', 'whole')
  expect(replayed.status).toBe(1)
  expect(replayed.stderr).toContain('my-estimator.ts has changed since the run started')
  const allowed = rl(
    '--set',
    'output=whole',
    '--set',
    'iterations=3',
    '--resume',
    '--allow-change',
    'advantageEstimator',
  )
  expect(allowed.status, allowed.stderr).toBe(0)
})
