/** The demo in its short form, as a person runs it. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { dataFiles, dataPath, type Measurement, pairedRise, type Speaker } from '../../src/demo/index.js'
import { Run } from '../../src/run/index.js'
import { type Ended, runWhetstone } from '../support/child.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()
let ran: Ended
const at = (...path: string[]) => join(folder, 'out', 'seed-5', ...path)

beforeAll(async () => {
  ran = await runWhetstone(['demo', '--quick', '--out', 'out', '--seed', '5', '--seeds', '1'], { cwd: folder })
}, 600_000)

interface Kept {
  seed: number
  seconds: Record<string, number>
  pairAccuracy: number
  measurements: Record<Speaker, Measurement>
}

const kept = (): Kept[] => JSON.parse(readFileSync(join(folder, 'out', 'demo.json'), 'utf8'))

test('every stage says how long it took and how accuracy moved, and the end says how to go on', () => {
  expect(ran.stderr).not.toMatch(/whetstone:/)
  expect(ran.code).toBe(0)
  const lines = ran.stdout.split('\n')
  expect(lines).toContainEqual(
    expect.stringMatching(/^SFT on [\d,]+ answers .* [\d.]+ s +held-out accuracy [\d.]+ % -> [\d.]+ %$/),
  )
  expect(lines).toContainEqual(
    expect.stringMatching(/^reward model from [\d,]+ pairs .* of held-out pairs ranked rightly$/),
  )
  for (const stage of ['PPO on that reward model', 'GRPO on a verifier', 'GRPO on a constant reward, as a control'])
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${stage} .*accuracy [\\d.]+ % -> [\\d.]+ %$`)))
  expect(ran.stdout).toMatch(/wall time: [\d.]+ s/)
  expect(ran.stdout).toContain('npx whetstone chat --model out/seed-5/grpo/final_model')
  expect(ran.stdout).toContain('npx whetstone serve --model out/seed-5/grpo/final_model')
})

test('answers get better by training, and not by a constant reward', () => {
  const [{ seed, measurements, pairAccuracy, seconds }] = kept() as [Kept]
  const { base, sft, ppo, grpo, control } = measurements
  expect(seed).toBe(5)
  expect(sft.accuracy).toBeGreaterThan(base.accuracy)
  expect(pairAccuracy).toBeGreaterThan(0.6)
  expect(ppo.reward).toBeGreaterThan(sft.reward)
  // A reward model of so few steps is a poor guide: what it must not do is to lead away from what SFT could.
  expect(pairedRise(ppo.accuracies, sft.accuracies).high).toBeGreaterThanOrEqual(0)
  expect(grpo.accuracy).toBeGreaterThan(sft.accuracy)
  expect(pairedRise(control.accuracies, sft.accuracies).low).toBeLessThanOrEqual(0)
  expect(grpo.accuracy).toBeGreaterThan(control.accuracy)
  expect(Object.keys(seconds).sort()).toEqual(['control', 'grpo', 'measure', 'ppo', 'prepare', 'reward', 'sft'])
})

test('held-out prompts are in no training file', () => {
  const promptsIn = (file: (typeof dataFiles)[number]): Set<string> =>
    new Set(
      readFileSync(at(dataPath(file)), 'utf8')
        .trim()
        .split('\n')
        .map(line => JSON.parse(line).prompt),
    )
  const heldOut = new Set(dataFiles.filter(file => file.endsWith('held-out')).flatMap(file => [...promptsIn(file)]))
  expect(heldOut.size).toBe(40)
  for (const file of dataFiles.filter(name => !name.endsWith('held-out')))
    expect([...promptsIn(file)].filter(prompt => heldOut.has(prompt))).toEqual([])
})

test('it leaves runs, models and the picture, in both formats', async () => {
  for (const stage of ['sft', 'reward', 'ppo', 'grpo', 'control'])
    expect((await Run.read(at(stage))).status).toBe('finished')
  expect(existsSync(at('grpo', 'final_model', 'model.safetensors'))).toBe(true)
  expect(readFileSync(at('curves.svg'), 'utf8')).toMatch(/^<svg[\s\S]*<\/svg>\s*$/)
  expect([...readFileSync(at('curves.png')).subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47])
})

test('a directory with something in it is left alone', async () => {
  const again = await runWhetstone(['demo', '--quick', '--out', 'out'], { cwd: folder })
  expect(again.code).toBe(1)
  expect(again.stderr).toContain('not empty')
})

test('the repository holds no weights outside the tests', () => {
  const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n')
  const weights = /\.(safetensors|bin|pt|pth|gguf|onnx|npz|ckpt)$/
  expect(tracked.filter(file => weights.test(file) && !file.startsWith('test/fixtures/'))).toEqual([])
})
