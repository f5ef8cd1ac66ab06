import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runChild } from '../support/child.js'
import { compiled } from '../support/compiled.js'

test('libtorch is loaded by the first tensor, not by an import', async () => {
  const script = `
    const { readFileSync } = await import('node:fs')
    const isLoaded = () => readFileSync('/proc/self/maps', 'utf8').includes('libtorch_cpu')
    const { grpo } = await import(process.argv[1])
    const { Tensor } = await import(process.argv[2])
    const before = isLoaded()
    const sum = Tensor.from(Float32Array.of(1, 2)).sum().item()
    console.log(JSON.stringify({ imported: typeof grpo, before, sum, after: isLoaded() }))`
  const dist = join(compiled(), 'dist')
  const { stdout, stderr } = await runChild('--eval', [script, join(dist, 'index.js'), join(dist, 'tensor/index.js')], {
    flags: ['--input-type=module'],
  })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({ imported: 'function', before: false, sum: 3, after: true })
})

test('a reward is not blamed for the time that libtorch takes to load', async () => {
  const script = `
    const [, reward, tensor] = process.argv
    await import(tensor)
    const { RewardComputationEngine, sampleReward, textRewardInput } = await import(reward)
    const engine = new RewardComputationEngine({ sources: [sampleReward(() => 1, { name: 'fast' })], blockedMs: 20 })
    const { summary } = await engine.compute([textRewardInput({ prompt: 'a', response: 'b' })])
    console.log(JSON.stringify(summary.failuresByReason))`
  const dist = join(compiled(), 'dist')
  const modules = [join(dist, 'reward/library.js'), join(dist, 'tensor/index.js')]
  const { stdout, stderr } = await runChild('--eval', [script, ...modules], { flags: ['--input-type=module'] })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({})
})
