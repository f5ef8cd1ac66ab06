/** A process that dies in any stage costs what came after the last checkpoint, and changes nothing. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCrashing } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { fresh } from '../support/files.js'
import { filesOf, pipelineOf, quickly, weightsOf } from '../support/pipeline.js'

const script = new URL('./children/small-pipeline.mjs', import.meta.url)
const models = ['sft/best_model', 'reward_model/best_model', 'ppo/final_model', 'ppo/iteration_000001/value_model']
const options = (saveDir: string) => quickly({ saveDir, ppoIterations: 2 })
const run = (saveDir: string, env: Record<string, string>) =>
  runCrashing(script, [compiledRoom('pipeline'), JSON.stringify(options(saveDir))], {
    CRASH_UNDER: saveDir,
    ...env,
  })

test('killed in each stage and resumed: the same final weights', async () => {
  const parent = fresh('crashes')
  mkdirSync(parent)
  const whole = join(parent, 'whole')
  const log = join(parent, 'log')
  expect(await run(whole, { CRASH_LOG: log })).toMatchObject({ code: 0, output: 'finished\n' })
  const points = readFileSync(log, 'utf8').trim().split('\n')
  const after = (from: number, what: RegExp): number => points.findIndex((line, i) => i >= from && what.test(line))
  const begun = (stage: string): number => after(0, new RegExp(`/${stage}/stage\\.json`))
  const chosen = {
    'in the last step of SFT': after(after(begun('sft'), / step /) + 1, / step /),
    'while the reward model is exported': after(begun('reward_model'), /rename .*best_model/),
    'in a step of the second iteration of PPO': after(after(begun('ppo'), /iteration_000001.*value_model/), / step /),
    // The policy is there, its critic is not.
    'between the two models of an iteration': after(begun('ppo'), /rename .*iteration_000002\/value_model/),
  }
  for (const [where, at] of Object.entries(chosen)) {
    expect(at, where).toBeGreaterThan(0)
    const saveDir = join(parent, String(at))
    const killed = await run(saveDir, { CRASH_AT: String(at + 1) })
    expect(killed.signal, `${where}: ${killed.output}`).toBe('SIGKILL')
    const { outcome } = await (await pipelineOf(options(saveDir))).runFullPipeline({ resume: true })
    expect(outcome, where).toBe('finished')
    for (const name of models)
      expect(weightsOf(join(saveDir, name)).equals(weightsOf(join(whole, name))), `${where}: ${name}`).toBe(true)
    expect(filesOf(join(saveDir, 'samples')), where).toEqual(filesOf(join(whole, 'samples')))
  }
}, 180_000)
