/** Losses, estimators and rewards of a user in the sections of a pipeline: checked, recorded and replayed as in a run of their own. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { run } from '../../src/cli/pipeline.js'
import { createRlhfPipeline } from '../../src/pipeline/index.js'
import { replayRl, replaySupervised } from '../../src/train/index.js'
import { capturedOutput } from '../support/cli.js'
import { fresh, temporaryDirectory } from '../support/files.js'
import { base, quickly } from '../support/pipeline.js'

const imports = "import { defineEstimator, defineLoss } from 'whetstone/maths'\nimport { z } from 'zod'\n"
const folder = temporaryDirectory()
const at = (name: string): string => join(folder, name)
writeFileSync(at('scale.ts'), 'export const scale = 1\n')

const policyLoss = (factor: number): string => `${imports}import { scale } from './scale.ts'
export default defineLoss({
  kind: 'policy',
  name: 'plain',
  description: 'the policy gradient without ratios',
  options: z.object({}),
  loss: tokens => {
    let value = 0
    for (let t = 0; t < tokens.length; t++) {
      tokens.gradient[t] = -scale * tokens.coefficients[t]! * tokens.advantages[t]!
      value += ${factor} * tokens.gradient[t]! * tokens.logprobs[t]!
    }
    return value
  },
})
`
const pairLoss = (kind: 'reward-model' | 'preference'): string => `${imports}
export default defineLoss({
  kind: '${kind}',
  name: 'hinge',
  description: 'a hinge between the two',
  options: z.object({}),
  loss: ({ chosen, rejected }) => {
    const open = chosen - rejected < 1
    return { value: open ? 1 - chosen + rejected : 0, chosen: open ? -1 : 0, rejected: open ? 1 : 0 }
  },
})
`
writeFileSync(at('loss.ts'), policyLoss(1))
writeFileSync(at('wrong.ts'), policyLoss(0.5))
writeFileSync(at('hinge.ts'), pairLoss('reward-model'))
writeFileSync(at('preference.ts'), pairLoss('preference'))
writeFileSync(
  at('centred.ts'),
  `${imports}
export default defineEstimator({
  name: 'centred',
  description: 'each sample against the mean of its prompt',
  options: z.object({}),
  compares: 'samples of a prompt',
  shape: rewards => rewards.map(reward => reward - rewards.reduce((sum, one) => sum + one, 0) / rewards.length),
})
`,
)
writeFileSync(at('reward.ts'), 'export default ({ response }: { response: string }): number => response.length % 3\n')

const printed = capturedOutput()
const grpo = { algorithm: 'grpo', sftModel: base, ppoIterations: 1 } as const
const section = { rewards: './reward.ts', loss: './loss.ts', advantageEstimator: './centred.ts', nSamplesPerPrompt: 2 }

/** A config file beside the definitions. */
function configFile(options: Parameters<typeof quickly>[0]): string {
  const file = at(`${fresh('pipeline').split('/').at(-1)}.yaml`)
  writeFileSync(file, stringify(quickly(options)))
  return file
}

test('a section names files of definitions, which are inputs of its stage and of its run', async () => {
  const file = configFile({ ...grpo, ppo: section })
  const pipeline = await createRlhfPipeline(file)
  expect((await pipeline.runFullPipeline()).stages.map(({ outcome }) => outcome)).toEqual(['finished'])
  const directory = join(pipeline.config.saveDir, 'grpo')
  const { config, inputs } = JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8'))
  expect(config).toMatchObject({ loss: at('loss.ts'), advantageEstimator: at('centred.ts') })
  expect(Object.keys(inputs.loss)).toEqual(['loss.ts', 'scale.ts'])
  expect(await replayRl(directory)).toMatchObject({ mismatches: [] })

  const again = (options: object = {}) => createRlhfPipeline(file).then(one => one.runFullPipeline(options))
  expect((await again()).stages).toMatchObject([{ outcome: 'skipped' }])
  // A file that a definition imports counts too.
  writeFileSync(at('scale.ts'), 'export const scale = 2\n')
  expect((await again({ resume: true, allowChange: ['ppo.loss'] })).stages).toMatchObject([{ outcome: 'finished' }])
  writeFileSync(at('scale.ts'), 'export const scale = 3\n')
  expect((await again()).stages).toMatchObject([{ outcome: 'finished' }])
  expect(existsSync(join(pipeline.config.saveDir, 'previous/grpo-1'))).toBe(true)
  expect(readFileSync(join(pipeline.config.saveDir, 'logs/pipeline.log'), 'utf8')).toContain('ppo.loss changed')
})

test('a dry run loads and checks the definitions of every stage', async () => {
  const file = configFile({ ...grpo, ppo: section })
  expect(await run(['--config', file, '--dry-run'])).toBe(0)
  expect(printed.stdout).toMatch(new RegExp(`loss: ${at('loss.ts')} +# ${file}`))
  await expect(run(['--config', file, '--dry-run', '--set', `ppo.loss=${at('wrong.ts')}`])).rejects.toThrow(
    /stage ppo: loss: .*wrong\.ts/,
  )
  await expect(run(['--config', file, '--dry-run', '--set', 'ppo.loss=./none.ts'])).rejects.toThrow(
    /--set: ppo\.loss: .*none\.ts: there is no such file/,
  )
  await expect(run(['--config', file, '--dry-run', '--set', `ppo.loss=${at('hinge.ts')}`])).rejects.toThrow(
    /loss: expected a policy loss, got the reward-model loss "hinge" of/,
  )
})

test('reward models and preferences have losses of a user too', async () => {
  const reward = await createRlhfPipeline(configFile({ sftModel: base, reward: { loss: './hinge.ts' } }))
  const { directory } = await reward.runRewardTraining()
  expect(await replaySupervised(directory)).toMatchObject({ mismatches: [], notCompared: [] })

  const dpo = { algorithm: 'dpo', sftModel: base, ppo: { loss: './preference.ts' } } as const
  const { stages } = await (await createRlhfPipeline(configFile(dpo))).runFullPipeline()
  expect(stages).toMatchObject([{ stage: 'ppo', outcome: 'finished' }])
  const other = createRlhfPipeline(configFile({ ...dpo, ppo: { loss: 'ipo' } }))
  await expect((await other).runFullPipeline()).rejects.toThrow('ppo.loss: the pipeline sets it; remove it')
})
